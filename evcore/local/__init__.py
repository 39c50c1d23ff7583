"""A whole core on one machine, for development, demonstrations and tests.

It does with processes what Kubernetes and KEDA do with pods, and nothing that they do not.
"""
