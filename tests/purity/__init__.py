"""Decisions that depend on more than their arguments (docs/decisions/0018): each is found."""
