"""The contract of transports, on every implementation of it."""
