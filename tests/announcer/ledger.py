"""The state of the core as a subscriber builds it from domain events only."""

from functions.announcer.ue_facts import authenticated
from schemas.ue.state import Ue
from tests.announcer.told import Told


class Ledger:
    """The registered UEs, their places and sessions. It refuses an event that cannot follow."""

    def __init__(self) -> None:
        self.registered: set[str] = set()
        self.place: dict[str, str] = {}
        self.sessions: dict[str, set[str]] = {}
        self.ended: set[str] = set()

    def note(self, one: Told) -> None:
        """Apply the next event."""
        group = one.name.partition(".")[0]
        if group == "session":
            self._session(one)
        elif group == "ue":
            self._registration(one)
            self._connection(one)

    def _registration(self, one: Told) -> None:
        about = one.event.aggregate
        match one.name:
            case "ue.registered":
                assert about not in self.registered
                self.registered.add(about)
            case "ue.registration-updated":
                assert about in self.registered
            case "ue.deregistered":
                self.registered.remove(about)
            case _:
                pass

    def _connection(self, one: Told) -> None:
        about, data = one.event.aggregate, one.data
        match one.name:
            case "ue.connected":
                assert about not in self.place
                self.place[about] = data["location"]["gnb"]
            case "ue.moved":
                assert self.place[about] == data["source"]["gnb"] != data["target"]["gnb"]
                self.place[about] = data["target"]["gnb"]
            case "ue.idle":
                assert self.place.pop(about) == data["location"]["gnb"]
            case _:
                pass

    def _session(self, one: Told) -> None:
        about, data = one.event.aggregate, one.data
        mine, name = self.sessions.setdefault(about, set()), data.get("session", "")
        match one.name:
            case "session.established":
                assert name not in mine | self.ended
                mine.add(name)
            case "session.modified":
                assert name in mine
            case "session.released":
                assert name not in self.ended
                assert data["reason"]
                self.ended.add(name)
                mine.discard(name)
            case _:
                pass

    def agrees(self, about: str, ue: Ue) -> bool:
        """Whether it agrees with the state of a UE."""
        here = authenticated(ue)
        up = {f"{s.n4.seid:016x}" for s in ue.sessions if s.stage in ("active", "modifying")}
        there = {f"{s.n4.seid:016x}" for s in ue.sessions if s.stage != "released"}
        return (
            (about in self.registered) == ue.registered
            and self.place.get(about) == (None if here is None else here.gnb)
            and up <= self.sessions.get(about, set()) <= there
        )
