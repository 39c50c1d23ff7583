"""The node procedures of the emulated UPF, and the scripted CP function of all UPF tests."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

import wire
from loadgen.upf.config import UpfConfig
from loadgen.upf.upf import Upf
from loadgen.upf.violation import PfcpKind
from tests.corpus import entries
from tests.eventing.brokers import until

Tree = dict[str, Any]
Ies = list[Tree]

CP = "127.0.0.1"
ACCEPTED = "Request accepted"
RETENTION = "PFCP Session Retention Information (within PFCP Association Setup Request)"
OCTETS = {entry.name: entry.octets for entry in entries("pfcp")}


class Cp(asyncio.DatagramProtocol):
    """A CP function that follows the script of a test."""

    def __init__(self) -> None:
        self.recovery = 3_900_000_000
        self.sequence = 0
        self.answers: asyncio.Queue[Tree] = asyncio.Queue()
        self.requests: asyncio.Queue[Tree] = asyncio.Queue()
        self.packets: asyncio.Queue[bytes] = asyncio.Queue()
        self.faults: list[str] = []
        """Syntax errors in the messages of the UPF."""
        self.reply: Callable[[Tree], Tree | None] = self.agree
        self.upf: tuple[str, int] = ("", 0)
        self.transport: asyncio.DatagramTransport | None = None

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(lambda: self, local_addr=(CP, 0))
        self.transport = transport

    @property
    def address(self) -> tuple[str, int]:
        assert self.transport is not None
        return cast("tuple[str, int]", self.transport.get_extra_info("sockname"))

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        self.packets.put_nowait(data)
        fault = wire.pfcp_check(data)
        if fault is not None:
            self.faults.append(fault["text"])
        tree = wire.pfcp_decode(data)
        if not wire.pfcp_peek(data).request:
            self.answers.put_nowait(tree)
            return
        self.requests.put_nowait(tree)
        answer = self.reply(tree)
        if answer is not None:
            self.send(wire.pfcp_encode(answer), cast("tuple[str, int]", addr))

    def send(self, data: bytes, address: tuple[str, int] | None = None) -> None:
        assert self.transport is not None
        self.transport.sendto(data, address or self.upf)

    def agree(self, request: Tree) -> Tree | None:
        """Accept a request of the UPF."""
        answer: Tree = {
            "message": request["message"].removesuffix("Request") + "Response",
            "sequence": request["sequence"],
        }
        match request["message"]:
            case "HeartbeatRequest":
                return answer | {"ies": [{"Recovery Time Stamp": self.recovery}]}
            case "AssociationSetupRequest":
                return answer | {"ies": [*node(ACCEPTED), {"Recovery Time Stamp": self.recovery}]}
            case "SessionReportRequest":
                return answer | {"seid": self.up_seid, "ies": [{"Cause": ACCEPTED}]}
            case _:
                return answer | {"ies": node(ACCEPTED)}

    up_seid = 0
    """The UPF's SEID of the session, for the answers to reports."""

    def next(self) -> int:
        self.sequence += 1
        return self.sequence

    async def ask(self, message: str, ies: Ies, seid: int | None = None) -> Tree:
        """Send a request and wait for its answer."""
        sequence = self.next()
        tree: Tree = {"message": message, "sequence": sequence, "ies": ies}
        if seid is not None:
            tree["seid"] = seid
        return await self.exchange(wire.pfcp_encode(tree), sequence)

    async def exchange(self, data: bytes, sequence: int) -> Tree:
        self.send(data)
        answer = await asyncio.wait_for(self.answers.get(), 2)
        assert answer["sequence"] == sequence
        return answer

    async def associate(self, *more: Tree) -> Tree:
        ies = [{"Node ID": {"ipv4": CP}}, {"Recovery Time Stamp": self.recovery}, *more]
        return await self.ask("AssociationSetupRequest", ies)

    async def establish(self, ies: Ies) -> Tree:
        answer = await self.ask("SessionEstablishmentRequest", ies, 0)
        if value(answer, "Cause") == ACCEPTED:
            self.up_seid = value(answer, "F-SEID")["seid"]
        return answer

    async def modify(self, *ies: Tree) -> Tree:
        return await self.ask("SessionModificationRequest", list(ies), self.up_seid)

    async def delete(self) -> Tree:
        return await self.ask("SessionDeletionRequest", [], self.up_seid)

    async def nothing(self) -> None:
        """Check that no message came: the next request is answered first."""
        answer = await self.ask("HeartbeatRequest", [{"Recovery Time Stamp": self.recovery}])
        assert answer["message"] == "HeartbeatResponse"


