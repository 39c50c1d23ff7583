"""The PDU sessions of a UE, and the addresses of all UEs of a run."""

from collections.abc import Mapping
from typing import NamedTuple

from loadgen.session_model import MAX_PSI, Resource, Session, SessionRecord
from loadgen.tolerated import InjectedFaults

_LAST_PTI = 254


class AddressHolder(NamedTuple):
    """A UE and its session with an address."""

    supi: str
    session: Session
    faults: InjectedFaults

    @property
    def is_misled(self) -> bool:
        """Whether a fault may have hidden the release of the session from the UE."""
        return self.faults.since(self.session.agreed)


class AddressRegistry:
    """The addresses that the UEs of a run have. No two sessions may have one at a time."""

    __slots__ = ("_holders",)

    def __init__(self) -> None:
        self._holders: dict[tuple[str, str], AddressHolder] = {}

    def take(self, holder: AddressHolder) -> AddressHolder | None:
        """Register the address of a session. Return another session that has it already."""
        key = _key(holder.session)
        other = self._holders.get(key)
        self._holders[key] = holder
        return None if other is None or other.session is holder.session else other

    def give_back(self, session: Session) -> None:
        """Remove the address of a session from the registry."""
        holder = self._holders.get(_key(session))
        if holder is not None and holder.session is session:
            del self._holders[_key(session)]


def _key(session: Session) -> tuple[str, str]:
    return session.dnn, session.address


class Sessions:
    """The PDU sessions of a UE and its 5GSM request in progress (TS 24.501 clause 6)."""

    __slots__ = ("_faults", "_pti", "_registry", "_supi", "live", "pending", "released", "touched")

    def __init__(self, supi: str, registry: AddressRegistry, faults: InjectedFaults) -> None:
        self._supi, self._registry, self._faults = supi, registry, faults
        self.live: dict[int, Session] = {}
        """The active sessions by PSI, in the order of their establishment."""
        self.pending: tuple[int, int] | None = None
        """PSI and PTI of the request without an answer."""
        self.touched = False
        """Whether the UE requested a session since it registered: the network may have one."""
        self.released: tuple[int, int] | None = None
        """The PSI of the session released last, and the digest of the command."""
        self._pti = 0

    def request(self, psi: int) -> int:
        """Start a request for a session. Return its PTI, 1 to 254 (TS 24.007 11.2.3.1a)."""
        self.touched = True
        self._pti = self._pti % _LAST_PTI + 1
        self.pending = psi, self._pti
        return self._pti

    def free_psi(self) -> int | None:
        """Return the first PDU session identity that is not in use."""
        return next((n for n in range(1, MAX_PSI + 1) if n not in self.live), None)

    def add(self, session: Session, now: float) -> AddressHolder | None:
        """Add an established session. Return another session that has its address already."""
        self.live[session.psi] = session
        session.agreed = now
        if not session.address or session.session_type == "ipv6":
            # An interface identifier is unique only on its link.
            return None
        return self._registry.take(AddressHolder(self._supi, session, self._faults))

    def give_back(self, psi: int) -> None:
        """Give back the address of a session before the UE requests its release."""
        session = self.live.get(psi)
        if session is not None:
            self._registry.give_back(session)

    def remove(self, psi: int) -> None:
        """Remove a released session."""
        self.give_back(psi)
        self.live.pop(psi, None)

    def clear(self) -> None:
        """Release all sessions locally: the UE is deregistered (6.1.3.2)."""
        for psi in list(self.live):
            self.remove(psi)
        self.pending = self.released = None
        self.touched = False

    def expects(self, psi: int) -> bool:
        """Whether the gNB may set up resources of this session."""
        return psi in self.live or (self.pending is not None and self.pending[0] == psi)

    def was_released(self, psi: int) -> bool:
        """Whether this session was released last: its command may be repeated."""
        return self.released is not None and self.released[0] == psi

    def records(self, user_plane: Mapping[int, Resource]) -> list[SessionRecord]:
        """Return the sessions for a comparison with the UPF."""
        return [
            SessionRecord(
                supi=self._supi,
                psi=psi,
                dnn=one.dnn,
                address=one.address,
                qfi=next(iter(one.qfis), 0),
                active=psi in user_plane,
                ul=one.ul,
                dl=user_plane[psi].dl if psi in user_plane else None,
            )
            for psi, one in self.live.items()
        ]
