"""docs/conformance.md: the supported procedures and messages, their functions and their tests.

The functions are those of `schemas.procedures` and the files that name a message. Each unsupported
message is sent to find its refusal.
"""

from collections.abc import Iterator
from typing import Final

from schemas.procedures import (
    MODULES,
    NAS_MESSAGES,
    NGAP_MESSAGES,
    PFCP_MESSAGES,
    Procedure,
)
from tests.conformance import ngap, outcomes, references
from tests.conformance.cells import Cell, drive
from tests.conformance.messages import GMM_SAMPLES, GSM_SAMPLES, Sample
from tests.conformance.nas_table import GMM, GSM, UP, NasMessage
from tests.conformance.ngap_table import DOWN, MESSAGES
from tests.conformance.pfcp_table import PFCP
from tests.conformance.procedures_table import LINES

TABLE: Final = "`tests/conformance/test_states.py`"
"""The test that sends every message of a UE and of a gNB."""

INTRODUCTION: Final = """\
# Conformance

The procedures and messages of an AMF and an SMF, and which of them evcore supports.
`python -m tests.conformance.generate` writes this file, and `make test` fails if it is not current.

The column *by* has files of `functions/`, if it names no other folder. For a received message it
is the procedure in `schemas/procedures.py`, for a sent message the files that write it. For an
unsupported message, *status* has the answer of the core, which the generator gets by sending it.
The tests are those that name the message. `tests/conformance/test_states.py` sends every message
of a UE and of a gNB in every state; `python -m tests.conformance.states_page` prints the outcomes.

"""


def text() -> str:
    """Return the document."""
    return "".join(
        [INTRODUCTION, *_procedures(), *_ngap(), *_nas("5GMM", GMM), *_nas("5GSM", GSM), *_pfcp()]
    )


# Procedures


def _procedures() -> Iterator[str]:
    yield "## Procedures (TS 23.502)\n\n"
    yield "| clause | procedure | status | by | tested by |\n|---|---|---|---|---|\n"
    for line in LINES:
        files = [f"functions/{name}.py" for name in line.functions]
        yield _line(line.clause, line.name, line.status, _files(files), _tests(list(line.tests)))
    yield "\n"


# NGAP


def _ngap() -> Iterator[str]:
    yield "## NGAP messages (TS 38.413)\n\nThose of Release 17. Messages of later releases are "
    yield "answered by their criticality (10.3.4.1).\n\n"
    yield "| clause | message | direction | status | by | tested by |\n|---|---|---|---|---|---|\n"
    samples: dict[str, str] = {}
    for sample in ngap.samples():
        samples.setdefault(sample.message, sample.name)
    for message in MESSAGES.values():
        status, files = _sent(message.name)
        if message.direction != DOWN:
            status, files = _taken_ngap(message.name, samples.get(message.name))
        tests = references.tests()[message.name]
        yield _line(
            message.clause,
            message.name,
            message.direction,
            status,
            _files(files),
            _tests(tests, driven=message.direction != DOWN),
        )
    yield "\n"


def _taken_ngap(message: str, sample: str | None) -> tuple[str, list[str]]:
    procedure = NGAP_MESSAGES.get(message)
    if procedure is not None:
        return "supported", [_module(procedure)]
    if sample is None:
        return "supported", ["functions/ue/uplink.py"]
    files = [name for name in references.sources()[message] if name.startswith("functions/ran/")]
    if files:
        return "supported", files
    return _refused(drive(Cell("active", sample, ""))[1]), []


def _refused(outcome: outcomes.Outcome) -> str:
    return f"not supported: {', '.join(outcome.sends) or 'ignored'}"


# NAS


def _nas(title: str, messages: tuple[NasMessage, ...]) -> Iterator[str]:
    yield f"## {title} messages (TS 24.501)\n\n"
    yield "| clause | message | direction | status | by | tested by |\n|---|---|---|---|---|---|\n"
    samples: dict[int, Sample] = {}
    for sample in (*GMM_SAMPLES, *GSM_SAMPLES):
        samples.setdefault(sample.type, sample)
    for message in messages:
        name = kebab(message.name)
        status, files = _sent(name)
        if not files and message.type in _SESSION_FILES:
            status, files = "sent", [f"functions/{_SESSION_FILES[message.type]}.py"]
        if message.direction == UP:
            status, files = _taken_nas(message, samples[message.type])
        tests = references.tests()[name]
        driven = message.direction == UP
        yield _line(
            message.clause,
            message.name,
            message.direction,
            status,
            _files(files),
            _tests(tests, driven=driven),
        )
    yield "\n"


def _taken_nas(message: NasMessage, sample: Sample) -> tuple[str, list[str]]:
    procedure = NAS_MESSAGES.get(message.type)
    if procedure is not None:
        return "supported", [_module(procedure)]
    if message.type in _SESSION_FILES:
        return "supported", [f"functions/{_SESSION_FILES[message.type]}.py"]
    return _refused(drive(Cell("active", sample.name, "U"))[1]), []


_SESSION_FILES: Final = {
    0xC1: "gsm/establishment",
    0xC9: "gsm/modification",
    0xCA: "messages/nas/gsm",
    0xCC: "gsm/modification",
    0xCD: "gsm/modification",
    0xD1: "gsm/release",
    0xD2: "messages/nas/gsm",
    0xD4: "gsm/release",
}
"""The files of 5GSM messages with a name that no file has in full."""


def kebab(name: str) -> str:
    """Return the name of a NAS message in a tree, such as ``registration-request``."""
    return name.lower().replace("(", "").replace(")", "").replace(" ", "-")


# PFCP


def _pfcp() -> Iterator[str]:
    yield "## PFCP messages (TS 29.244)\n\n"
    yield "| clause | message | direction | status | by | tested by |\n|---|---|---|---|---|---|\n"
    for clause, message, direction in PFCP:
        procedure = PFCP_MESSAGES.get(message)
        files = [_module(procedure)] if procedure is not None else _pfcp_files(message)
        status = "supported" if files else "not supported"
        tests = references.tests()[message]
        yield _line(clause, message, direction, status, _files(files), _tests(tests))


def _pfcp_files(message: str) -> list[str]:
    """Return the files that name a message, or the request of a response.

    The PFCP package itself names all messages, and is left out.
    """
    found = [
        name
        for name in references.sources()[message]
        if name != "functions/messages/pfcp/__init__.py"
    ]
    if found or not message.endswith("Response"):
        return found
    return _pfcp_files(message.removesuffix("Response") + "Request")


# Lines


def _sent(name: str) -> tuple[str, list[str]]:
    files = references.sources()[name]
    if not files and name.endswith("Acknowledge") and references.tests()[name]:
        files = references.sources()[name.removesuffix("Acknowledge")]
    return ("sent" if files else "not sent"), files


def _module(procedure: Procedure) -> str:
    return f"{MODULES[procedure].replace('.', '/')}.py"


def _files(names: list[str]) -> str:
    return ", ".join(f"`{name.removeprefix('functions/')}`" for name in names[:_MOST]) or "-"


_MOST: Final = 3


def _tests(names: list[str], *, driven: bool = False) -> str:
    told = [f"`{name.removeprefix('tests/')}`" for name in names[:_MOST]]
    return "<br>".join(told) or (TABLE if driven else "-")


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |\n"
