"""UPFs on N4: PFCP, sessions and rules, without a user plane (TS 29.244)."""