def node(cause: str) -> Ies:
    return [{"Node ID": {"ipv4": CP}}, {"Cause": cause}]


def value(tree: Tree, name: str) -> Any:
    return next((ie[name] for ie in tree["ies"] if name in ie), None)


def cause_of(tree: Tree) -> Any:
    return value(tree, "Cause")


@asynccontextmanager
async def world(*, associated: bool = True, **more: Any) -> AsyncGenerator[tuple[Upf, Cp]]:
    """Run a UPF and a CP function, with an association."""
    cp = Cp()
    await cp.open()
    settings: dict[str, Any] = {
        "node_id": "upf1.example.org",
        "port": 0,
        "t1": 0.1,
        "n1": 3,
        "retry": 0.05,
    } | more
    callbacks = {name: settings.pop(name) for name in list(settings) if name.startswith("on_")}
    if settings.get("cp") is True:
        settings["cp"] = cp.address
    upf = Upf(UpfConfig(**settings), **callbacks)
    await upf.start()
    cp.upf = upf.address
    try:
        if associated:
            assert cause_of(await cp.associate()) == ACCEPTED
        yield upf, cp
    finally:
        upf.close()
        assert cp.transport is not None
        cp.transport.close()
    assert cp.faults == []


def pdr_ul(**more: Any) -> Tree:
    given: Tree = {
        "id": 1,
        "pdi": [
            {"Source Interface": "Access"},
            {"F-TEID": {"choose": ["V4"], "choose_id": 1}},
            {"Network Instance": "\x08internet"},
        ],
        "removal": [{"Outer Header Removal": {"description": "GTP-U/UDP/IPv4"}}],
        "rest": [{"FAR ID": 1}, {"QER ID": 1}],
    }
    given |= more
    head = [{"PDR ID": given["id"]}, {"Precedence": 255}, {"PDI": given["pdi"]}]
    return {"Create PDR": [*head, *given["removal"], *given["rest"]]}


def pdr_dl(ue: str = "10.45.0.1", **more: Any) -> Tree:
    family = "ipv6" if ":" in ue else "ipv4"
    given: Tree = {
        "id": 2,
        "pdi": [
            {"Source Interface": "Core"},
            {"Network Instance": "\x08internet"},
            {"UE IP Address": {family: ue, "destination": True}},
        ],
        "removal": [],
        "rest": [{"FAR ID": 2}, {"QER ID": 1}],
    }
    given |= more
    return pdr_ul(**given)


def far_ul(**more: Any) -> Tree:
    given: Tree = {
        "id": 1,
        "action": ["FORW"],
        "rest": [
            {
                "Forwarding Parameters": [
                    {"Destination Interface": "Core"},
                    {"Network Instance": "\x08internet"},
                ]
            }
        ],
    }
    given |= more
    return {
        "Create FAR": [{"FAR ID": given["id"]}, {"Apply Action": given["action"]}, *given["rest"]]
    }


def far_dl(**more: Any) -> Tree:
    return far_ul(**{"id": 2, "action": ["BUFF", "NOCP"], "rest": []} | more)


GNB = {"description": ["GTP-U/UDP/IPv4"], "teid": 5, "ipv4": "192.0.2.1"}


def to_gnb(**more: Any) -> Ies:
    return [
        {
            "Forwarding Parameters": [
                {"Destination Interface": "Access"},
                {"Outer Header Creation": GNB | more},
            ]
        }
    ]


def qer(number: int = 1, qfi: int = 9, **more: Any) -> Tree:
    given: Tree = {
        "gate": [{"Gate Status": {"uplink": "OPEN", "downlink": "OPEN"}}],
        "mbr": [{"MBR": {"uplink": 1000, "downlink": 2000}}],
    }
    given |= more
    return {"Create QER": [{"QER ID": number}, *given["gate"], *given["mbr"], {"QFI": qfi}]}


