"""What hosts the procedures: events in, one decision, one append, effects out, acknowledgement."""
