"""From PDU to CloudEvent: subject, key, slot, procedure and sequence; no PDU is dropped."""

import random
from pathlib import Path
from typing import Any

import pytest

import wire
from gateway.n2.gateway import MAX_PDU
from loadgen.gnb import messages
from schemas.cloudevents import NGAP_MEDIA_TYPE, CloudEvent, EventType, order_of
from schemas.identity import (
    index_ngap,
    index_tmsi,
    make_amf_ue_ngap_id,
    make_tmsi_plaintext,
    partition_of,
    slot_of,
)
from schemas.procedures import Procedure
from tests.eventing import brokers
from tests.gateway import edge as edges
from tests.gateway.edge import CIPHER, PARTITIONS, Edge, downlink_nas
from tests.transport.worlds import MEMORY
from transport import Limits

SUPI = "imsi-001010000000001"
AMF_ID = make_amf_ue_ngap_id(777, 1)
TMSI = CIPHER.encrypt(make_tmsi_plaintext(321, 5))
CIPHERED = bytes.fromhex("7e0211223344009988776655")


def request(identity: dict[str, Any]) -> bytes:
    return wire.nas_encode(
        {
            "message-type": "registration-request",
            "5gs-registration-type": {
                "registration-type": "initial-registration",
                "follow-on-request": False,
            },
            "ngksi": "no-key",
            "5gs-mobile-identity": identity,
            "ue-security-capability": {"octets": "e0e0"},
        }
    )


def suci(profile: str | None = None) -> dict[str, Any]:
    if profile is None:
        return {"octets": wire.suci_conceal("001", "01", "0000000001").hex()}
    public = wire.suci_public_key(profile, bytes(range(1, 33)))
    made = wire.suci_conceal(
        "001", "01", "0000000001", profile=profile, public_key=public, key_id=1
    )
    return {"octets": made.hex()}


def guti(**changes: Any) -> dict[str, Any]:
    ours = {"plmn": "001-01", "amf-region-id": 1, "amf-set-id": 1, "amf-pointer": 0, "tmsi": TMSI}
    return {"guti": {**ours, **changes}}


def check(edge: Edge, event: CloudEvent, procedure: Procedure, key: str, slot: int) -> None:
    """Assert the route of an event, and that its subject agrees."""
    assert (event.procedure, event.partitionkey, event.slot) == (procedure, key, slot)
    subject = edge.subjects[edge.events.index(event)]
    assert subject == f"ue.{partition_of(slot, PARTITIONS)}.{procedure}.n2.{slot}"
    assert (event.type, event.datacontenttype) == (EventType.NGAP_UPLINK, NGAP_MEDIA_TYPE)


@pytest.mark.parametrize("world", [MEMORY, "userspace-udp"])
async def test_a_message_there_and_its_answer_back(world: str, tmp_path: Path) -> None:
    async with edges.running(tmp_path, world=world) as edge:
        ran = await edge.ran()
        event = await ran.set_up()
        assert event.data == messages.ng_setup_request(ran.config)
        assert edge.gateway.gnbs == [ran.id]


async def test_ng_setup_is_for_the_ran_node(edge: Edge) -> None:
    ran = await edge.ran()
    event = await ran.set_up()
    check(edge, event, Procedure.RAN, f"gnb-{ran.id}", slot_of(ran.id))
    _, n2, gnb, association = event.source.split("/")
    assert (n2, gnb) == ("n2", ran.id)
    assert association
    assert event.sequence is None


async def test_an_initial_message_goes_by_its_identity(edge: Edge) -> None:
    ran = await edge.gnb()

    async def sent(nas: bytes, ran_id: int, **more: Any) -> tuple[CloudEvent, str]:
        event = await ran.sent(ran.initial(nas, ran_id, **more))
        assert event.sequence == 0
        return event, f"{event.source.rpartition('/')[2]}-{ran_id:x}"

    event, _ = await sent(request(suci()), 1)
    check(edge, event, Procedure.REGISTRATION, SUPI, slot_of(SUPI))
    for number, profile in enumerate("AB", 2):
        event, name = await sent(request(suci(profile)), number)
        check(edge, event, Procedure.IDENTIFICATION, f"conn-{name}", slot_of(name))
    event, _ = await sent(request(guti()), 4)
    check(edge, event, Procedure.REGISTRATION, index_tmsi(TMSI), 321)
    for number, theirs in enumerate(
        [{"plmn": "001-02"}, {"amf-region-id": 2}, {"amf-set-id": 2}, {"amf-pointer": 1}], 5
    ):
        event, name = await sent(request(guti(**theirs)), number)
        check(edge, event, Procedure.REGISTRATION, f"conn-{name}", slot_of(name))
    event, _ = await sent(CIPHERED, 9, s_tmsi=(1, 0, TMSI))
    check(edge, event, Procedure.REGISTRATION, index_tmsi(TMSI), 321)
    event, name = await sent(CIPHERED, 10, s_tmsi=(1, 1, TMSI))
    check(edge, event, Procedure.REGISTRATION, f"conn-{name}", slot_of(name))
    event, name = await sent(b"\xff", 11)
    check(edge, event, Procedure.REGISTRATION, f"conn-{name}", slot_of(name))


