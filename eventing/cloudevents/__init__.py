"""CloudEvents on NATS headers, by evcore's own code, and over HTTP, by the CloudEvents SDK."""
