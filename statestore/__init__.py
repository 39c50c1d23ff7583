"""Event logs: the engine contract, the engines, encryption at rest, and the typed log on top."""
