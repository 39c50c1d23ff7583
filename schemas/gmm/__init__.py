"""5GMM: state, events and fold."""
