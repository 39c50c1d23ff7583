"""Loads: their configuration, phases and virtual users, and the event loop that runs them."""
