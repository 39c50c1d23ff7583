"""The aggregate of a UE: its complete state, all its events, the fold and the index entries."""
