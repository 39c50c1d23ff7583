"""Handovers: state, events and fold."""
