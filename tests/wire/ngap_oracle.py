"""NGAP by pycrate, with ASN.1 tables that are independent of those of `wire`.

`value_of` converts a tree of `wire` to a value that pycrate encodes. Procedure codes,
criticalities, IE identifiers and types come from pycrate's tables; only names and values come from
the tree.
"""

import warnings
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # raised by pycrate's own source
    from pycrate_asn1dir import NGAP  # pyright: ignore[reportMissingTypeStubs]

Tree = dict[str, Any]

# pycrate has no type annotations.
_NGAP: Any = NGAP
PDU: Any = _NGAP.NGAP_PDU_Descriptions.NGAP_PDU
_CONTENTS: Any = _NGAP.NGAP_PDU_Contents
_OUTCOMES = {
    "InitiatingMessage": "initiatingMessage",
    "SuccessfulOutcome": "successfulOutcome",
    "UnsuccessfulOutcome": "unsuccessfulOutcome",
}


def _procedures() -> dict[str, tuple[str, int, str]]:
    """Return the direction, the code and the criticality of each message, by its name."""
    found: dict[str, tuple[str, int, str]] = {}
    for procedure in _NGAP.NGAP_PDU_Descriptions.NGAP_ELEMENTARY_PROCEDURES.get_val().root:
        for field, outcome in _OUTCOMES.items():
            if field in procedure:
                name = procedure[field]._typeref.called[1]
                found[name] = outcome, procedure["procedureCode"], procedure["criticality"]
    return found


PROCEDURES = _procedures()


def _ies(message: str) -> dict[int, Any]:
    """Return the object set of a message: criticality and type of each IE, by its identifier."""
    found = getattr(_CONTENTS, f"{message}IEs", None) or getattr(_CONTENTS, f"{message}_IEs")
    return {entry["id"]: entry for entry in found.get_val().root}


def _identifier(name: str) -> int:
    return getattr(_NGAP.NGAP_Constants, f"id_{name.replace('-', '_')}").get_val()


def _octets(value: Any, size: int) -> bytes:
    """Return an OCTET STRING: hexadecimal, a number, or the digits of a PLMN (TS 38.413
    9.3.3.5)."""
    if isinstance(value, int):
        return value.to_bytes(size, "big")
    if "-" in value:
        # MCC, a filler if MNC has two digits, MNC. In NAS the third digit of MNC comes first.
        mcc, mnc = value.split("-")
        digits = f"{mcc}{mnc:f>3}"
        return bytes.fromhex("".join(digits[i + 1] + digits[i] for i in (0, 2, 4)))
    return bytes.fromhex(value)


def _bits(value: Any, size: int) -> tuple[int, int]:
    """Return a BIT STRING: a number, hexadecimal, or hexadecimal with a length."""
    if isinstance(value, int):
        return value, size
    if isinstance(value, dict):
        tree: Tree = value
        size = tree["length"]
        value = tree["value"]
    return int(value, 16) >> (-size % 8), size


def _build(kind: Any, value: Any) -> Any:
    match kind.TYPE:
        case "OCTET STRING":
            return _octets(value, _fixed(kind))
        case "BIT STRING":
            return _bits(value, _fixed(kind))
        case "SEQUENCE":
            return {name: _build(kind._cont[name], member) for name, member in value.items()}
        case "SEQUENCE OF":
            return [_build(kind._cont, item) for item in value]
        case "CHOICE":
            ((name, member),) = value.items()
            return name, _build(kind._cont[name], member)
        case _:
            return value


def _fixed(kind: Any) -> int:
    """Return the upper bound of the size of a string type; 0 if it has none."""
    size = kind._const_sz
    return size.ub if size is not None and size.ub is not None else 0


def value_of(tree: Tree) -> Any:
    """Return the value that pycrate encodes as the PDU of a tree."""
    outcome, code, criticality = PROCEDURES[tree["message"]]
    table = _ies(tree["message"])
    ies: list[Tree] = []
    for item in tree["ies"]:
        ((name, value),) = item.items()
        entry = table[_identifier(name)]
        kind = entry["Value"]
        ies.append(
            {
                "id": entry["id"],
                "criticality": entry["criticality"],
                "value": (kind._typeref.called[1], _build(kind, value)),
            }
        )
    message = {"protocolIEs": ies}
    body = {"procedureCode": code, "criticality": criticality, "value": (tree["message"], message)}
    return outcome, body


def encode(value: Any) -> bytes:
    """Return the octets of a value, in aligned PER."""
    PDU.set_val(value)
    return PDU.to_aper()


def decode(data: bytes) -> Any:
    """Return the value of a PDU."""
    PDU.from_aper(data)
    return PDU.get_val()


def names_of(kind: str) -> list[str]:
    """Return the names of an ENUMERATED type of NGAP-IEs, including those after its extension
    marker."""
    modules = _NGAP.NGAP_IEs, _NGAP.NGAP_CommonDataTypes
    return list(next(getattr(m, kind) for m in modules if hasattr(m, kind))._cont)
