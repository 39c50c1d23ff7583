"""Other versions of the service request procedure: one that is right, others wrong on purpose."""

from pathlib import Path

from functions.gmm import service_request

SOURCE = Path(service_request.__file__).read_text()
_DECIDE = "def decide(d: UeDecision, received: Input) -> None:\n"
_DOC = '    """Decide about a SERVICE REQUEST whose MAC is right."""\n'

RIGHT = SOURCE.replace('VERSION: Final = "1"', 'VERSION: Final = "2"')
RAISES = RIGHT.replace(_DOC, _DOC + '    raise ZeroDivisionError("wrong on purpose")\n')
SLOW = RIGHT.replace(
    _DOC, _DOC + "    until = monotonic() + 0.25\n    while monotonic() < until:\n        pass\n"
).replace("import wire\n", "from time import monotonic\n\nimport wire\n")
REJECTS = RIGHT.replace("    cause = _refused(d, tree)\n", "    cause = GmmCause.PROTOCOL_ERROR\n")
ENDS = RIGHT.replace(_DOC, _DOC + "    import os\n    os._exit(3)\n")
HANGS = RIGHT.replace(_DOC, _DOC + "    while True:\n        pass\n")
BROKEN = RIGHT + "\nimport there_is_no_such_module\n"

assert all(_DECIDE + _DOC in text for text in (SOURCE, RIGHT))
assert len({SOURCE, RIGHT, RAISES, SLOW, REJECTS, ENDS, HANGS, BROKEN}) == 8


def write(folder: Path, text: str) -> Path:
    """A version as a file."""
    path = folder / "service_request_2.py"
    path.write_text(text)
    return path
