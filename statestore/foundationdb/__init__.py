"""The event-log engine on a FoundationDB cluster."""
