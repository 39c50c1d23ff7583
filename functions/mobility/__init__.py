"""Handover between gNBs by N2 and by Xn (TS 23.502 4.9.1)."""
