"""PDU session procedures (TS 24.501 clause 6, TS 23.502 4.3)."""
