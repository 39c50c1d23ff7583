"""PFCP at the edge: UPFs on one side, JetStream on the other (TS 29.244)."""
