"""Which UE of a run has which address."""

from typing import TYPE_CHECKING, NamedTuple

from loadgen.session_model import MAX_PSI, Session, SessionRecord
from loadgen.tolerated import Disturbance
from loadgen.trees import Tree, items, number, part
from loadgen.ue import messages
from loadgen.ue.nas_security import Received
from loadgen.violation import Kind


class Holder(NamedTuple):
    """A UE and its session with an address."""

    supi: str
    session: Session
    disturbance: Disturbance

    @property
    def is_misled(self) -> bool:
        """Whether a fault may have kept from it that the session is no more."""
        return self.disturbance.since(self.session.agreed)


class Ledger:
    """The addresses that UEs of a run hold: none may be given twice."""

    __slots__ = ("_holders",)

    def __init__(self) -> None:
        self._holders: dict[tuple[str, str], Holder] = {}

    def take(self, holder: Holder) -> Holder | None:
        """Note who has the address of a session; another who has it already."""
        key = _key(holder.session)
        other = self._holders.get(key)
        self._holders[key] = holder
        return None if other is None or other.supi == holder.supi else other

    def give_back(self, session: Session, supi: str) -> None:
        """The UE takes the address for its own no more."""
        holder = self._holders.get(_key(session))
        if holder is not None and holder.supi == supi:
            del self._holders[_key(session)]


def _key(session: Session) -> tuple[str, str]:
    return session.dnn, session.address


if TYPE_CHECKING:
    from loadgen.ue.ue import Ue

_LAST_PTI = 254
_ANSWERS = frozenset(
    {
        "pdu-session-establishment-accept",
        "pdu-session-establishment-reject",
        "pdu-session-release-reject",
    }
)


