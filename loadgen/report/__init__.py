"""The samples and the report of a run, as JSON, tables, a plot and a capture."""
