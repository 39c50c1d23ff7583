"""A PDU SESSION RESOURCE MODIFY INDICATION of a gNB (TS 38.413 8.2.5), in the state of a UE."""

from msgspec import Struct

from schemas.session import Tunnel


class IndicatedSession(Struct, frozen=True, omit_defaults=True):
    """A PDU session that is to have another downlink tunnel, or that cannot have one."""

    psi: int
    seid: int = 0
    """The SEID of the core; 0 where there is no such session."""
    access: Tunnel | None = None
    """Where the gNB wants downlink packets now."""
    before: Tunnel | None = None
    """Where it had them."""
    refused_flows: tuple[int, ...] = ()
    """The QFIs that were indicated, and that the session does not have."""
    cause: str = ""
    """Why it is refused; empty while the UPF is asked, or has done it."""


class Indication(Struct, frozen=True, omit_defaults=True):
    """An indication that waits for UPFs before it is confirmed."""

    amf_ue_ngap_id: int
    """That of the connection that it came by."""
    gnb: str
    association: str
    ran_ue_ngap_id: int
    """Where that connection ended in the RAN: after a handover it ends elsewhere."""
    sessions: tuple[IndicatedSession, ...]
    diagnostics: bytes = b""
    """What was wrong with the message and ignored: a Criticality Diagnostics tree as JSON."""
