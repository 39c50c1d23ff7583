"""gNBs without I/O: NGAP, cells, UE contexts and handovers (TS 38.413)."""