def session(ue: str = "10.45.0.1", seid: int = 1, rules: Ies | None = None, *more: Tree) -> Ies:
    """Return a session of a UE that is not connected: uplink forwarded, downlink buffered."""
    if rules is None:
        rules = [pdr_ul(), pdr_dl(ue), far_ul(), far_dl(), qer()]
    head: Ies = [{"Node ID": {"ipv4": CP}}, {"F-SEID": {"seid": seid, "ipv4": CP}}]
    return [*head, *rules, {"User ID": {"supi": f"imsi-00101{seid:010}"}}, *more]


FORWARD: Tree = {
    "Update FAR": [
        {"FAR ID": 2},
        {"Apply Action": ["FORW"]},
        {
            "Update Forwarding Parameters": [
                {"Destination Interface": "Access"},
                {"Outer Header Creation": GNB},
            ]
        },
    ]
}
BUFFER: Tree = {"Update FAR": [{"FAR ID": 2}, {"Apply Action": ["BUFF", "NOCP"]}]}


# association setup


async def test_the_cp_function_sets_up_an_association() -> None:
    async with world(associated=False) as (upf, cp):
        answer = await cp.associate({"CP Function Features": ["LOAD"]})
        assert cause_of(answer) == ACCEPTED
        assert value(answer, "Node ID") == {"fqdn": "upf1.example.org"}
        assert "FTUP" in value(answer, "UP Function Features")
        assert value(answer, "Recovery Time Stamp") == upf.recovery
        found = upf.associations[CP]
        assert (found.address, found.features) == (cp.address, ("LOAD",))


async def test_the_up_function_sets_up_an_association() -> None:
    async with world(associated=False, cp=True, node_id="127.0.0.8") as (upf, cp):
        await asyncio.wait_for(upf.associated(), 2)
        request = cp.requests.get_nowait()
        assert request["message"] == "AssociationSetupRequest"
        assert value(request, "Node ID") == {"ipv4": "127.0.0.8"}
        assert list(upf.associations) == [CP]


async def test_it_tries_until_the_cp_function_accepts() -> None:
    events: list[str] = []
    async with world(
        associated=False, t1=0.03, n1=2, on_event=lambda name, _: events.append(name)
    ) as (upf, cp):
        refusals = 2

        def reply(request: Tree) -> Tree | None:
            nonlocal refusals
            refusals -= 1
            if refusals == 1:
                return None
            answer = cp.agree(request)
            assert answer is not None
            return answer if refusals < -1 else answer | {"ies": node("System failure")}

        cp.reply = reply
        upf.associate(cp.address)
        await asyncio.wait_for(upf.associated(), 2)
        assert events[-2:] == ["not-associated", "associated"]
        assert upf.counts.sent["AssociationSetupRequest"] >= 2


async def test_setting_up_again_deletes_sessions_unless_they_are_retained() -> None:
    async with world() as (upf, cp):
        await cp.establish(session())
        answer = await cp.associate({RETENTION: []})
        assert value(answer, "PFCPASRsp-Flags") == ["PSREI"]
        assert upf.session_count == 1
        await cp.associate({RETENTION: [{"CP PFCP Entity IP Address": {"ipv4": CP}}]})
        assert upf.session_count == 1
        answer = await cp.associate()
        assert value(answer, "PFCPASRsp-Flags") is None
        assert (upf.session_count, upf.rules_left) == (0, 0)


async def test_association_update_and_release() -> None:
    async with world() as (upf, cp):
        await cp.establish(session())
        ies: Ies = [{"Node ID": {"ipv4": CP}}]
        assert cause_of(await cp.ask("AssociationUpdateRequest", ies)) == ACCEPTED
        assert cause_of(await cp.ask("AssociationReleaseRequest", ies)) == ACCEPTED
        assert (upf.associations, upf.rules_left) == ({}, 0)
        again = await cp.ask("AssociationReleaseRequest", ies)
        assert cause_of(again) == "No established PFCP Association"
        assert upf.counts.causes == {"AssociationReleaseResponse 72": 1}


