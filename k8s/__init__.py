"""Kubernetes manifests, the generator of the function manifests, and their checks."""
