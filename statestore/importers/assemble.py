"""Functions that all formats use to build a subscriber."""

from collections.abc import Sequence

from schemas.identity import SNssai, s_nssai_of
from schemas.subscriber import Ambr, Dnn, SubscribedSlice
from statestore.importers import values
from statestore.importers.fields import Fields
from wire import milenage_opc

KEY_OCTETS = 16
PLAIN_DNN = Dnn("")
"""A DNN with all its defaults."""
PLAIN_AMBR = Ambr(1_000_000_000, 1_000_000_000)


def key(value: object) -> bytes:
    """Return a K, OP or OPc."""
    return values.octets(value, KEY_OCTETS)


def opc(fields: Fields, k: bytes, *, opc_name: str = "opc", op_name: str = "op") -> bytes:
    """Return OPc, or compute it from OP. If both are given, OPc is used."""
    if opc_name in fields:
        fields.skip(op_name)
        return fields.need(opc_name, key)
    if op_name in fields:
        return milenage_opc(k, fields.need(op_name, key))
    raise fields.problem(opc_name, f"is missing, and so is {fields.path(op_name)}")


def nssai(fields: Fields) -> SNssai:
    """Return an S-NSSAI of ``sst`` and ``sd``."""
    return s_nssai_of(fields.need("sst", values.sst), fields.take("sd", values.sd, None))


def ambr(fields: Fields | None) -> Ambr | None:
    """Return an AMBR of two bit rates; None if there are no fields."""
    if fields is None:
        return None
    return Ambr(fields.need("uplink", values.rate), fields.need("downlink", values.rate))


def default_5qi(fields: Fields | None, name: str) -> int:
    """Return the 5QI of the default QoS flow; that of a plain DNN if there are no fields."""
    if fields is None:
        return PLAIN_DNN.five_qi
    return fields.take(name, values.default_5qi, PLAIN_DNN.five_qi)


def check_slices(
    fields: Fields, name: str, slices: Sequence[SubscribedSlice], notes: list[str]
) -> tuple[SubscribedSlice, ...]:
    """Check that each slice occurs once, and each DNN once in its slice."""
    if not slices:
        raise fields.problem(name, "has no slice")
    _once(fields, name, [s.nssai for s in slices], "the S-NSSAI")
    for one in slices:
        _once(fields, name, [dnn.name for dnn in one.dnns], f"in slice {one.nssai} the DNN")
    if not any(one.default for one in slices):
        notes.append(
            f"{fields.record}: no slice is a default slice; a UE that requests no slice gets none"
        )
    return tuple(slices)


def _once(fields: Fields, name: str, keys: Sequence[SNssai | str], what: str) -> None:
    seen: set[SNssai | str] = set()
    for one in keys:
        if one in seen:
            raise fields.problem(name, f"has {what} {one} twice")
        seen.add(one)


def note_unread(fields: Fields, notes: list[str]) -> None:
    """Add a note about fields of the file that a subscription cannot hold."""
    notes.extend(
        note(fields, name, "is not supported and was left out")
        for name in fields.unread()
        if fields.says(name)
    )


def note(fields: Fields, name: str, what: str) -> str:
    """Return a note about a field."""
    return f"{fields.record}: {fields.path(name)} {what}"


def refuse_unread(fields: Fields) -> None:
    """Reject unknown fields in evcore's own formats. They are typing errors."""
    for name in fields.unread():
        raise fields.problem(name, "is not a field of this format")
