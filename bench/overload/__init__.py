"""Overload: more UEs than the core can serve, a UPF that restarts, and workers that are starved."""
