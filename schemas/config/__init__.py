"""Reading `evcore.toml` and the secrets file."""
