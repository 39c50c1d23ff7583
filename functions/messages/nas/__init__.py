"""NAS messages (TS 24.501 clauses 8 and 9)."""
