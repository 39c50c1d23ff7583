"""The extension `wire`, compared with published test vectors and independent implementations."""
