"""Reading `evcore.toml` and the secrets: what an operator configures."""
