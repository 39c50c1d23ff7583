"""UPFs of a `World`: the rule tables of loadgen's emulator, which refuse invalid rules."""

import hashlib
from random import Random
from typing import Any

import wire
from loadgen.upf.ies import FSeid, tree_in
from loadgen.upf.messages import (
    association_setup_response,
    downlink_data_report,
    established,
    heartbeat,
    session_done,
    session_refused,
)
from loadgen.upf.sessions import PfcpSession, PfcpSessions
from schemas.identity import index_seid
from tests.functions.world import OTHER_UPF, UPF, World


class Upfs:
    """Responds to `world.pfcp` with the tables of two UPFs; any fault fails the test."""

    def __init__(self, world: World, *, ftup: bool = True) -> None:
        self.world = world
        self.tables = {
            name: PfcpSessions(f"10.3.0.{index}", None, Random(index), ftup=ftup)
            for index, name in enumerate((UPF, OTHER_UPF), 1)
        }
        self.asked: list[str] = []
        self.answered = b""
        """The last response."""
        self.features = ("FTUP",) if ftup else ()
        self.recovery = 3_900_000_000
        self.silent = False
        self.full = False
        """Whether they refuse sessions because they have no resources."""
        self.refuse: dict[str, int] = {}
        """How many of the next messages of a name they refuse."""
        self.refused: set[bytes] = set()
        self.associated = True
        self.keeps = False
        """Whether they keep their sessions at a new association."""
        self.needs_choice = False
        """Whether they refuse F-TEIDs that they had allocated before."""
        self.known = dict.fromkeys(self.tables, self.recovery)
        """The Recovery Time Stamp of each that its gateway knows."""
        self._ftup = ftup

    @property
    def rules(self) -> int:
        return sum(table.rules for table in self.tables.values())

    def session(self, address: str) -> tuple[str, PfcpSession]:
        for name, table in self.tables.items():
            found = table.find(address)
            if found is not None:
                return name, found[1]
        raise KeyError(address)

    def restart(self, seconds: int = 1, *, other: int = 0) -> None:
        """Restart both: they lose all sessions. They allocate the same SEIDs and TEIDs again, to
        other sessions; or others if `other` is not 0."""
        self.recovery += seconds
        self.associated = False
        self.refused.clear()
        for index, name in enumerate(self.tables, 1):
            address = f"10.3.0.{index}"
            self.tables[name] = PfcpSessions(address, None, Random(index + other), ftup=self._ftup)
            self.tables[name]._next_seid()  # pyright: ignore[reportPrivateUsage] - the second's

    def heartbeat(self) -> None:
        """Let the gateway see the Recovery Time Stamp."""
        self.known = dict.fromkeys(self.tables, self.recovery)
        for name in self.tables:
            self.world.path("up", name, self.recovery)

    def serve(self) -> None:
        """Respond until there are no more requests, unless they are silent."""
        while self.world.pfcp and not self.silent:
            self.answer(*self.world.pfcp.popleft())

    def answer(self, upf: str, key: str, number: int | None, pdu: bytes) -> None:
        tree = wire.pfcp_decode(pdu)
        assert wire.pfcp_check(pdu) is None, tree
        self.asked.append(tree["message"])
        if number is None:
            return
        incarnation = self.world.incarnations.get((key, number), 0)
        if tree["message"].startswith("Session") and 0 < incarnation < self.known[upf]:
            self.world.ended(upf, key, number, pdu, self.known[upf])  # the gateway does not send it
            return
        answer = self._do(upf, tree, pdu)
        at_upf = self.tables[upf].by_seid.get(tree.get("seid", 0))
        if at_upf is not None and key.startswith("seid-"):
            assert key == index_seid(at_upf.cp.number), "a request hits another UE's session"
        self.answered = wire.pfcp_encode({"sequence": 0, **answer})
        self.world.answer_pfcp(answer, upf, key, number)

    def _do(self, upf: str, tree: dict[str, Any], pdu: bytes) -> dict[str, Any]:
        table, message = self.tables[upf], tree["message"]
        if not message.startswith("Session"):
            return self._node(upf, message)
        own = FSeid.of(tree_in(tree["ies"], "F-SEID"))
        session = table.by_seid.get(tree["seid"])
        cause = self._refusal(table, tree, pdu)
        if cause:
            seid = own.number if own is not None else session.cp.number if session else 0
            return session_refused(message, seid, 0, upf, cause)
        if own is not None:
            digest = hashlib.blake2b(pdu[16:]).digest()
            outcome = table.establish(tree["ies"], digest, "cp", "test")
            assert not outcome.faults, outcome.faults
            assert outcome.session is not None
            up = FSeid(outcome.session.seid, "10.9.0.1", None)
            return established(own.number, 0, upf, up, outcome.created)
        assert session is not None
        if message == "SessionDeletionRequest":
            table.delete(session)
        else:
            changed = table.modify(session, tree["ies"], 0.0)
            assert not changed.faults, changed.faults
        return session_done(message, session.cp.number, 0)

    def _refusal(self, table: PfcpSessions, tree: dict[str, Any], pdu: bytes) -> int:
        """Return the cause of the refusal of a session request, 0 if it is not refused."""
        message, ies = tree["message"], tree["ies"]
        own = FSeid.of(tree_in(ies, "F-SEID"))
        if not self.associated:
            return 72
        again = pdu in self.refused  # a repeated request has the same response (6.4)
        known = own is not None or tree["seid"] in table.by_seid
        if known and (again or self.refuse.get(message, 0)):
            if not again:
                self.refuse[message] -= 1
                self.refused.add(pdu)
            return 69
        if own is None:
            return 0 if known else 65
        restores = any("PFCPSEReq-Flags" in ie for ie in ies)
        if restores and (self.needs_choice or (self.keeps and own in table.by_cp)):
            return 73
        return 75 if self.full else 0

    def _node(self, upf: str, message: str) -> dict[str, Any]:
        self.known[upf] = self.recovery
        if message == "HeartbeatRequest":
            return heartbeat("HeartbeatResponse", 0, self.recovery)
        assert message == "AssociationSetupRequest"
        table = self.tables[upf]
        if self.associated and not self.keeps:
            for session in list(table.by_seid.values()):
                table.delete(session)
        self.associated = True
        return association_setup_response(0, upf, self.recovery, self.features, retained=False)

    def report(self, name: str, seid: int, pdr: int = 2) -> None:
        """Report packets of a PDR of a session as downlink data."""
        self.world.answer_pfcp(downlink_data_report(seid, 77, pdr, None), name)

    def downlink_data(self, address: str) -> None:
        """Report downlink packets for a UE, and process the response."""
        name, session = self.session(address)
        self.report(name, session.cp.number)
        upf, _, number, pdu = self.world.pfcp.popleft()
        assert (upf, number) == (name, None)
        self.check_report_answer(pdu, session)

    def check_report_answer(self, pdu: bytes, session: PfcpSession) -> None:
        """Check that a PDU is the answer that accepts the report of a session."""
        answer = wire.pfcp_decode(pdu)
        assert (answer["message"], answer["sequence"]) == ("SessionReportResponse", 77)
        assert answer["seid"] == session.seid
        assert {"Cause": "Request accepted"} in answer["ies"]
