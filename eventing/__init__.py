"""CloudEvents on NATS JetStream: subjects, streams, publishing, pulling, leases and timers."""
