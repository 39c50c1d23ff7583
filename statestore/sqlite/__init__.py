"""The event-log engine on an SQLite file."""
