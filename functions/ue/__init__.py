"""What decides about a UE: which procedure gets a message, and what follows from the new state."""
