"""Adds optional IEs and fields to the NGAP messages of a gNB (TS 38.413 clause 9)."""

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any, Final

from loadgen.foreign.asn1 import Draw, ngap, printable, type_name, unknown
from loadgen.foreign.ngap_table import LEFT_OUT_IES, left_out

_SHARE: Final = 1 / 3
"""The share of the messages with an optional IE, and of the values with an optional field."""
_UNKNOWN: Final = 1 / 4
"""The share of the messages with an IE of a later release."""
_ADDRESS_BITS: Final = (32, 128, 160)
"""Sizes of an IPv4 address, an IPv6 address, and both (9.3.2.4)."""
_LONGEST_NAME: Final = 150
_LOCATION: Final = "UserLocationInformation"
_RAN_ID: Final = "RAN-UE-NGAP-ID"


class ForeignNgap:
    """The NGAP messages of a gNB of another maker.

    The draws for a message depend only on the seed and on the earlier messages of its UE, so a run
    with the same seed and the same procedures of a UE repeats them.
    """

    def __init__(self, seed: str) -> None:
        """Create the messages of one gNB.

        Raises:
            ConfigError: pycrate is not installed.
        """
        self._seed = seed
        module = ngap()
        self._pdu = module.NGAP_PDU_Descriptions.NGAP_PDU
        self._contents = module.NGAP_PDU_Contents
        self._sent: Counter[int | None] = Counter()
        self._locations: dict[int, Any] = {}
        """The last location of each UE, by RAN-UE-NGAP-ID."""
        self._location: Any = None
        """That of the UE of the message."""

    def message(self, pdu: bytes) -> bytes:
        """Return a PDU with more optional IEs and fields. Its own IEs keep their values."""
        self._pdu.from_aper(pdu)
        outcome, body = self._pdu.get_val()
        name, content = body["value"]
        table = getattr(self._contents, f"{name}IEs", None) or getattr(
            self._contents, f"{name}_IEs", None
        )
        if table is None:
            return pdu
        present = {ie["id"]: ie for ie in content["protocolIEs"]}
        draw = self._begin(name, present)
        ies: list[Any] = []
        for entry in table.get_val().root:
            ie = present.get(entry["id"])
            if ie is not None:
                told, value = ie["value"]
                ies.append({**ie, "value": (told, draw.enrich(entry["Value"], value))})
            elif self._draws(entry):
                kind = entry["Value"]
                value = type_name(kind), draw.value(kind)
                head = {"id": entry["id"], "criticality": entry["criticality"]}
                ies.append({**head, "value": value})
        if self._rng.random() < _UNKNOWN:
            ies.append(unknown(self._rng, "value"))
        body["value"] = name, {**content, "protocolIEs": ies}
        self._pdu.set_val((outcome, body))
        return self._pdu.to_aper()

    def gnb_id_bits(self, gnb_id: int) -> int:
        """Return the size of a gNB ID that has room for a number, 22 to 32 bits (9.3.1.6)."""
        return Random(f"{self._seed} bits").randint(max(22, gnb_id.bit_length()), 32)

    def name(self) -> str:
        """Return a RAN node name with any characters of a PrintableString (9.2.6.1)."""
        return printable(Random(f"{self._seed} name"), _LONGEST_NAME)

    def _begin(self, message: str, present: dict[int, Any]) -> Draw:
        """Return the draw for a message of a UE, or of the gNB."""
        values = dict(ie["value"] for ie in present.values())
        number = values.get(_RAN_ID)
        self._sent[number] += 1
        self._rng = Random(f"{self._seed} {number} {self._sent[number]} {message}")
        if number is not None and _LOCATION in values:
            self._locations[number] = values[_LOCATION]
        location = self._location = None if number is None else self._locations.get(number)
        given: dict[str, Any] = {"TransportLayerAddress": _address}
        if location is not None:
            given[_LOCATION] = _always(location)
            given["PLMNIdentity"] = _always(location[1]["tAI"]["pLMNIdentity"])
        return Draw(self._rng, given, left_out, _SHARE)

    def _draws(self, entry: Any) -> bool:
        """Whether to add an optional IE that the message lacks."""
        name = type_name(entry["Value"])
        if entry["presence"] != "optional" or name in LEFT_OUT_IES:
            return False
        if name == _LOCATION and self._location is None:
            return False
        return self._rng.random() < _SHARE


def _always(value: Any) -> Callable[[Random], Any]:
    return lambda _: value


def _address(rng: Random) -> tuple[int, int]:
    size = rng.choice(_ADDRESS_BITS)
    return rng.getrandbits(size), size
