"""Subscribers out of files: evcore's own JSON and CSV, and what Open5GS and free5GC export.

Use `read_subscribers`. What each format looks like is told by the module that reads it.
"""

from statestore.importers.reading import Format, Imported, ImportProblem, read_subscribers

__all__ = ["Format", "ImportProblem", "Imported", "read_subscribers"]
