"""The extension `wire`, against published test vectors and implementations that are not its own."""
