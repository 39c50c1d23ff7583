"""Primary authentication and security mode control (TS 24.501 5.4.1, 5.4.2)."""
