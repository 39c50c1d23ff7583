"""Which worker pulls which partitions, and which version of a procedure decides in them."""
