"""The routes of uplink PDUs, from fields that are readable without UE keys or the store.

The procedure is a guess that the runtime corrects. The slot and the key are certain: they follow
from the identities themselves (`schemas.identity`).
"""

from collections.abc import Collection
from typing import NamedTuple

import wire
from schemas.identity import (
    Guami,
    index_ngap,
    index_tmsi,
    slot_of,
    slot_of_amf_ue_ngap_id,
    slot_of_tmsi_plaintext,
)
from schemas.procedures import DEFAULT, NAS_MESSAGES, NGAP_MESSAGES, Procedure


class N2Route(NamedTuple):
    """The routing attributes of an uplink event."""

    procedure: Procedure
    partitionkey: str
    slot: int


class Router:
    """Routes PDUs for one AMF."""

    def __init__(self, guamis: Collection[Guami], tmsi_cipher: wire.TmsiCipher) -> None:
        self._cipher = tmsi_cipher
        self.serve(guamis)

    def serve(self, guamis: Collection[Guami]) -> None:
        """Set the GUAMIs of the AMF: one for each PLMN that it serves."""
        self._guamis = frozenset(guamis)
        self._s_tmsis = frozenset((guami.set, guami.pointer) for guami in guamis)

    def node(self, gnb: str) -> N2Route:
        """Return the route of messages about a RAN node itself."""
        return N2Route(Procedure.RAN, f"gnb-{gnb}", slot_of(gnb))

    def initial(self, peek: wire.NgapPeek, connection: str) -> N2Route:
        """Return the route of an INITIAL UE MESSAGE; `connection` names its N2 connection.

        A SUPI or a 5G-TMSI of this AMF identifies the UE. A concealed SUCI goes to
        `identification`. The core must ask any other UE for its identity; such a UE gets the
        slot of its connection.
        """
        nas = peek.nas
        message_type = nas.message_type if nas is not None else None
        procedure = NAS_MESSAGES.get(message_type or 0, DEFAULT)
        if nas is not None and nas.supi is not None:
            return N2Route(procedure, nas.supi, slot_of(nas.supi))
        unknown = N2Route(procedure, f"conn-{connection}", slot_of(connection))
        if nas is not None and nas.suci is not None:
            return unknown._replace(procedure=Procedure.IDENTIFICATION)
        tmsi = self._own_tmsi(peek)
        if tmsi is None:
            return unknown
        slot = slot_of_tmsi_plaintext(self._cipher.decrypt(tmsi))
        return N2Route(procedure, index_tmsi(tmsi), slot)

    def _own_tmsi(self, peek: wire.NgapPeek) -> int | None:
        """Return the UE's 5G-TMSI if this AMF assigned it; None otherwise."""
        nas = peek.nas
        if nas is not None and nas.guti is not None:
            mcc, mnc, region, amf_set, pointer, tmsi = nas.guti
            theirs = Guami(f"{mcc}-{mnc}", region, amf_set, pointer)
            return tmsi if theirs in self._guamis else None
        s_tmsi = (nas.s_tmsi if nas is not None else None) or peek.s_tmsi
        if s_tmsi is None or s_tmsi[:2] not in self._s_tmsis:
            return None
        return s_tmsi[2]

    def connected(self, peek: wire.NgapPeek, hint: Procedure | None) -> N2Route:
        """Return the route of a message with an AMF-UE-NGAP-ID.

        `hint` is the procedure that sent the last message on the connection.
        """
        amf_ue_ngap_id = peek.amf_ue_ngap_id or 0
        if peek.nas is None:
            procedure = NGAP_MESSAGES.get(peek.message, DEFAULT)
        elif peek.nas.message_type is not None:
            procedure = NAS_MESSAGES.get(peek.nas.message_type, DEFAULT)
        else:
            procedure = hint or DEFAULT
        key, slot = index_ngap(amf_ue_ngap_id), slot_of_amf_ue_ngap_id(amf_ue_ngap_id)
        return N2Route(procedure, key, slot)
