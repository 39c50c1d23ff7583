"""TODO ue."""
