"""Deregistration by the UE, by the network, and implicit (TS 24.501 5.5.2, 5.3.7)."""
