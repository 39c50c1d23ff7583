"""The edge: the only code that holds sockets to the outside. It keeps nothing that must last."""
