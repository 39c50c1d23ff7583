"""Events of PDU sessions."""

from schemas.event import Event
from schemas.gsm.state import Indication, N4Request, PduSession, Tunnel
from schemas.subscriber import Ambr


class SessionRequested(Event, frozen=True):
    """A PDU SESSION ESTABLISHMENT REQUEST is to be granted; its address is taken."""

    session: PduSession


class N4Sent(Event, frozen=True):
    """A PFCP request of a session was sent, or sent again."""

    seid: int
    request: N4Request


class N4Answered(Event, frozen=True):
    """The UPF has done what it was asked for. Of an establishment: its SEID and its F-TEID."""

    seid: int
    up_seid: int = 0
    uplink: Tunnel | None = None


class N4Failed(Event, frozen=True):
    """The UPF has refused a request, or not answered any of its repetitions."""

    seid: int
    cause: str


class N4Lost(Event, frozen=True):
    """The UPF has lost the session; it is to be established again."""

    seid: int
    reason: str


class N4Replaced(Event, frozen=True):
    """The UPF was asked for the session twice, and has it under another SEID by now; what it was
    asked for under the first, it is to be asked again."""

    seid: int
    up_seid: int


class UserPlanePending(Event, frozen=True):
    """The gNB is to be asked for the resources of a session once it can be."""

    seid: int


class UserPlaneRequested(Event, frozen=True):
    """The gNB was asked for them, by this connection, and told the AMBR of the UE."""

    seid: int
    amf_ue_ngap_id: int
    ambr: Ambr | None = None


class UserPlaneOn(Event, frozen=True):
    """The gNB has set them up, and takes downlink packets there."""

    seid: int
    access: Tunnel


class UserPlaneOff(Event, frozen=True):
    """The session has no resources at a gNB any more, or was refused them."""

    seid: int
    reason: str


class UserPlaneMoved(Event, frozen=True):
    """The gNB takes downlink packets elsewhere, or again where it did before."""

    seid: int
    access: Tunnel


class IndicationReceived(Event, frozen=True):
    """A PDU SESSION RESOURCE MODIFY INDICATION has come."""

    indication: Indication


class IndicationCompleted(Event, frozen=True):
    """It was confirmed, or there is nobody to confirm it to."""

    reason: str


class SecondaryRatUsed(Event, frozen=True):
    """A gNB has reported what a PDU session has used of a secondary RAT (TS 23.502 4.21)."""

    psi: int
    rat: str
    start: int
    """The begin of the time that is reported, in seconds since 1900."""
    end: int
    uplink: int
    """In octets."""
    downlink: int
    qfi: int | None = None
    """The QoS flow; None for the whole session."""


class SessionModifying(Event, frozen=True):
    """A PDU SESSION MODIFICATION COMMAND was sent; `pti` is that of the UE's request, or 0."""

    seid: int
    ambr: Ambr
    pti: int = 0


class SessionModified(Event, frozen=True):
    """The UE has completed or rejected it, or never answered."""

    seid: int


class SessionReleasing(Event, frozen=True):
    """A PDU SESSION RELEASE COMMAND was sent; `pti` is that of the UE's request, or 0, `cause` the
    5GSM cause."""

    seid: int
    pti: int
    cause: int


class SessionReleased(Event, frozen=True):
    """The session is no more for the UE; the UPF is to let it go."""

    seid: int
    reason: str


class SessionDeleted(Event, frozen=True):
    """The UPF has let the session go, and its address is free."""

    seid: int
    reason: str


class DownlinkReported(Event, frozen=True):
    """The UPF holds downlink packets of a session, and has said so."""

    seid: int
