"""PFCP by pycrate, which shares no code with rs-pfcp."""

import warnings
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # raised by pycrate's own source
    from pycrate_mobile import TS29244_PFCP  # pyright: ignore[reportMissingTypeStubs]

# pycrate has no type annotations.
_PFCP: Any = TS29244_PFCP
TYPES: dict[str, int] = {
    name.strip(): number for number, name in _PFCP.PFCPIEType_dict.items() if name != "Reserved"
}
"""The number of each IE by pycrate's name, which may differ from that of the specification."""

# IEs that pycrate adds itself, from tables of an older release, are not compared.
_PFCP.PFCPIEs._SET_MAND = False
# pycrate requires an IE in usage reports of a session report request that is optional.
_PFCP.PFCPIEs.VERIF_MAND = False


def _set_bit_map(self: Any, octets: dict[str, dict[str, int]]) -> None:
    """Set some octets and omit the others. pycrate's own method fails to do this."""
    _PFCP.Envelope.set_val(self, octets)
    for octet in self._content[:-1]:
        octet.set_trans(octet._name not in octets)


_PFCP.BitFlags.set_val = _set_bit_map


def encode(header: dict[str, Any], ies: list[dict[str, Any]]) -> bytes:
    """Return a message of a header and IEs in pycrate's form. pycrate computes all lengths."""
    message = _PFCP.PFCPDispatcher[header["Type"]]()
    message[1].set_val(ies)
    message[0].set_val(header)
    return message.to_bytes()


def decode(data: bytes) -> bytes:
    """Return the octets that pycrate writes after it has read a message completely and without
    fault."""
    message, error = _PFCP.parse_PFCP(data)
    assert error == 0
    for ie in _all(message[1]):
        # pycrate falls back to octets if it cannot read a value.
        number = ie[0].get_val()
        assert number not in _PFCP.PFCPIELUT or isinstance(ie[3], _PFCP.PFCPIELUT[number]), ie
    return message.to_bytes()


def _all(ies: Any) -> list[Any]:
    found: list[Any] = []
    for ie in ies:
        found.append(ie)
        if isinstance(ie[3], _PFCP.PFCPIEs):
            found += _all(ie[3])
    return found
