"""Handovers, as the procedure of a UE: its gNBs do it all."""

from typing import TYPE_CHECKING

from loadgen.session_model import Tunnel
from loadgen.ue.model import NOT_REGISTERED, SKIPPED, Connection, Move, Procedure, Running
from loadgen.violation import Kind

if TYPE_CHECKING:
    from loadgen.ue.ue import Ue

_TUNNEL, _LATEST = "tunnel", "tunnels"
_LOOK = 0.1


class HandoverProcedure(Running):
    """Waits for the gNBs, and then for the UPFs to send downlink packets to the new tunnels."""

    def __init__(self, ue: "Ue", name: Procedure) -> None:
        super().__init__(ue)
        self.name = name
        self._moved = False

    def start(self, now: float) -> None:
        """Have the gNBs begin."""
        ue = self._ue
        if not ue.registered:
            ue.finish(NOT_REGISTERED, now)
        elif ue.connection is not Connection.CONNECTED:
            ue.finish(SKIPPED, now)
        else:
            ue.out.append(Move(self.name))

    def moved(self, cause: str | None, now: float) -> None:
        """The gNBs have done, or given up."""
        if self._moved:
            return
        self._moved = True
        if cause is not None:
            self._ue.finish(cause, now)
            return
        self._ue.start(_LATEST, self._ue.values.tunnel)
        self._look(now)

    def released(self, why: str, now: float) -> None:
        """The connection is gone."""
        self._ue.stop(_TUNNEL, _LATEST)
        self._ue.finish(why, now)

    def expired(self, timer: str, now: float) -> None:
        """Look again where downlink packets go, until it is too late."""
        if timer == _LATEST:
            self._ue.stop(_TUNNEL)
            wrong = self._wrong()
            if wrong:
                self._ue.violate(Kind.HANDOVER_TUNNEL, "; ".join(wrong))
            self._ue.finish(None, now)
        elif timer == _TUNNEL:
            self._look(now)

    def _look(self, now: float) -> None:
        ue = self._ue
        if self._wrong():
            ue.start(_TUNNEL, _LOOK)
        else:
            ue.stop(_LATEST)
            ue.finish(None, now)

    def _wrong(self) -> list[str]:
        """The sessions whose downlink packets do not go to the gNB, with where they go."""
        ue, found = self._ue, list[str]()
        for psi, resource in ue.user_plane.items():
            session = ue.sessions.live.get(psi)
            if session is None or not session.address:
                continue
            there = ue.downlink_tunnel(session.address)
            if isinstance(there, Tunnel) and there != resource.dl:
                found.append(f"PDU session {psi}: packets go to {there}, and not to {resource.dl}")
        return found
