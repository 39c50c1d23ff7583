"""Decisions about a UPF (TS 29.244 6.2)."""
