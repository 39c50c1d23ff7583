"""`make kill`: processes of a core are killed every few seconds under load, and no UE notices."""
