"""Variants of the service request procedure, one right and others wrong on purpose; of REGISTRATION
ACCEPT; and of identification."""

from pathlib import Path

from tests.variants import edited, folder, source

MODULE = "gmm/service_request"
_DECIDE = "def decide(d: UeDecision, received: Input) -> None:\n"
_BODY = "    match received:\n        case NasReceived(nas, tree, initial):\n"


def _before(text: str, more: str = "") -> str:
    """Return the procedure with lines before each decision."""
    return edited(MODULE, (_BODY, text + _BODY), ("import wire\n", f"{more}import wire\n"))


SOURCE = source(MODULE)
RIGHT = _before("    d.note('decided by a variant')\n")
RAISES = _before('    raise ZeroDivisionError("wrong on purpose")\n')
SLOW = _before(
    "    until = monotonic() + 0.25\n    while monotonic() < until:\n        pass\n",
    "from time import monotonic\n\n",
)
REJECTS = edited(
    MODULE, ("    cause = _refused(d, tree)\n", "    cause = GmmCause.PROTOCOL_ERROR\n")
)
ENDS = _before("    import os\n    os._exit(3)\n")
HANGS = _before("    while True:\n        pass\n")
BROKEN = RIGHT + "\nimport there_is_no_such_module\n"

ACCEPT = "gmm/registration/accept"
T3512 = 1800
OTHER_T3512 = edited(
    ACCEPT,
    ('        "t3512-value": network.timers.t3512,\n', f'        "t3512-value": {T3512},\n'),
    ("    t3512 = network.timers.t3512\n", f"    t3512 = {T3512}\n"),
)
"""REGISTRATION ACCEPT with another T3512."""
_CONCLUDE = "    connection.proved(d)\n    _confirm_guti(d, registration)\n"
ACCEPT_RAISES = edited(
    ACCEPT, (_CONCLUDE, '    raise ZeroDivisionError("wrong on purpose")\n' + _CONCLUDE)
)
ACCEPT_REJECTS = edited(
    ACCEPT, (_CONCLUDE, _CONCLUDE + "    return reject(d, GmmCause.PROTOCOL_ERROR)\n")
)


def write(root: Path, text: str, module: str = MODULE) -> Path:
    """Write a variant with one module."""
    return folder(root, {module: text})
