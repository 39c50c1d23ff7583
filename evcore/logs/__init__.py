"""Reading the event log for people: lists, steps, states, verification, replay."""