async def test_it_asks_to_be_released() -> None:
    async with world() as (upf, cp):
        upf.want_release(CP)
        request = await asyncio.wait_for(cp.requests.get(), 2)
        assert request["message"] == "AssociationUpdateRequest"
        assert value(request, "PFCP Association Release Request") == ["SARR"]
        with pytest.raises(KeyError):
            upf.want_release("10.9.9.9")


# heartbeats


async def test_heartbeats_of_anyone_are_answered() -> None:
    async with world(associated=False) as (upf, cp):
        answer = await cp.ask("HeartbeatRequest", [{"Recovery Time Stamp": 1}])
        assert value(answer, "Recovery Time Stamp") == upf.recovery


async def test_a_cp_function_that_restarted_is_found_by_its_heartbeat() -> None:
    async with world() as (upf, cp):
        await cp.establish(session())
        await cp.ask("HeartbeatRequest", [{"Recovery Time Stamp": cp.recovery - 1}])
        assert upf.session_count == 1
        await cp.ask("HeartbeatRequest", [{"Recovery Time Stamp": cp.recovery + 1}])
        assert (upf.session_count, upf.associations) == (0, {})


async def test_it_sends_heartbeats() -> None:
    events: list[str] = []
    async with world(
        heartbeat=0.03, t1=0.03, n1=2, on_event=lambda name, _: events.append(name)
    ) as (upf, cp):
        request = await asyncio.wait_for(cp.requests.get(), 2)
        assert request["ies"] == [{"Recovery Time Stamp": upf.recovery}]
        cp.reply = lambda _: None
        await until(lambda: "peer-lost" in events)
        assert not upf.associations[CP].alive
        cp.reply = cp.agree
        await until(lambda: "peer-back" in events)
        cp.recovery += 1
        await until(lambda: "peer-restarted" in events)
        assert upf.associations == {}


# reliable delivery


async def test_a_request_that_comes_again_gets_the_same_answer() -> None:
    async with world() as (upf, cp):
        tree: Tree = {"message": "SessionEstablishmentRequest", "seid": 0, "sequence": 77}
        data = wire.pfcp_encode(tree | {"ies": session()})
        first = await cp.exchange(data, 77)
        assert await cp.exchange(data, 77) == first
        assert (upf.session_count, upf.counts.duplicates) == (1, 1)


async def test_a_sequence_number_of_another_request_is_no_duplicate() -> None:
    async with world() as (upf, cp):
        for seid, ue in ((1, "10.45.0.1"), (2, "10.45.0.2")):
            tree: Tree = {"message": "SessionEstablishmentRequest", "seid": 0, "sequence": 7}
            data = wire.pfcp_encode(tree | {"ies": session(ue, seid)})
            assert cause_of(await cp.exchange(data, 7)) == ACCEPTED
        assert (upf.session_count, upf.counts.duplicates) == (2, 0)


async def test_its_requests_are_sent_again_with_the_same_octets() -> None:
    async with world(t1=0.03, n1=3) as (upf, cp):
        cp.reply = lambda _: None
        await cp.establish(session())
        while not cp.packets.empty():
            cp.packets.get_nowait()
        upf.downlink_data("10.45.0.1")
        sent = [await asyncio.wait_for(cp.packets.get(), 2) for _ in range(3)]
        assert sent[0] == sent[1] == sent[2]
        await until(lambda: upf.counts.unanswered == 1)


# bad input


async def test_a_message_of_another_version() -> None:
    async with world() as (_, cp):
        answer = await cp.exchange(b"\x40" + OCTETS["heartbeat-request"][1:], 1)
        assert answer["message"] == "VersionNotSupportedResponse"


