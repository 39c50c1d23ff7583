"""TODO gnb."""
