"""A minimal UPF. It keeps the SEIDs of its sessions, and answers correctly."""

from typing import Any, Final

import wire
from functions.messages.pfcp import ies_of, node_id

Tree = dict[str, Any]

ACCEPTED: Final = 1
NOT_FOUND, NO_RESOURCES = 65, 75
"""Causes of TS 29.244 8.2.1."""

Request = tuple[str, str, int | None, bytes]
"""Node ID, key of the answer, number of the request, PDU: an item of `World.pfcp`."""


class SmallUpf:
    """All UPFs of a core. `sessions` maps Node ID and SEID of the UPF to the SEID of the core."""

    ADDRESS: Final = "10.3.0.1"

    def __init__(self) -> None:
        self.sessions: dict[tuple[str, int], int] = {}
        self.made = 0
        self.recovery = 3_900_000_000

    def fork(self) -> "SmallUpf":
        """Return a copy."""
        made = SmallUpf()
        made.sessions, made.made, made.recovery = dict(self.sessions), self.made, self.recovery
        return made

    def answer(self, asked: Request, cause: int = 0) -> Tree | None:
        """Return the answer to a request. A `cause` other than 0 refuses the request."""
        upf, _, number, pdu = asked
        peek = wire.pfcp_peek(pdu)
        message, seid = peek.message, peek.seid or 0
        if not message.endswith("Request"):
            return None
        if not message.startswith("Session"):
            return self._node(upf, message)
        if message == "SessionEstablishmentRequest":
            return self._establish(asked, cause)
        core = self.sessions.get((upf, seid))
        if core is None:
            return None if number is None else _session(message, 0, NOT_FOUND)
        if message == "SessionDeletionRequest":
            del self.sessions[upf, seid]  # deleted for every cause
        return _session(message, core, cause or ACCEPTED)

    def _node(self, upf: str, message: str) -> Tree:
        ies: list[Tree] = [{"Node ID": node_id(upf)}, {"Cause": ACCEPTED}]
        if message == "AssociationSetupRequest":
            ies += [{"Recovery Time Stamp": self.recovery}, {"UP Function Features": ["FTUP"]}]
        elif message == "HeartbeatRequest":
            ies = [{"Recovery Time Stamp": self.recovery}]
        return {"message": _answer_to(message), "ies": ies}

    def _establish(self, asked: Request, cause: int) -> Tree:
        upf, _, _, pdu = asked
        core = ies_of(wire.pfcp_decode(pdu)["ies"])["F-SEID"]["seid"]
        head: Tree = {"Node ID": node_id(upf)}
        if cause:
            return _session("SessionEstablishmentRequest", core, cause, head)
        # The same request again gets the same session (TS 29.244 6.4).
        there = [up for (at, up), other in self.sessions.items() if (at, other) == (upf, core)]
        if not there:
            self.made += 1
        up = there[0] if there else self.made
        self.sessions[upf, up] = core
        own = {"seid": up, "ipv4": self.ADDRESS}
        created = [{"PDR ID": 1}, {"F-TEID": {"teid": 1000 + up, "ipv4": self.ADDRESS}}]
        more: list[Tree] = [{"F-SEID": own}, {"Created PDR": created}]
        return _session("SessionEstablishmentRequest", core, ACCEPTED, head, *more)

    def restart(self, upf: str) -> None:
        """Delete all sessions of one UPF."""
        self.recovery += 1
        self.sessions = {at: core for at, core in self.sessions.items() if at[0] != upf}

    @staticmethod
    def report(seid: int) -> Tree:
        """Return a report of downlink packets of a session (TS 29.244 7.5.8.2)."""
        ies: list[Tree] = [
            {"Report Type": ["DLDR"]},
            {"Downlink Data Report": [{"PDR ID": 2}]},
        ]
        return {"message": "SessionReportRequest", "seid": seid, "sequence": 77, "ies": ies}


def _answer_to(request: str) -> str:
    return request.removesuffix("Request") + "Response"


def _session(request: str, seid: int, cause: int, *more: Tree) -> Tree:
    """Return the answer to a request about a session: Node ID, if there is one, then the cause."""
    first = [tree for tree in more if "Node ID" in tree]
    rest = [tree for tree in more if "Node ID" not in tree]
    return {"message": _answer_to(request), "seid": seid, "ies": [*first, {"Cause": cause}, *rest]}
