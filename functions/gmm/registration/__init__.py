"""Registration (TS 24.501 5.5.1, TS 23.502 4.2.2.2)."""
