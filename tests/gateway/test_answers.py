"""Answers to wrong PDUs of gNBs (TS 38.413 clause 10), from gNB to worker and back."""

import asyncio
import random
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

import wire
from eventing import subjects
from eventing.jetstream.connection import connected
from eventing.jetstream.streams import BusConfig
from functions.runtime.worker import Worker, WorkerConfig
from loadgen.gnb import messages
from loadgen.trees import Tree
from schemas.aggregates import gnb_aggregate
from schemas.procedures import Procedure
from tests.eventing import brokers
from tests.eventing.brokers import until
from tests.functions.gnb import ies_of
from tests.functions.world import HOME_KEYS, NETWORK
from tests.gateway.edge import PARTITIONS, Edge, Ran
from tests.gateway.test_uplink import AMF_ID, CIPHERED, request, suci
from tests.runtime.script import Script
from tests.runtime.store import Store, opened


@pytest.fixture
async def core(edge: Edge, tmp_path: Path) -> AsyncGenerator[Store]:
    """Run a worker for all procedures behind the gateway; return its store."""
    store = await opened(tmp_path, Script(1))
    config = WorkerConfig(
        tuple(Procedure), BusConfig(PARTITIONS, max_deliveries=1), NETWORK, HOME_KEYS, "test"
    )
    async with connected(edge.bus.url, "worker") as client:
        worker = Worker(config, client, store.log, store.subscribers)
        working = asyncio.ensure_future(worker.run())
        yield store
        worker.stop()
        await working
    await store.close()


@pytest.fixture
async def ran(edge: Edge, core: Store) -> Ran:
    """Return a gNB that the core has accepted."""
    del core
    made = await edge.ran()
    assert (await answer(made, messages.ng_setup_request(made.config)))[0] == "NGSetupResponse"
    return made


async def answer(ran: Ran, pdu: bytes) -> tuple[str, Tree]:
    """Return the message and the IEs of the answer to a PDU."""
    before = len(ran.heard.messages)
    ran.send(pdu)
    heard = await ran.heard.got(before + 1)
    tree = wire.ngap_decode(heard[before].payload)
    return tree["message"], ies_of(tree)


SYNTAX = {"protocol": "transfer-syntax-error"}
STATE = {"protocol": "message-not-compatible-with-receiver-state"}


@pytest.mark.parametrize("octets", [b"hello", b"\xff", b"\x00\x15\x00", bytes(60)])
async def test_octets_that_are_no_ngap(ran: Ran, edge: Edge, octets: bytes) -> None:
    assert await answer(ran, octets) == ("ErrorIndication", {"Cause": SYNTAX})
    early = await edge.ran()
    assert await answer(early, octets) == ("ErrorIndication", {"Cause": SYNTAX})


async def test_a_message_before_ng_setup(core: Store, edge: Edge) -> None:
    del core
    ran = await edge.ran()
    for pdu in (ran.initial(request(suci())), messages.ng_reset(None, {"misc": "unspecified"})):
        message, ies = await answer(ran, pdu)
        assert (message, ies["Cause"]) == ("ErrorIndication", STATE)
    setup = messages.ng_setup_request(ran.config)
    assert (await answer(ran, setup))[0] == "NGSetupResponse", "and it is none the worse for it"


async def test_an_ng_setup_without_its_mandatory_ies(core: Store, edge: Edge) -> None:
    del core
    ran = await edge.ran()
    message, ies = await answer(ran, messages.encode("NGSetupRequest", {"RANNodeName": "x"}))
    assert message == "NGSetupFailure"
    assert ies["Cause"] == {"protocol": "abstract-syntax-error-reject"}
    assert ies["CriticalityDiagnostics"]["iEsCriticalityDiagnostics"]


async def test_an_ng_setup_that_cannot_be_served(core: Store, edge: Edge) -> None:
    del core
    ran = await edge.ran()
    ran.config = messages.GnbConfig("gnb", 1, plmn="999-99")
    message, ies = await answer(ran, messages.ng_setup_request(ran.config))
    assert (message, ies["Cause"]) == ("NGSetupFailure", {"misc": "unknown-PLMN-or-SNPN"})
    message, ies = await answer(ran, ran.initial(request(suci())))
    assert (message, ies["Cause"]) == ("ErrorIndication", STATE)


async def test_a_ue_that_nobody_knows(ran: Ran) -> None:
    message, ies = await answer(ran, ran.uplink(CIPHERED, AMF_ID, 7))
    assert message == "ErrorIndication"
    assert ies == {
        "AMF-UE-NGAP-ID": AMF_ID,
        "RAN-UE-NGAP-ID": 7,
        "Cause": {"radioNetwork": "unknown-local-UE-NGAP-ID"},
    }


async def test_a_ue_is_answered_on_its_way_in(ran: Ran) -> None:
    message, ies = await answer(ran, ran.initial(request(suci("A")), 3))
    assert (message, ies["RAN-UE-NGAP-ID"]) == ("DownlinkNASTransport", 3)
    nas: Any = wire.nas_decode(bytes.fromhex(ies["NAS-PDU"]))
    assert nas["message-type"] == "authentication-request"


async def test_whatever_a_gnb_sends_is_taken_and_the_core_goes_on(
    ran: Ran, edge: Edge, core: Store
) -> None:
    """Each message gets a step, there is no dead letter, and correct gNBs are still served.

    An association is one RAN node, so each NG SETUP REQUEST has its own: it may name any node.
    """
    rng = random.Random(2)
    whole = [
        ran.initial(request(suci()), 50),
        ran.uplink(CIPHERED, AMF_ID, 51),
        messages.ran_configuration_update(ran.config),
        messages.ng_reset([(AMF_ID, 1)], {"misc": "unspecified"}),
    ]

    def garbled(pdu: bytes) -> bytes:
        octets = bytearray(pdu)
        for _ in range(rng.randint(1, 4)):
            octets[rng.randrange(len(octets))] = rng.randrange(256)
        return bytes(octets)

    for _ in range(320):
        ran.send(garbled(rng.choice(whole)))
    for _ in range(80):
        newcomer = await edge.ran()
        newcomer.send(garbled(messages.ng_setup_request(newcomer.config)))
    await edge.got(401)

    async def all_taken() -> bool:
        return not await brokers.events(edge.core)

    await until(all_taken)
    assert await brokers.stored(edge.core, subjects.DEAD_LETTERS) == []
    heads = await core.heads()
    assert heads[gnb_aggregate(ran.id)] > 100
    other = await edge.ran()
    assert (await answer(other, messages.ng_setup_request(other.config)))[0] == "NGSetupResponse"
    message, _ = await answer(other, other.initial(request(suci()), 9))
    assert message == "DownlinkNASTransport"
