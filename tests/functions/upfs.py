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
    session_done,
    session_refused,
)
from loadgen.upf.sessions import PfcpSession, PfcpSessions
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

    @property
    def rules(self) -> int:
        return sum(table.rules for table in self.tables.values())

    def session(self, address: str) -> tuple[str, PfcpSession]:
        for name, table in self.tables.items():
            found = table.find(address)
            if found is not None:
                return name, found[1]
        raise KeyError(address)

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
        answer = self._do(upf, tree, pdu)
        self.answered = wire.pfcp_encode({"sequence": 0, **answer})
        self.world.answer_pfcp(answer, upf, key, number)

    def _do(self, upf: str, tree: dict[str, Any], pdu: bytes) -> dict[str, Any]:
        table, message = self.tables[upf], tree["message"]
        if message == "AssociationSetupRequest":
            return association_setup_response(0, upf, self.recovery, self.features, retained=False)
        own = FSeid.of(tree_in(tree["ies"], "F-SEID"))
        again = pdu in self.refused  # a repeated request has the same response (6.4)
        known = own is not None or tree["seid"] in table.by_seid
        if known and (again or self.refuse.get(message, 0)):
            if not again:
                self.refuse[message] -= 1
                self.refused.add(pdu)
            seid = own.number if own is not None else table.by_seid[tree["seid"]].cp.number
            return session_refused(message, seid, 0, upf, 69)
        if message == "SessionEstablishmentRequest" and self.full:
            assert own is not None
            return session_refused(message, own.number, 0, upf, 75)
        if message == "SessionEstablishmentRequest":
            digest = hashlib.blake2b(pdu[16:]).digest()
            outcome = table.establish(tree["ies"], digest, "cp", "test")
            assert not outcome.faults, outcome.faults
            assert outcome.session is not None
            up = FSeid(outcome.session.seid, "10.9.0.1", None)
            cp = FSeid.of(tree_in(tree["ies"], "F-SEID"))
            assert cp is not None
            return established(cp.number, 0, upf, up, outcome.created)
        session = table.by_seid.get(tree["seid"])
        if session is None:
            return session_refused(message, 0, 0, upf, 65)
        if message == "SessionDeletionRequest":
            table.delete(session)
        else:
            changed = table.modify(session, tree["ies"], 0.0)
            assert not changed.faults, changed.faults
        return session_done(message, session.cp.number, 0)

    def report(self, name: str, seid: int) -> None:
        """Report downlink packets of a session."""
        self.world.answer_pfcp(downlink_data_report(seid, 77, 2, None), name)

    def downlink_data(self, address: str) -> None:
        """Report downlink packets for a UE, and process the response."""
        name, session = self.session(address)
        self.report(name, session.cp.number)
        upf, _, number, pdu = self.world.pfcp.popleft()
        answer = wire.pfcp_decode(pdu)
        assert (upf, number) == (name, None)
        assert (answer["message"], answer["sequence"]) == ("SessionReportResponse", 77)
        assert answer["seid"] == session.seid
        assert {"Cause": "Request accepted"} in answer["ies"]
