"""5GMM procedures (TS 24.501 clause 5, TS 23.502 4.2)."""
