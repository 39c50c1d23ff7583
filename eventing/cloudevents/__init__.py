"""CloudEvents on NATS headers and over HTTP."""
