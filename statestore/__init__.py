"""Event logs: the contract, the engines, encryption at rest, and the typed log above them."""
