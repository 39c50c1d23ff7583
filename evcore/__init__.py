"""evcore: an event-sourced, serverless 5G core control plane."""

from schemas.version import VERSION

__version__ = VERSION
