"""Events of PDU sessions."""

from typing import Literal

from schemas.event import Event
from schemas.gsm.state import Indication, N4Request, PduSession, Tunnel
from schemas.subscriber import Ambr


class SessionRequested(Event, frozen=True):
    """A PDU SESSION ESTABLISHMENT REQUEST is being granted; the session's address is allocated."""

    session: PduSession


class N4Sent(Event, frozen=True):
    """A PFCP request of a session was sent, the first time or again."""

    seid: int
    request: N4Request


class N4Answered(Event, frozen=True):
    """The UPF accepted a request. The response to an establishment has its SEID and its F-TEID."""

    seid: int
    up_seid: int = 0
    uplink: Tunnel | None = None


class N4Failed(Event, frozen=True):
    """The UPF refused a request, or answered none of its repetitions."""

    seid: int
    cause: str


class N4Lost(Event, frozen=True):
    """The UPF lost the session, which must be established again. `incarnation` is the Recovery
    Time Stamp of the UPF if it has restarted, 0 if not."""

    seid: int
    reason: str
    incarnation: int = 0


class N4Replaced(Event, frozen=True):
    """The UPF established the session twice, and has it under another SEID now. The requests that
    it answered under the first SEID must be sent again."""

    seid: int
    up_seid: int


class UplinkReplaced(Event, frozen=True):
    """The UPF refused to establish the session again with its F-TEID. The next request has another
    F-TEID of the core; None if the UPF allocates it."""

    seid: int
    cause: str
    uplink: Tunnel | None = None


class ResourcesAsked(Event, frozen=True):
    """The gNB of a connection was sent a PDU SESSION RESOURCE SETUP REQUEST, MODIFY REQUEST or
    RELEASE COMMAND. A RELEASE COMMAND has all sessions of `ResourcesUnneeded`."""

    amf_ue_ngap_id: int
    kind: Literal["setup", "modify", "release"]
    at: int
    """The time of the request, in milliseconds since the Unix epoch."""


class ResourcesAnswered(Event, frozen=True):
    """The gNB of a connection answered the request of this kind."""

    amf_ue_ngap_id: int
    kind: Literal["setup", "modify", "release"]


class ResourcesUnneeded(Event, frozen=True):
    """The gNB of a connection must release the resources of a session."""

    amf_ue_ngap_id: int
    psi: int


class UserPlanePending(Event, frozen=True):
    """The resources of a session are requested from the gNB as soon as possible."""

    seid: int


class UserPlaneRequested(Event, frozen=True):
    """The resources were requested from the gNB by this connection, with this UE AMBR."""

    seid: int
    amf_ue_ngap_id: int
    ambr: Ambr | None = None


class UserPlaneOn(Event, frozen=True):
    """The gNB set up the resources, and receives downlink packets at `access`."""

    seid: int
    access: Tunnel


class UserPlaneOff(Event, frozen=True):
    """The session has no resources at a gNB any more, or the gNB refused them."""

    seid: int
    reason: str


class UserPlaneMoved(Event, frozen=True):
    """The gNB receives downlink packets at another address, or at the previous one again."""

    seid: int
    access: Tunnel


class IndicationReceived(Event, frozen=True):
    """A PDU SESSION RESOURCE MODIFY INDICATION arrived."""

    indication: Indication


class IndicationCompleted(Event, frozen=True):
    """The indication was confirmed, or its connection no longer exists."""

    reason: str


class SecondaryRatUsed(Event, frozen=True):
    """A gNB reported the secondary RAT usage of a PDU session (TS 23.502 4.21)."""

    psi: int
    rat: str
    start: int
    """The start of the reported period, in seconds since 1900."""
    end: int
    uplink: int
    """In octets."""
    downlink: int
    qfi: int | None = None
    """The QoS flow; None for the whole session."""


class SessionUnconfirmed(Event, frozen=True):
    """The connection ended before the gNB answered about a session whose PDU SESSION ESTABLISHMENT
    ACCEPT was sent. The UE may have the session: it stays until the UE says that it does not."""

    seid: int


class SessionModifying(Event, frozen=True):
    """A PDU SESSION MODIFICATION COMMAND was sent. `pti` is the PTI of the UE's request, or 0."""

    seid: int
    ambr: Ambr
    pti: int = 0


class SessionModified(Event, frozen=True):
    """The UE completed or rejected the modification, or did not answer."""

    seid: int


class SessionReleasing(Event, frozen=True):
    """A PDU SESSION RELEASE COMMAND was sent. `pti` is the PTI of the UE's request, or 0; `cause`
    is the 5GSM cause."""

    seid: int
    pti: int
    cause: int


class SessionReleased(Event, frozen=True):
    """The session is released for the UE; the UPF must delete it."""

    seid: int
    reason: str


class SessionDeleted(Event, frozen=True):
    """The UPF deleted the session, and its address is free."""

    seid: int
    reason: str


class DownlinkReported(Event, frozen=True):
    """The UPF buffers downlink packets of a session, and reported it."""

    seid: int
