"""The aggregate of a UE: its whole state, all its events, the fold and the index entries."""
