"""Manifests for Kubernetes, the generator of those of the functions, and their check."""
