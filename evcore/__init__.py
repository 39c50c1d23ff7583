"""evcore: an event-sourced, serverless 5G core control plane."""

__version__ = "0.1.0"
