"""A whole core on one machine, for development, demonstrations and tests.

It scales and restarts processes as Kubernetes and KEDA scale and restart pods.
"""
