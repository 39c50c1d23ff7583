"""Sessions of a UPF that restarts, or is associated again (TS 23.527 4.3, TS 29.244 6.2.6)."""

from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import wire
from schemas.aggregates import upf_aggregate
from schemas.cloudevents import MSGPACK_MEDIA_TYPE, CloudEvent, EventType, SessionLeft
from schemas.event import Noted
from schemas.gsm.events import UplinkReplaced
from schemas.identity import slot_of
from schemas.procedures import Procedure
from schemas.step import SendPfcp, encode
from tests.functions.site import MESSAGE, Site
from tests.functions.world_n4 import UPF


def notes(site: Site) -> list[str]:
    steps = site.world.steps[f"ue/{site.phone.supi}"]
    return [e.text for step in steps for e in step.events if isinstance(e, Noted)]


def restored(site: Site, address: str, psi: int = 1) -> None:
    """Check that the UPF has a session, exactly as the core knows it."""
    name, at_upf = site.upfs.session(address)
    session = site.session(psi)
    assert at_upf.seid == session.n4.up_seid
    assert session.n4.sent is None
    assert session.n4.downlink == session.access
    assert session.n4.incarnation == site.upfs.recovery
    assert at_upf.rules.teids.keys() == {session.uplink.teid}
    assert len(site.upfs.tables[name].by_seid) == len(
        [s for s in site.world.ue().sessions if s.n4.upf == name]
    )
    assert site.world.upf(name).leftovers == ()


def requests(site: Site) -> list[tuple[str, int]]:
    """Return the requests about sessions in the log of the UE, with their incarnations."""
    steps = site.world.steps[f"ue/{site.phone.supi}"]
    outputs = [o for step in steps for o in step.outputs if isinstance(o, SendPfcp)]
    return [(wire.pfcp_peek(o.pdu).message, o.incarnation) for o in outputs if o.number]


def test_requests_name_the_incarnation_of_the_upf() -> None:
    site = Site()
    first = site.upfs.recovery
    address = site.establish()
    assert {stamp for _, stamp in requests(site)} == {first}
    site.upfs.restart(7)
    site.upfs.heartbeat()
    site.upfs.serve()
    restored(site, address)
    site.idle()
    assert [stamp for _, stamp in requests(site)][-2:] == [first + 7] * 2
    site.world.verify()


@pytest.mark.parametrize("pending", ["modify", "establish", "delete"])
@pytest.mark.parametrize("first", ["ended", "associated"])
def test_a_request_that_a_restart_has_ended(pending: str, first: str) -> None:
    """The session is restored once, whether the end of the request comes first or the event of the
    restart. Its old SEID is not used again."""
    site = Site()
    address = "" if pending == "establish" else site.establish()
    site.upfs.silent = True
    if pending == "establish":
        site.ask()
    elif pending == "modify":
        site.phone.idle()
    else:
        site.phone.say(site.phone.deregistration())
    ((upf, key, number, pdu),) = site.world.pfcp
    site.world.pfcp.clear()
    site.world.advance(1)
    site.upfs.restart()
    site.upfs.silent = False
    if first == "ended":
        site.world.ended(upf, key, number, pdu, site.upfs.recovery)
        site.upfs.serve()
        site.upfs.heartbeat()
        site.upfs.serve()
    else:
        site.upfs.heartbeat()
        site.upfs.serve()
        site.world.ended(upf, key, number, pdu, site.upfs.recovery)
        site.upfs.serve()
    asked = [name for name in site.upfs.asked if name.startswith("Session")]
    if pending == "delete":
        assert site.world.ue().sessions == ()
        assert "SessionDeletionRequest" not in asked
    else:
        if pending == "establish":
            setup = site.hear()[-1]
            assert setup[MESSAGE] == "PDUSessionResourceSetupRequest"
            site.set_up()
            address = setup["PDUSessionResourceSetupListSUReq"][0]["nas"]["pdu-address"]["ipv4"]
        restored(site, address)
        accepted = [e for e in asked if e == "SessionEstablishmentRequest"]
        refused = 1 if first == "ended" else 0  # it was not associated yet
        assert len(accepted) == 1 + refused + (pending == "modify")
    assert site.upfs.rules == sum(len(site.upfs.tables[n].by_seid) for n in site.upfs.tables) * 5
    site.world.verify()


def test_an_end_of_a_request_that_is_answered_already() -> None:
    site = Site()
    address = site.establish()
    number = site.world.ue().n4_requests
    key = f"seid-{site.session().n4.seid:016x}"
    site.world.ended(UPF, key, number, site.upfs.answered, site.upfs.recovery + 1)
    assert "a restart of the UPF ended a request that is no longer pending" in notes(site)
    restored(site, address)
    site.world.verify()


