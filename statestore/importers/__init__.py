"""Import subscribers from files: evcore's own JSON and CSV, and exports of Open5GS and free5GC.

Use `read_subscribers`. The module of each format describes it.
"""

from statestore.importers.reading import Format, Imported, ImportProblem, read_subscribers

__all__ = ["Format", "ImportProblem", "Imported", "read_subscribers"]
