"""What people ask of the event log: lists, steps, states, verification, replay."""
