"""A handover as a procedure of the UE: its gNBs do the work."""

from loadgen.session_model import Tunnel
from loadgen.ue.base import Running, UeBase
from loadgen.ue.model import NOT_REGISTERED, SKIPPED, Connection, Move, Procedure
from loadgen.violation import Kind

_TUNNEL, _LATEST = "tunnel", "tunnels"
_POLL = 0.1


class HandoverProcedure(Running):
    """Waits for the gNBs, then for the UPFs to send downlink packets to the new tunnels."""

    def __init__(self, ue: UeBase, name: Procedure) -> None:
        super().__init__(ue)
        self.name = name
        self._moved = False

    def start(self, now: float) -> None:
        """Make the gNBs start the handover."""
        ue = self._ue
        if not ue.registered:
            ue.finish(NOT_REGISTERED, now)
        elif ue.connection is not Connection.CONNECTED:
            ue.finish(SKIPPED, now)
        else:
            ue.out.append(Move(self.name))

    def moved(self, cause: str | None, now: float) -> None:
        """Handle the end of the handover: check the downlink tunnels."""
        if self._moved:
            return
        self._moved = True
        if cause is not None:
            self._ue.finish(cause, now)
            return
        self._ue.start(_LATEST, self._ue.values.tunnel)
        self._poll(now)

    def released(self, why: str, now: float) -> None:
        """Fail: the connection was released."""
        self._ue.stop(_TUNNEL, _LATEST)
        self._ue.finish(why, now)

    def expired(self, timer: str, now: float) -> None:
        """Poll the downlink tunnels again, or report wrong ones at the latest time."""
        if timer == _LATEST:
            self._ue.stop(_TUNNEL)
            wrong = self._wrong_tunnels()
            if wrong:
                self._ue.violate(Kind.HANDOVER_TUNNEL, "; ".join(wrong))
            self._ue.finish(None, now)
        elif timer == _TUNNEL:
            self._poll(now)

    def _poll(self, now: float) -> None:
        ue = self._ue
        if self._wrong_tunnels():
            ue.start(_TUNNEL, _POLL)
        else:
            ue.stop(_LATEST)
            ue.finish(None, now)

    def _wrong_tunnels(self) -> list[str]:
        """Return a sentence for each session with downlink packets to another tunnel."""
        ue, found = self._ue, list[str]()
        for psi, resource in ue.user_plane.items():
            session = ue.sessions.live.get(psi)
            if session is None or not session.address:
                continue
            there = ue.downlink_tunnel(session.address)
            if isinstance(there, Tunnel) and there != resource.dl:
                found.append(f"PDU session {psi}: packets go to {there}, not to {resource.dl}")
        return found