class Sessions:
    """What a UE's 5GSM entity keeps, and its answers to commands at any time."""

    __slots__ = ("_gone", "_pti", "_ue", "live", "pending", "touched")

    def __init__(self, ue: "Ue") -> None:
        """No session."""
        self._ue = ue
        self.live: dict[int, Session] = {}
        """The active sessions by their PSI, in the order in which they were established."""
        self.pending: tuple[int, int] | None = None
        """PSI and PTI of the request that has no answer yet."""
        self.touched = False
        """Whether the UE asked for one since it registered: the network may have one."""
        self._pti = 0
        self._gone: tuple[int, int] | None = None
        """The PSI that was released last, and the digest of the command."""

    # for the procedures

    def request(self, psi: int) -> int:
        """A PTI for a request about a session, 1 to 254 (TS 24.007 11.2.3.1a)."""
        self.touched = True
        self._pti = self._pti % _LAST_PTI + 1
        self.pending = psi, self._pti
        return self._pti

    def free_psi(self) -> int | None:
        """The first PDU session identity that is not in use."""
        return next((n for n in range(1, MAX_PSI + 1) if n not in self.live), None)

    def add(self, session: Session) -> None:
        """A session is established."""
        ue = self._ue
        self.live[session.psi] = session
        session.agreed = ue.now
        if not session.address or session.session_type == "ipv6":
            # An interface identifier is unique on its link alone.
            return
        other = ue.ledger.take(Holder(ue.profile.supi, session, ue.disturbance))
        if other is not None and other.is_misled:
            ue.excuse(Kind.SESSION_ADDRESS)
        elif other is not None:
            text = f"{session.address} of {session.dnn}, which {other.supi} has"
            ue.violate(Kind.SESSION_ADDRESS, text)

    def give_back(self, psi: int) -> None:
        """The UE asks for the release of a session: its address may be given to another."""
        session = self.live.get(psi)
        if session is not None:
            self._ue.ledger.give_back(session, self._ue.profile.supi)

    def remove(self, psi: int) -> None:
        """A session is no more."""
        self.give_back(psi)
        self.live.pop(psi, None)

    def clear(self) -> None:
        """The UE is deregistered: all sessions are released locally (6.1.3.2)."""
        for psi in list(self.live):
            self.remove(psi)
        self.pending = self._gone = None
        self.touched = False

    def expects(self, psi: int) -> bool:
        """Whether the gNB may set up resources of this session."""
        return psi in self.live or (self.pending is not None and self.pending[0] == psi)

    def records(self) -> list[SessionRecord]:
        """What is to be compared with the UPF."""
        supi, up = self._ue.profile.supi, self._ue.user_plane
        return [
            SessionRecord(
                supi=supi,
                psi=psi,
                dnn=one.dnn,
                address=one.address,
                qfi=next(iter(one.qfis), 0),
                active=psi in up,
                ul=one.ul,
                dl=up[psi].dl if psi in up else None,
            )
            for psi, one in self.live.items()
        ]

    @property
    def gone(self) -> tuple[int, ...]:
        """The session that was released last: its command may come again."""
        return () if self._gone is None else self._gone[:1]

    # downlink

    def receive(self, received: Received, now: float) -> None:
        """DL NAS TRANSPORT (5.4.5.3.3)."""
        ue, tree = self._ue, received.tree
        kind = tree.get("payload-container-type")
        if kind != "n1-sm-information":
            ue.violate(Kind.SM_UNEXPECTED, f"DL NAS TRANSPORT of {kind}")
            return
        message, psi = part(tree, "payload-container"), number(tree, "pdu-session-id")
        if "5gmm-cause" in tree:
            self._not_forwarded(str(tree["5gmm-cause"]), psi, now)
            return
        own = number(message, "pdu-session-identity")
        if "message-type" not in message:
            ue.violate(Kind.NAS_MALFORMED, f"a 5GSM message that does not decode: {message}")
            self._status(psi or 0, 0, messages.INVALID_MANDATORY)
        elif psi is None or psi != own:
            text = f"{message['message-type']} of PDU session {own}, in a transport of {psi}"
            ue.violate(Kind.SM_IDENTITY, text)
        else:
            self._dispatch(str(message["message-type"]), psi, message, received.plain, now)

    def _dispatch(self, name: str, psi: int, message: Tree, plain: bytes, now: float) -> None:
        pti = number(message, "procedure-transaction-identity") or 0
        if "unknown-ies" in message:
            self._ue.violate(Kind.NAS_MALFORMED, f"{name} with octets that are none of its IEs")
        if name in _ANSWERS:
            self._answer(name, psi, pti, message, plain, now)
        elif name == "pdu-session-release-command":
            self._released(psi, pti, message, plain, now)
        elif name == "pdu-session-modification-command":
            self._modified(psi, pti, message, plain)
        elif name == "5gsm-status":
            self._status_received(psi, pti, message, plain, now)
        else:
            self._ue.violate(Kind.SM_UNEXPECTED, f"{name}, which a UE does not receive")
            self._status(psi, pti, messages.TYPE_NON_EXISTENT)

    def _answer(
        self, name: str, psi: int, pti: int, message: Tree, plain: bytes, now: float
    ) -> None:
        ue, session = self._ue, self.live.get(psi)
        if session is not None and session.answered == hash(plain):
            # The answer to a request that was repeated by T3580, which crossed the first one.
            ue.repeat("T3580")
        elif self.pending is None:
            ue.violate(Kind.SM_UNEXPECTED, f"{name} for PDU session {psi}, without a request")
            self._status(psi, pti, messages.PTI_MISMATCH)
        elif self.pending != (psi, pti):
            own = f"PSI {self.pending[0]} PTI {self.pending[1]}"
            ue.violate(Kind.SM_IDENTITY, f"{name} with PSI {psi} PTI {pti}, and {own} asked")
            self._status(psi, pti, messages.PTI_MISMATCH)
        elif ue.running_procedure is not None:
            ue.running_procedure.session_answered(message, plain, now)

    def _not_forwarded(self, cause: str, psi: int | None, now: float) -> None:
        ue = self._ue
        if self.pending is None or self.pending[0] != psi or ue.running_procedure is None:
            ue.violate(Kind.SM_UNEXPECTED, f"a message of PDU session {psi} given back: {cause}")
        else:
            ue.running_procedure.not_forwarded(cause, now)

    def _status_received(self, psi: int, pti: int, message: Tree, plain: bytes, now: float) -> None:
        """5GSM STATUS (6.5.3): the request that it names is over."""
        ue = self._ue
        text = f"5GSM STATUS with {message.get('5gsm-cause')}"
        ue.not_understood(text)
        ue.violate(Kind.SM_STATUS, text)
        if self.pending == (psi, pti) and ue.running_procedure is not None:
            ue.running_procedure.session_answered(message, plain, now)

    def mismatched(self, message: Tree) -> None:
        """An answer with the identities of a request, which was for something else."""
        text = f"{message['message-type']} to a request for something else"
        self._ue.violate(Kind.SM_UNEXPECTED, text)

    # commands

    def _released(self, psi: int, pti: int, message: Tree, plain: bytes, now: float) -> None:
        """PDU SESSION RELEASE COMMAND (6.3.3.3): the session ends here, whoever began it."""
        ue = self._ue
        if psi not in self.live:
            if self._gone == (psi, hash(plain)):
                ue.repeat("T3592")
            else:
                ue.violate(Kind.SM_UNEXPECTED, f"release of PDU session {psi}, which is none")
            self._status(psi, pti, messages.INVALID_IDENTITY)
            return
        if not self._addressed("release", psi, pti):
            return
        if psi in ue.user_plane:
            text = f"PDU session {psi} is released, and its resources in the gNB are not"
            ue.violate(Kind.RESOURCE_SESSION, text)
        self.remove(psi)
        self._gone = psi, hash(plain)
        ue.send(messages.ul_nas_transport(psi, messages.release_complete(psi, pti)))
        running = ue.running_procedure
        if running is not None:
            if self.pending is not None and self.pending[0] == psi:
                running.session_answered(message, plain, now)
            else:
                running.user_plane_changed(now)

    def _modified(self, psi: int, pti: int, message: Tree, plain: bytes) -> None:
        """PDU SESSION MODIFICATION COMMAND (6.3.2.3)."""
        ue, session = self._ue, self.live.get(psi)
        if session is None:
            ue.violate(Kind.SM_UNEXPECTED, f"modification of PDU session {psi}, which is none")
            self._status(psi, pti, messages.INVALID_IDENTITY)
            return
        if session.answered == hash(plain):
            ue.repeat("T3591")
        elif not self._addressed("modification", psi, pti):
            return
        session.answered = hash(plain)
        ambr = part(message, "session-ambr")
        if ambr:
            session.ambr = number(ambr, "dl-kbps") or 0, number(ambr, "ul-kbps") or 0
        _modify_rules(session, message)
        ue.send(messages.ul_nas_transport(psi, messages.modification_complete(psi, pti)))

    def _addressed(self, what: str, psi: int, pti: int) -> bool:
        """Whether a command has no PTI, or that of the request in progress (7.3.1)."""
        if pti == 0 or self.pending == (psi, pti):
            return True
        self._ue.violate(Kind.SM_IDENTITY, f"{what} of PDU session {psi} with PTI {pti} of nobody")
        self._status(psi, pti, messages.PTI_MISMATCH)
        return False

    def _status(self, psi: int, pti: int, cause: int) -> None:
        self._ue.send(messages.ul_nas_transport(psi, messages.gsm_status(psi, pti, cause)))


def _modify_rules(session: Session, message: Tree) -> None:
    """Take the QFIs of rules that are created or changed; the default one stays the first."""
    qfis = dict.fromkeys(session.qfis)
    for rule in items(message, "authorized-qos-rules"):
        qfi = number(rule, "qfi")
        if qfi is None or rule.get("op-code") == "delete":
            continue
        if rule.get("dqr") is True:
            qfis = dict.fromkeys((qfi, *qfis))
        qfis[qfi] = None
    session.qfis = tuple(qfis)
