"""NATS JetStream: the connection, streams, publishing, pulling."""
