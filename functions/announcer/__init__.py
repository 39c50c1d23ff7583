"""The announcer: reads the feed of the log and sends domain events to a sink."""