@pytest.mark.parametrize("plane", ["on", "off"])
@pytest.mark.parametrize("ftup", [True, False])
def test_a_upf_that_has_kept_its_sessions(plane: str, ftup: bool) -> None:
    """It sets up its association again with the same time stamp, and refuses to restore a session
    that it has. The core deletes it first: nothing is left, and nothing is lost."""
    site = Site(ftup=ftup)
    address = site.establish()
    site.upfs.keeps = True
    if plane == "off":
        site.idle()
    before = site.session()
    name, old = site.upfs.session(address)
    site.upfs.asked.clear()
    site.world.advance(1)
    site.world.path("unknown", name, site.upfs.recovery)
    site.upfs.serve()
    assert site.upfs.asked == [
        "AssociationSetupRequest",
        "SessionDeletionRequest",
        "SessionEstablishmentRequest",
    ]
    restored(site, address)
    assert site.upfs.session(address)[1].seid != old.seid
    if plane == "on" or not ftup:
        assert site.session().uplink == before.uplink
    assert site.session().stage == "active"
    site.world.verify()


def test_a_pending_request_to_a_upf_that_has_kept_its_sessions() -> None:
    site = Site()
    address = site.establish()
    name, _ = site.upfs.session(address)
    site.upfs.keeps = site.upfs.silent = True
    site.phone.idle()
    site.world.pfcp.clear()  # the modification is lost
    site.world.advance(1)
    site.upfs.silent = False
    site.world.path("unknown", name, site.upfs.recovery)
    site.upfs.serve()
    restored(site, address)
    site.world.verify()


@pytest.mark.parametrize("plane", ["on", "off"])
@pytest.mark.parametrize("ftup", [True, False])
def test_a_upf_that_refuses_the_f_teid(plane: str, ftup: bool) -> None:
    """Another session has it by now. The gNB gets the new one: its resources are released and set
    up again (TS 23.502 4.3.7, 4.2.3.3), the session stays."""
    site = Site(ftup=ftup)
    address = site.establish()
    if plane == "off":
        site.idle()
    before = site.session()
    site.hear()
    site.upfs.restart(other=7)
    if ftup:
        site.upfs.needs_choice = True
    else:
        site.upfs.refuse = {"SessionEstablishmentRequest": 1}
    site.upfs.heartbeat()
    site.upfs.serve()
    after = site.session()
    assert after.stage == "active"
    assert after.uplink not in (None, before.uplink)
    assert site.upfs.session(address)[1].rules.teids.keys() == {after.uplink.teid}
    if plane == "on":
        assert site.hear()[-1][MESSAGE] == "PDUSessionResourceReleaseCommand"
        site.released()
        (setup,) = site.hear()
        assert setup[MESSAGE] == "PDUSessionResourceSetupRequest"
        (item,) = setup["PDUSessionResourceSetupListSUReq"]
        assert "nas" not in item, "the UE notices nothing"
        tunnel = _uplink_of(item)
        assert tunnel["gTP-TEID"] == after.uplink.teid
        site.set_up()
    else:
        assert site.hear() == []
    restored(site, address)
    assert site.session().n4.refused == 0
    (event,) = [
        e
        for step in site.world.steps[f"ue/{site.phone.supi}"]
        for e in step.events
        if isinstance(e, UplinkReplaced)
    ]
    assert event.uplink is None or not ftup
    site.world.verify()


def _uplink_of(item: dict[str, Any]) -> dict[str, Any]:
    transfer = item["pDUSessionResourceSetupRequestTransfer"]
    for ie in transfer["protocolIEs"]:
        if "UL-NGU-UP-TNLInformation" in ie:
            return ie["UL-NGU-UP-TNLInformation"]["gTPTunnel"]
    raise KeyError(item)


def test_a_upf_that_refuses_another_f_teid_too() -> None:
    site = Site()
    site.establish()
    site.hear()
    site.upfs.restart()
    site.upfs.refuse = {"SessionEstablishmentRequest": 2}
    site.upfs.heartbeat()
    site.upfs.serve()
    assert site.session().stage == "releasing"
    assert site.session().release_cause == 38
    site.world.verify()


