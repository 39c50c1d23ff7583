"""UEs without I/O: NAS, security, procedures and PDU sessions (TS 24.501)."""
