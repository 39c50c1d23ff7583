"""What all formats share when a subscriber is put together."""

from collections.abc import Sequence

from schemas.identity import SNssai
from schemas.subscriber import Ambr, Dnn, SubscribedSlice
from statestore.importers import values
from statestore.importers.fields import Fields
from wire import milenage_opc

KEY_OCTETS = 16
PLAIN_DNN = Dnn("")
"""A DNN that says nothing but its name: where the defaults are."""
PLAIN_AMBR = Ambr(1_000_000_000, 1_000_000_000)


def key(value: object) -> bytes:
    """A K, OP or OPc."""
    return values.octets(value, KEY_OCTETS)


def opc(fields: Fields, k: bytes, *, opc_name: str = "opc", op_name: str = "op") -> bytes:
    """OPc, or what it is made of; OPc goes first where both are given."""
    if opc_name in fields:
        fields.skip(op_name)
        return fields.need(opc_name, key)
    if op_name in fields:
        return milenage_opc(k, fields.need(op_name, key))
    raise fields.problem(opc_name, f"is missing, and so is {fields.path(op_name)}")


def nssai(fields: Fields) -> SNssai:
    """An S-NSSAI of ``sst`` and ``sd``."""
    return SNssai(fields.need("sst", values.sst), fields.take("sd", values.sd, None))


def ambr(fields: Fields | None) -> Ambr | None:
    """An AMBR of two bit rates, None for none."""
    if fields is None:
        return None
    return Ambr(fields.need("uplink", values.rate), fields.need("downlink", values.rate))


def check_slices(
    fields: Fields, name: str, slices: Sequence[SubscribedSlice], notes: list[str]
) -> tuple[SubscribedSlice, ...]:
    """Slices as a subscription must have them: each once, and each DNN once in it."""
    if not slices:
        raise fields.problem(name, "names no slice")
    _once(fields, name, [s.nssai for s in slices], "the S-NSSAI")
    for one in slices:
        _once(fields, name, [dnn.name for dnn in one.dnns], f"in slice {one.nssai} the DNN")
    if not any(one.default for one in slices):
        notes.append(
            f"{fields.record}: no slice is a default one; a UE that asks for none gets none"
        )
    return tuple(slices)


def _once(fields: Fields, name: str, keys: Sequence[SNssai | str], what: str) -> None:
    seen: set[SNssai | str] = set()
    for one in keys:
        if one in seen:
            raise fields.problem(name, f"has {what} {one} twice")
        seen.add(one)


def note_unread(fields: Fields, notes: list[str]) -> None:
    """Note what a file says and a subscription has no place for."""
    notes.extend(
        note(fields, name, "is not supported and was left out")
        for name in fields.unread()
        if fields.says(name)
    )


def note(fields: Fields, name: str, what: str) -> str:
    """A note about a field."""
    return f"{fields.record}: {fields.path(name)} {what}"


def refuse_unread(fields: Fields) -> None:
    """Refuse what evcore's own formats do not have: it is a slip of the pen."""
    for name in fields.unread():
        raise fields.problem(name, "is not a field of this format")