async def test_what_follows_goes_by_its_amf_ue_ngap_id_and_is_counted(edge: Edge) -> None:
    ran = await edge.gnb()
    await ran.sent(ran.initial(request(suci())))
    ids = messages.ue_ids(AMF_ID, 1)
    place = messages.location(ran.config, ran.config.plmn)
    sent = [
        (ran.uplink(bytes.fromhex("7e0057"), AMF_ID), Procedure.REGISTRATION),
        (ran.uplink(bytes.fromhex("7e004571"), AMF_ID), Procedure.DEREGISTRATION),
        (ran.uplink(CIPHERED, AMF_ID), Procedure.REGISTRATION),
        (messages.encode("InitialContextSetupResponse", *ids), Procedure.REGISTRATION),
        (messages.ue_context_release_request(ids, "user-inactivity"), Procedure.AN_RELEASE),
        (messages.ue_context_release_complete(ids, place), Procedure.AN_RELEASE),
    ]
    for sequence, (pdu, procedure) in enumerate(sent, 1):
        event = await ran.sent(pdu)
        check(edge, event, procedure, index_ngap(AMF_ID), 777)
        assert (event.data, event.sequence) == (pdu, sequence)
    after = await ran.sent(ran.uplink(CIPHERED, AMF_ID))
    assert after.sequence is None, "its connection is over"
    again = await ran.sent(ran.initial(request(suci())))
    assert again.sequence == 0


async def test_connections_are_counted_apart(edge: Edge) -> None:
    one, other = await edge.gnb(), await edge.gnb()
    for ran_id in (1, 2):
        for ran in (one, other):
            await ran.sent(ran.initial(request(suci()), ran_id))
    counted = [
        (await ran.sent(ran.uplink(CIPHERED, AMF_ID + ran_id, ran_id))).sequence
        for ran, ran_id in [(one, 1), (one, 1), (one, 2), (other, 1), (other, 2), (one, 2)]
    ]
    assert counted == [1, 2, 1, 1, 1, 2]


async def test_a_ciphered_message_goes_to_who_spoke_last(edge: Edge) -> None:
    ran = await edge.gnb()
    event = await ran.sent(ran.initial(request(suci())))
    for number, procedure in enumerate(("deregistration", "an-release", "no-such"), 2):
        await edge.answer(event, downlink_nas(AMF_ID, 1), procedure)
        await ran.heard.got(number)
        after = await ran.sent(ran.uplink(CIPHERED, AMF_ID))
        known = "an-release" if procedure == "no-such" else procedure
        check(edge, after, Procedure(known), index_ngap(AMF_ID), 777)


async def test_before_ng_setup_is_answered_all_is_for_the_ran_node(edge: Edge) -> None:
    ran = await edge.ran()
    early = await ran.sent(ran.initial(request(suci())))
    assert early.procedure == Procedure.RAN
    assert early.partitionkey == f"gnb-association-{early.source.rpartition('/')[2]}"
    await ran.sent(messages.ng_setup_request(ran.config))
    early = await ran.sent(ran.initial(request(suci())))
    check(edge, early, Procedure.RAN, f"gnb-{ran.id}", slot_of(ran.id))


async def test_nothing_that_a_gnb_sends_is_lost_whatever_it_is(edge: Edge) -> None:
    """Each message is one event with its octets, and the association stays up."""
    ran, rng = await edge.gnb(), random.Random(1)
    whole = [
        ran.initial(request(suci())),
        ran.uplink(CIPHERED, AMF_ID),
        messages.ng_reset(None, {"misc": "om-intervention"}),
    ]
    sent = [b"\x00", bytes(1000), b"\xff" * 100]
    for _ in range(300):
        octets = bytearray(rng.choice(whole))
        for _ in range(rng.randint(0, 4)):
            octets[rng.randrange(len(octets))] = rng.randrange(256)
        sent.append(bytes(octets[: rng.randint(1, len(octets))]))
    before = len(edge.events)
    for octets in sent:
        ran.send(octets)
    events = (await edge.got(before + len(sent)))[before:]
    assert [event.data for event in sorted(events, key=lambda e: order_of(e.id))] == sent
    assert len({event.id for event in edge.events}) == len(edge.events)
    assert edge.gateway.counters.malformed > 50
    assert ran.heard.down_ == []
    assert await edge.stored() == edge.events


async def test_what_many_ues_say_at_once_is_few_messages(edge: Edge) -> None:
    """Also, each partition has them in the order in which they were sent."""
    ran = await edge.gnb()
    before, stored = len(edge.events), await brokers.count(edge.core)
    for number in range(200):
        ran.send(ran.uplink(CIPHERED, AMF_ID + number % 8, ran_id=number))
    events = (await edge.got(before + 200))[before:]
    assert await brokers.count(edge.core) - stored <= 50
    assert sorted(order_of(event.id) for event in events) == [*range(before + 1, before + 201)]
    for slot in {event.slot for event in events}:
        of_slot = [order_of(event.id) for event in events if event.slot == slot]
        assert of_slot == sorted(of_slot)


async def test_no_ngap_at_all_is_for_the_ran_node(edge: Edge) -> None:
    ran = await edge.gnb()
    event = await ran.sent(b"hello")
    check(edge, event, Procedure.RAN, f"gnb-{ran.id}", slot_of(ran.id))


async def test_of_a_message_that_is_too_long_the_beginning_is_passed_on(edge: Edge) -> None:
    """The whole PDU would exceed NATS's limit and end the gateway's connection."""
    ran = await edge.gnb(limits=Limits(max_message=1 << 20))
    octets = random.Random(1).randbytes((1 << 20) - 10)
    event = await ran.sent(octets)
    assert event.data == octets[:MAX_PDU]
    assert event.procedure == Procedure.RAN
    assert (await ran.sent(b"next")).data == b"next"


async def test_another_payload_protocol_is_counted_and_left(edge: Edge) -> None:
    ran = await edge.gnb()
    ran.send(b"not NGAP", ppid=46)
    assert (await ran.sent(b"next")).data == b"next"
    assert edge.gateway.counters.wrong_ppid == 1
