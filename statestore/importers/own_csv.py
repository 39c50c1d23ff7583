"""evcore's own CSV: a header, then a slice of a subscriber on each line.

    supi,sst,sd,dnns,k,opc
    imsi-001010000000001,1,000001,internet ims,465b5ce8b199b49f...,e8ed289deba952e4...
    imsi-001010000000001,2,,iot,,

Columns may be in any order, separated by commas or by semicolons. Mandatory columns: `supi` (or
`imsi`), `k`, `opc` (or `op`) and `sst`. Optional columns: `sd`, `default` (true or false; if it is
empty, only a subscriber's first slice is a default slice), `dnns` (names separated by blanks),
`session_types` (of these DNNs; IPV4, IPV6, IPV4V6, UNSTRUCTURED, ETHERNET separated by blanks),
`uplink` and `downlink` (the UE-AMBR, in bit/s or as ``100 Mbps``), `amf`, `sqn` (12 hexadecimal
digits, or fewer decimal ones), `barred`, `nr_allowed` (true or false), `auth_method` (5G_AKA or
EAP_AKA_PRIME), `rfsp` (0 to 256) and `forbidden_tacs` (of 6 hexadecimal digits, separated by
blanks).

A further line of the same subscriber adds a slice. It may omit the columns that do not describe
slices.
"""

import csv
from collections.abc import Callable
from io import StringIO
from typing import Any, TypeVar

from schemas.subscriber import Ambr, AuthMethod, Dnn, SubscribedSlice, Subscriber
from statestore.importers import values
from statestore.importers.assemble import PLAIN_AMBR, PLAIN_DNN, check_slices, key, nssai, opc
from statestore.importers.fields import Fields
from statestore.importers.values import ImportProblem, shown

T = TypeVar("T")

_ONCE = (
    *("k", "opc", "op", "amf", "sqn", "auth_method"),
    *("uplink", "downlink", "barred", "nr_allowed", "rfsp"),
)
_ABOUT_SLICES = ("sst", "sd", "default", "dnns", "session_types")
_COLUMNS = ("supi", "imsi", *_ONCE, "forbidden_tacs", *_ABOUT_SLICES)
_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def records(found: str) -> list[tuple[str, Any]]:
    """Return the lines of each subscriber, with the name of the first line for messages.

    Raises:
        ImportProblem: the header or the shape of a line is wrong.
    """
    header = found.partition("\n")[0]
    delimiter = ";" if ";" in header and "," not in header else ","
    reader = csv.reader(StringIO(found, newline=""), delimiter=delimiter, strict=True)
    subscribers: dict[str, list[tuple[str, dict[str, str]]]] = {}
    try:
        columns = [column.strip().lower() for column in next(reader, list[str]())]
        _check(columns)
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(columns):
                raise ImportProblem(
                    f"line {reader.line_num} has {len(cells)} values for {len(columns)} columns"
                )
            row = dict(zip(columns, map(str.strip, cells), strict=True))
            name = row.get("supi") or row.get("imsi") or ""
            lines = subscribers.setdefault(name.removeprefix("imsi-"), [])
            lines.append((f"line {reader.line_num}", row))
    except csv.Error as err:
        raise ImportProblem(f"line {reader.line_num} is not CSV: {err}") from None
    return [(lines[0][0], lines) for lines in subscribers.values()]


def _check(columns: list[str]) -> None:
    for column in columns:
        if column not in _COLUMNS:
            raise ImportProblem(f"line 1: {shown(repr(column))} is not a column of this format")
        if columns.count(column) > 1:
            raise ImportProblem(f"line 1: the column {column!r} occurs twice")
    for wanted in (("supi", "imsi"), ("k",), ("opc", "op"), ("sst",)):
        if not set(wanted) & set(columns):
            raise ImportProblem(f"line 1: the column {' or '.join(map(repr, wanted))} is missing")


def subscriber(record: str, value: Any, notes: list[str]) -> Subscriber:
    """Return the subscriber of its lines.

    Raises:
        ImportProblem: a value in the lines is wrong.
    """
    lines: list[tuple[str, dict[str, str]]] = value
    first = Fields(lines[0][1], record)
    supi = first.need("imsi" if "imsi" in first and "supi" not in first else "supi", values.supi)
    first.record = f"{record} ({supi})"
    slices: list[SubscribedSlice] = []
    for line, row in lines:
        fields = Fields(row, f"{line} ({supi})")
        for name in (*_ONCE, "forbidden_tacs"):
            if name in fields and row[name] != lines[0][1][name]:
                raise fields.problem(name, f"differs from {record}")
        slices.append(_slice(fields, first=not slices))
    k = first.need("k", key)
    return Subscriber(
        supi=supi,
        k=k,
        opc=opc(first, k),
        slices=check_slices(first, "sst", slices, notes),
        amf=first.take("amf", values.amf, b"\x80\x00"),
        sqn=first.take("sqn", _sqn, 0),
        ambr=Ambr(
            first.take("uplink", _rate, PLAIN_AMBR.uplink),
            first.take("downlink", _rate, PLAIN_AMBR.downlink),
        ),
        barred=first.take("barred", _boolean, False),
        forbidden_tacs=first.take("forbidden_tacs", _words(values.tac), ()),
        nr_allowed=first.take("nr_allowed", _boolean, True),
        auth_method=first.take("auth_method", values.auth_method, AuthMethod.FIVE_G_AKA),
        rfsp=first.take("rfsp", lambda text: values.rfsp(_number(text)), 0),
    )


def _slice(fields: Fields, *, first: bool) -> SubscribedSlice:
    types = fields.take("session_types", _words(values.session_type), PLAIN_DNN.session_types)
    names = fields.take("dnns", _words(values.dnn), ())
    return SubscribedSlice(
        nssai=nssai(
            Fields({"sst": fields.need("sst", _number), "sd": fields.raw("sd")}, fields.record)
        ),
        default=fields.take("default", _boolean, first),
        dnns=tuple(Dnn(name, session_types=types) for name in names),
    )


def _words(read: Callable[[str], T]) -> Callable[[str], tuple[T, ...]]:
    return lambda text: tuple(read(word) for word in text.split())


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise values.BadValue("is not a number")
    return int(text)


def _sqn(text: str) -> int:
    return values.sqn(text if len(text) == 12 else _number(text))


def _rate(text: str) -> int:
    return values.rate(_number(text) if text.isdigit() else text)


def _boolean(text: str) -> bool:
    if text.lower() not in _BOOLEANS:
        raise values.BadValue("is neither true nor false")
    return _BOOLEANS[text.lower()]