@pytest.mark.parametrize(
    ("name", "cause", "offending"),
    [
        ("upf-956-association-setup-without-recovery-time-stamp", "Mandatory IE missing", 96),
        ("free5gc-794-release-request-without-node-id", "Mandatory IE missing", 60),
        ("upf-927-establishment-without-rules", "Mandatory IE missing", 1),
        ("upf-957-establishment-without-f-seid", "Mandatory IE missing", 57),
    ],
)
async def test_a_mandatory_ie_is_missing(name: str, cause: str, offending: int) -> None:
    async with world() as (upf, cp):
        data = OCTETS[name]
        answer = await cp.exchange(data, wire.pfcp_peek(data).sequence)
        assert (cause_of(answer), value(answer, "Offending IE")) == (cause, offending)
        assert [one.kind for one in upf.violations] == [PfcpKind.SYNTAX]
        assert upf.violations[0].clause == "TS 29.244 7.6"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x20",
        b"nonsense, and a lot of it",
        OCTETS["heartbeat-request"][:7],
        OCTETS["unknown-message"],
        OCTETS["session-message-without-seid"],
        OCTETS["eupf-629-heartbeat-without-recovery-time-stamp"],
        OCTETS["session-establishment-response"],
        OCTETS["free5gc-815-establishment-response-without-cause"],
        OCTETS["session-report-request-downlink-data"],
        OCTETS["node-report-request"],
    ],
)
async def test_what_is_not_answered(data: bytes) -> None:
    async with world() as (_, cp):
        cp.send(data)
        await cp.nothing()


async def test_requests_that_a_up_function_gets_and_does_not_support() -> None:
    async with world() as (upf, cp):
        data = OCTETS["pfd-management-request"]
        answer = await cp.exchange(data, 1)
        assert cause_of(answer) == "Service not supported"
        cp.send(OCTETS["session-report-request-downlink-data"])
        await cp.nothing()
        assert [one.kind for one in upf.violations] == [PfcpKind.UNEXPECTED] * 2


async def test_messages_that_follow_on() -> None:
    async with world() as (_, cp):
        first = wire.pfcp_encode(
            {"message": "HeartbeatRequest", "sequence": 1, "ies": [{"Recovery Time Stamp": 1}]}
        )
        second = wire.pfcp_encode(
            {"message": "HeartbeatRequest", "sequence": 2, "ies": [{"Recovery Time Stamp": 1}]}
        )
        cp.send(bytes([first[0] | 4]) + first[1:] + second)
        got = [(await asyncio.wait_for(cp.answers.get(), 2))["sequence"] for _ in range(2)]
        assert got == [1, 2]


async def test_two_upfs_in_one_process() -> None:
    async with (
        world(node_id="upf1") as (one, cp1),
        world(node_id="upf2", host="127.0.0.2") as (two, cp2),
    ):
        await cp1.establish(session())
        answer = await cp2.establish(session())
        assert value(answer, "F-SEID")["ipv4"] == "127.0.0.2"
        assert (one.session_count, two.session_count) == (1, 1)


# restart and silence


async def test_restart() -> None:
    async with world() as (upf, cp):
        answer = await cp.establish(session())
        teid = next(iter(upf.sessions.values())).uplink
        before = upf.recovery
        upf.restart()
        assert (upf.rules_left, upf.associations) == (0, {})
        assert upf.recovery > before
        answer = await cp.modify(FORWARD)
        assert (cause_of(answer), answer["seid"]) == ("No established PFCP Association", 0)
        await cp.associate()
        answer = await cp.modify(FORWARD)
        assert (cause_of(answer), answer["seid"]) == ("Session context not found", 0)
        await cp.establish(session())
        assert next(iter(upf.sessions.values())).uplink != teid


async def test_a_upf_that_restarted_associates_again() -> None:
    async with world(associated=False, cp=True) as (upf, cp):
        await asyncio.wait_for(upf.associated(), 2)
        upf.restart()
        assert upf.associations == {}
        await asyncio.wait_for(upf.associated(), 2)
        stamps = [value(cp.requests.get_nowait(), "Recovery Time Stamp") for _ in range(2)]
        assert stamps[1] == upf.recovery > stamps[0]


async def test_silence() -> None:
    async with world() as (upf, cp):
        upf.silence(True)
        tree = {"message": "HeartbeatRequest", "sequence": 99, "ies": [{"Recovery Time Stamp": 1}]}
        upf.endpoint.datagram_received(wire.pfcp_encode(tree), cp.address)
        upf.silence(False)
        await cp.nothing()