@pytest.mark.parametrize("before", [True, False])
def test_a_leftover_belongs_to_an_incarnation(before: bool) -> None:
    """Its SEID may be that of another session after a restart."""
    site = Site()
    incarnation = site.upfs.recovery - before
    data = encode(SessionLeft(9, incarnation))
    key, slot = upf_aggregate(UPF), slot_of(UPF)
    kind, media = EventType.SESSION_LEFT, MSGPACK_MEDIA_TYPE
    site.world.deliver(CloudEvent("left", "/ue/1", kind, key, data, media, Procedure.UPF, slot))
    deletions = [pdu for *_, pdu in site.world.pfcp]
    assert [wire.pfcp_peek(pdu).seid for pdu in deletions] == ([] if before else [9])
    assert len(site.world.upf(UPF).leftovers) == (not before)
    if not before:
        number = site.world.upf(UPF).leftovers[0].number
        assert site.world.incarnations[key, number] == incarnation
    site.world.verify()


_NO_ACTIONS = ("__init__", "quiesce")


class Disturbed:
    """A UE with two sessions, and what can happen to its UPFs, gateways and requests."""

    def __init__(self) -> None:
        self.site = Site()
        network = replace(self.site.world.network, upfs=self.site.world.network.upfs[:1])
        self.site.world.network = self.site.world.networks["one UPF"] = network
        self.addresses = [self.site.establish(psi) for psi in (1, 2)]
        self.world, self.upfs = self.site.world, self.site.upfs
        self.lost: list[tuple[str, str, int | None, bytes]] = []
        self.connected = True

    def upfs_restart(self) -> None:
        self.upfs.restart()

    def upfs_forget_the_association(self) -> None:
        """It may have ended sessions too, or keeps them."""
        self.upfs.associated, self.upfs.keeps = False, False
        for table in self.upfs.tables.values():
            for session in list(table.by_seid.values()):
                table.delete(session)

    def upfs_keep_sessions_without_an_association(self) -> None:
        self.upfs.associated, self.upfs.keeps = False, True

    def gateway_restarts(self) -> None:
        """Its pending requests are lost."""
        self.world.pfcp.clear()
        for name in self.upfs.tables:
            self.world.path("served", name)

    def heartbeats(self) -> None:
        self.upfs.heartbeat()

    def answer_one(self) -> None:
        if self.world.pfcp:
            self.upfs.answer(*self.world.pfcp.popleft())

    def answer_all(self) -> None:
        self.upfs.serve()

    def lose_one(self) -> None:
        if self.world.pfcp:
            self.lost.append(self.world.pfcp.popleft())

    def one_comes_late(self) -> None:
        """A worker sends it again, or the broker delivers it again."""
        if self.lost:
            self.upfs.answer(*self.lost.pop())

    def timers(self) -> None:
        self.world.advance(12)

    def idle(self) -> None:
        if self.connected:
            self.connected = False
            self.site.phone.idle()

    def quiesce(self) -> None:
        """Let the gateway see every trouble, and the UPFs answer all requests."""
        for _ in range(4):
            self.heartbeats()
            self.upfs.serve()
            if not self.upfs.associated:
                for name in self.upfs.tables:
                    self.world.path("unknown", name, self.upfs.recovery)
                self.upfs.serve()
            self.world.advance(70)
            self.upfs.serve()


ACTIONS = tuple(
    name for name, of in vars(Disturbed).items() if callable(of) and name not in _NO_ACTIONS
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
@example(
    ["idle", "lose_one", "lose_one", "upfs_restart", "heartbeats", "answer_all", "one_comes_late"]
)
@given(st.lists(st.sampled_from(ACTIONS), max_size=14))
def test_restarts_on_either_side_in_every_order(actions: list[str]) -> None:
    """The UPFs get no request about another session, and have all sessions in the end."""
    disturbed = Disturbed()
    for action in actions:
        disturbed.world.advance(1)
        getattr(disturbed, action)()
    disturbed.quiesce()
    assert {s.stage for s in disturbed.world.ue().sessions} == {"active"}
    for psi, address in enumerate(disturbed.addresses, 1):
        restored(disturbed.site, address, psi)
    disturbed.world.verify()


def test_every_event_of_a_gateway_has_an_end() -> None:
    """An end of a request about the node is noted."""
    site = Site()
    key = upf_aggregate(UPF)
    pdu = wire.pfcp_encode(
        {"message": "SessionDeletionRequest", "seid": 5, "sequence": 0, "ies": []}
    )
    event = site.world.from_n4(EventType.PFCP_ENDED, pdu, UPF, key, 3)
    site.world.deliver(event)
    steps = site.world.steps[key]
    assert any("is not sent" in e.text for e in steps[-1].events if isinstance(e, Noted))
