"""TODO upf."""
