"""Decisions about a RAN node (TS 38.413 8.7)."""
