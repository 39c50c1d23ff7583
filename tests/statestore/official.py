"""The official FoundationDB bindings in tests, where warnings are errors."""

import sys
from importlib import import_module
from typing import Any


def without_old_importers() -> None:
    """Remove the importer that the bindings' copy of `six` leaves behind. Python warns about its
    kind at every later import, and no code needs it any more."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if hasattr(finder, "find_spec")]


def tuple_layer() -> Any:
    """Import the module `fdb.tuple`, which works without the native library."""
    module = import_module("fdb.tuple")
    without_old_importers()
    return module
