"""N4: PFCP over UDP with UPFs on one side, CloudEvents on the other (TS 29.244)."""
