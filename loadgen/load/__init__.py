"""TODO load."""
