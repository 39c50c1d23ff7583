"""A model of the order of the events of a UE (docs/architecture.md, "Order")."""
