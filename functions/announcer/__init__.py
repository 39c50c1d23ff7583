"""From the feed of the log to a sink: domain events for whoever subscribes."""
