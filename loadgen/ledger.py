"""Which UE of a run has which address."""

from typing import NamedTuple

from loadgen.excuses import Disturbance
from loadgen.session_model import Session


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
