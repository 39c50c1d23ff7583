"""What a decision may reach (docs/decisions/0018): each way out is tried, and found."""
