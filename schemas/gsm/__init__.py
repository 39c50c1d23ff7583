"""PDU sessions: state, events and fold."""
