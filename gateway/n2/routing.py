"""Where an uplink PDU goes, from what can be read of it without keys of UEs or a store.

The procedure is a guess that the runtime corrects; the slot and the key are not: they come
out of the identities themselves (`schemas.identity`).
"""

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


class Route(NamedTuple):
    """The routing attributes of an uplink event."""

    procedure: Procedure
    partitionkey: str
    slot: int


class Router:
    """Routes PDUs for one AMF."""

    def __init__(self, guami: Guami, tmsi_cipher: wire.TmsiCipher) -> None:
        self._guami = guami
        self._cipher = tmsi_cipher

    def node(self, gnb: str) -> Route:
        """Where messages about a RAN node itself go."""
        return Route(Procedure.RAN, f"gnb-{gnb}", slot_of(gnb))

    def initial(self, peek: wire.NgapPeek, connection: str) -> Route:
        """Where an INITIAL UE MESSAGE goes; `connection` names its N2 connection.

        A SUPI or a 5G-TMSI of this AMF leads to the UE. A concealed SUCI goes to
        `identification`. A UE that is neither has to be asked, under its connection's slot.
        """
        nas = peek.nas
        message_type = nas.message_type if nas is not None else None
        procedure = NAS_MESSAGES.get(message_type or 0, DEFAULT)
        if nas is not None and nas.supi is not None:
            return Route(procedure, nas.supi, slot_of(nas.supi))
        unknown = Route(procedure, f"conn-{connection}", slot_of(connection))
        if nas is not None and nas.suci is not None:
            return unknown._replace(procedure=Procedure.IDENTIFICATION)
        tmsi = self._own_tmsi(peek)
        if tmsi is None:
            return unknown
        slot = slot_of_tmsi_plaintext(self._cipher.decrypt(tmsi))
        return Route(procedure, index_tmsi(tmsi), slot)

    def _own_tmsi(self, peek: wire.NgapPeek) -> int | None:
        """The 5G-TMSI that this AMF gave the UE; None for another AMF's, or none."""
        ours, nas = self._guami, peek.nas
        if nas is not None and nas.guti is not None:
            mcc, mnc, region, amf_set, pointer, tmsi = nas.guti
            theirs = Guami(f"{mcc}-{mnc}", region, amf_set, pointer)
            return tmsi if theirs == ours else None
        s_tmsi = (nas.s_tmsi if nas is not None else None) or peek.s_tmsi
        if s_tmsi is None or s_tmsi[:2] != (ours.set, ours.pointer):
            return None
        return s_tmsi[2]

    def connected(self, peek: wire.NgapPeek, hint: Procedure | None) -> Route:
        """Where another message of a UE goes, one that has an AMF-UE-NGAP-ID.

        `hint` is the procedure that spoke last on its connection.
        """
        amf_ue_ngap_id = peek.amf_ue_ngap_id or 0
        if peek.nas is None:
            procedure = NGAP_MESSAGES.get(peek.message, DEFAULT)
        elif peek.nas.message_type is not None:
            procedure = NAS_MESSAGES.get(peek.nas.message_type, DEFAULT)
        else:
            procedure = hint or DEFAULT
        return Route(procedure, index_ngap(amf_ue_ngap_id), slot_of_amf_ue_ngap_id(amf_ue_ngap_id))
