"""Read a file of subscribers in any supported format."""

from enum import StrEnum
from typing import Any, Protocol

from msgspec import Struct

from schemas.subscriber import Subscriber
from statestore.importers import free5gc, open5gs, own_csv, own_json
from statestore.importers.documents import documents
from statestore.importers.values import ImportProblem


class Format(StrEnum):
    """A file format."""

    JSON = "json"
    CSV = "csv"
    OPEN5GS = "open5gs"
    FREE5GC = "free5gc"


class Imported(Struct, frozen=True):
    """The contents of a file."""

    format: Format
    subscribers: tuple[Subscriber, ...]
    notes: tuple[str, ...]
    """Sentences about fields of the file that a subscription does not keep."""


class Reader(Protocol):
    """The interface of a format's module."""

    def records(self, found: Any) -> list[tuple[str, Any]]:
        """Return the records of a file, each with its name for messages."""
        ...

    def subscriber(self, record: str, value: Any, notes: list[str]) -> Subscriber:
        """Return the subscriber of a record, and append to `notes`."""
        ...


_READERS: dict[Format, Reader] = {
    Format.JSON: own_json,
    Format.CSV: own_csv,
    Format.OPEN5GS: open5gs,
    Format.FREE5GC: free5gc,
}


def read_subscribers(data: bytes, form: Format | None = None) -> Imported:
    """Return the subscribers of a file. If `form` is None, the contents determine the format.

    Several JSON files may be concatenated.

    Raises:
        ImportProblem: the file has errors. All of them are reported, and nothing is imported.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as err:
        raise ImportProblem(f"the file is not UTF-8 text: octet {err.start} is wrong") from None
    form = form or _detect(text)
    return _read(form, text if form is Format.CSV else documents(text))


def _detect(text: str) -> Format:
    if text.lstrip()[:1] not in {"[", "{"}:
        return Format.CSV
    found = documents(text)
    if any(open5gs.matches(one) for one in found):
        return Format.OPEN5GS
    if any(free5gc.matches(one) for one in found):
        return Format.FREE5GC
    return Format.JSON


def _read(form: Format, contents: Any) -> Imported:
    reader = _READERS[form]
    subscribers: dict[str, Subscriber] = {}
    notes: list[str] = []
    problems: list[str] = []
    for record, value in reader.records(contents):
        try:
            one = reader.subscriber(record, value, notes)
        except ImportProblem as err:
            problems += err.problems
            continue
        if one.supi in subscribers:
            problems.append(f"{record}: there is another record of {one.supi}")
        subscribers[one.supi] = one
    if problems:
        raise ImportProblem(*problems)
    if not subscribers:
        raise ImportProblem("the file holds no subscribers")
    return Imported(form, tuple(subscribers.values()), tuple(notes))
