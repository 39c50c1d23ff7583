"""Any messages of three gNBs about a UE in handover, in any order: no exception, and no remains."""

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import wire
from tests.functions.gnb import reset
from tests.functions.handover_site import (
    RADIO,
    Mobile,
    association_of,
    gnb_of,
    ies_of,
    other_phone,
)
from tests.functions.site import MESSAGE
from tests.functions.test_handover import STATUS

EXAMPLES = max(1, int(60 * float(os.environ.get("EVCORE_FUZZ_EXAMPLES", "1"))))

HEAD = {"procedure-transaction-identity": 5}
LEFT = ("seid", "upf", "address", "gnb")
TRIGGERED = {"radioNetwork": "xn-handover-triggered"}

gnbs = st.integers(1, 3)
ids = st.integers(1, 2)
some = st.sampled_from([(1,), (2,), (1, 2), (2, 7)])
shots = st.one_of(
    st.tuples(st.just("path-switch"), gnbs, some, st.booleans()),
    st.tuples(st.just("required"), gnbs, some),
    st.tuples(st.just("acknowledge"), some),
    st.tuples(st.just("acknowledge"), some),
    st.tuples(st.just("failure")),
    st.tuples(st.just("notify")),
    st.tuples(st.just("notify")),
    st.tuples(st.just("cancel")),
    st.tuples(st.just("status")),
    st.tuples(st.just("not-delivered"), st.booleans()),
    st.tuples(st.just("refused"), ids),
    st.tuples(
        st.just("by-target"), st.sampled_from(["UEContextReleaseRequest", "ErrorIndication"])
    ),
    st.tuples(st.just("complete")),
    st.tuples(st.just("lose"), gnbs),
    st.tuples(st.just("reset"), gnbs),
    st.tuples(st.just("ask"), ids, st.integers(1, 3)),
    st.tuples(st.just("release"), ids),
    st.tuples(st.just("operator"), ids),
    st.tuples(st.just("set-up"), ids),
    st.tuples(st.just("serve")),
    st.tuples(st.just("serve")),
    st.tuples(st.just("full"), st.booleans()),
    st.tuples(st.just("unanswered")),
    st.tuples(st.just("register")),
    st.tuples(st.just("deregister")),
    st.tuples(st.just("idle")),
    st.tuples(st.just("service-request"), some),
    st.tuples(st.just("stranger")),
    st.tuples(st.just("advance"), st.sampled_from([0.1, 4.0, 5.0, 10.0, 16.0])),
)


class Storm:
    """One UE that receives all events."""

    def __init__(self) -> None:
        self.site = Mobile()
        self.site.upfs.silent = True
        self.ran_id = 100
        self.at = 1
        self.target: tuple[int, int, int] | None = None
        """The gNB, the AMF-UE-NGAP-ID and the RAN-UE-NGAP-ID of the last HANDOVER REQUEST."""
        self.releases: list[tuple[int, int, int]] = []
        """The same for UE CONTEXT RELEASE COMMANDs."""

    def shoot(self, shot: tuple[Any, ...]) -> None:
        kind, *given_ = shot
        getattr(self, "_" + kind.replace("-", "_"))(*given_)
        self.follow()

    def follow(self) -> None:
        """Store the messages to gNBs, and follow a path switch."""
        for gnb, _, pdu in list(self.site.world.downlink):
            tree = wire.ngap_decode(pdu)
            ies, number = ies_of(tree), int(gnb.rpartition("-")[2], 16)
            match tree["message"]:
                case "HandoverRequest":
                    self.target = (number, ies["AMF-UE-NGAP-ID"], self._new())
                case "PathSwitchRequestAcknowledge":
                    self.at = number
                    self.site.arrive(number, ies["RAN-UE-NGAP-ID"], ies["AMF-UE-NGAP-ID"])
                case "UEContextReleaseCommand":
                    named = ies["UE-NGAP-IDs"]
                    pair = named.get("uE-NGAP-ID-pair", named)
                    ran_id = pair.get("rAN-UE-NGAP-ID", self._new())
                    self.releases.append((number, pair["aMF-UE-NGAP-ID"], ran_id))
                case _:
                    pass
        self.site.phone.hear()

    def _new(self) -> int:
        self.ran_id += 1
        return self.ran_id

    @property
    def connected(self) -> bool:
        return self.site.world.ue().connection is not None and self.site.phone.amf_id is not None

    # Handovers

    def _path_switch(self, number: int, sessions: tuple[int, ...], all_there: bool) -> None:
        if self.site.phone.amf_id is not None:
            failed = () if all_there else (2,)
            left = tuple(s for s in sessions if s not in failed) or (1,)
            self.site.path_switch_request(number, self._new(), left, failed)

    def _required(self, number: int, sessions: tuple[int, ...]) -> None:
        if self.site.phone.amf_id is not None:
            self.site.handover_required(number, sessions)

    def _acknowledge(self, sessions: tuple[int, ...]) -> None:
        if self.target is not None:
            number, amf_id, ran_id = self.target
            self.site.acknowledge(amf_id, number, ran_id, sessions)

    def _failure(self) -> None:
        if self.target is not None:
            number, amf_id, _ = self.target
            self.site.say_as(
                number, "HandoverFailure", {"AMF-UE-NGAP-ID": amf_id}, {"Cause": RADIO}
            )

    def _notify(self) -> None:
        if self.target is not None:
            number, amf_id, ran_id = self.target
            self.site.notify(amf_id, number, ran_id)
            here = self.site.world.ue().connection
            if here is not None and here.amf_ue_ngap_id == amf_id:
                self.at = number
                self.follow()
                self.site.arrive(number, ran_id, amf_id)

    def _cancel(self) -> None:
        if self.site.phone.amf_id is not None:
            self.site.phone.ngap("HandoverCancel", Cause=RADIO)

    def _status(self) -> None:
        if self.site.phone.amf_id is not None:
            container = {"RANStatusTransfer-TransparentContainer": STATUS}
            self.site.phone.ngap("UplinkRANStatusTransfer", **container)

    def _not_delivered(self, triggered: bool) -> None:
        if self.site.phone.amf_id is not None:
            cause = TRIGGERED if triggered else RADIO
            self.site.phone.ngap("NASNonDeliveryIndication", **{"NAS-PDU": "7e", "Cause": cause})

    def _refused(self, psi: int) -> None:
        if self.site.phone.amf_id is not None:
            name = "pDUSessionResourceSetupUnsuccessfulTransfer"
            items = [{"pDUSessionID": psi, name: {"cause": TRIGGERED}}]
            lists = {"PDUSessionResourceFailedToSetupListSURes": items}
            self.site.phone.ngap("PDUSessionResourceSetupResponse", **lists)

    def _by_target(self, message: str) -> None:
        if self.target is not None:
            number, amf_id, ran_id = self.target
            self.site.from_target(amf_id, message, number, ran_id=ran_id, Cause=RADIO)

    # Connections

    def _complete(self) -> None:
        if self.releases:
            number, amf_id, ran_id = self.releases.pop(0)
            ids = {"AMF-UE-NGAP-ID": amf_id}, {"RAN-UE-NGAP-ID": ran_id}
            self.site.say_as(number, "UEContextReleaseComplete", *ids)

    def _lose(self, number: int) -> None:
        self.site.world.lose(association_of(number), gnb_of(number))
        self.follow()
        self.site.set_up_gnb(number)

    def _reset(self, number: int) -> None:
        self.site.world.uplink(reset(), gnb_of(number), association_of(number))

    def _idle(self) -> None:
        if self.site.phone.amf_id is not None:
            self.site.phone.ngap("UEContextReleaseRequest", Cause=RADIO)
            self.follow()
            self._complete()

    def _service_request(self, sessions: tuple[int, ...]) -> None:
        asked = {"pdu-session-status": list(sessions), "uplink-data-status": list(sessions)}
        self.site.phone.ran_id = self._new()
        tree = self.service_request(asked)
        self.site.phone.open_again(tree, ran_id=self.ran_id)

    def service_request(self, more: dict[str, Any]) -> dict[str, Any]:
        guti = self.site.phone.guti
        assert guti is not None
        s_tmsi = {"amf-set-id": 1, "amf-pointer": 0, "tmsi": guti["tmsi"]}
        return {
            MESSAGE: "service-request",
            "ngksi": {"native": self.site.phone.ngksi},
            "service-type": "data",
            "5g-s-tmsi": {"s-tmsi": s_tmsi},
            **more,
        }

    def _stranger(self) -> None:
        """Another sender claims to be this UE, without authentication."""
        phone = self.site.phone
        ran_id, amf_id, phone.ran_id = phone.ran_id, phone.amf_id, self._new()
        phone.initial(wire.nas_encode(phone.request()))
        self.follow()
        phone.ran_id, phone.amf_id = ran_id, amf_id

    # Sessions and registrations

    def _ask(self, psi: int, pti: int) -> None:
        if self.connected:
            self.site.ask(psi, pti)

    def _release(self, psi: int) -> None:
        if self.connected:
            message = {MESSAGE: "pdu-session-release-request", "pdu-session-identity": psi, **HEAD}
            self.site.say(psi, message)
            self.follow()
            message[MESSAGE] = "pdu-session-release-complete"
            self.site.say(psi, message)

    def _operator(self, psi: int) -> None:
        self.site.release(psi)

    def _set_up(self, psi: int) -> None:
        if self.connected:
            self.site.set_up("PDUSessionResourceSetup", psi)
            self.follow()
            self.site.set_up("InitialContextSetup", psi)

    def _register(self) -> None:
        if self.connected:
            self.site.phone.say(self.site.phone.request("mobility-registration-updating"))

    def _deregister(self) -> None:
        if self.connected:
            self.site.phone.say(self.site.phone.deregistration(switch_off=True))

    # UPFs and time

    def _serve(self) -> None:
        if self.site.world.pfcp:
            self.site.upfs.answer(*self.site.world.pfcp.popleft())

    def _full(self, full: bool) -> None:
        self.site.upfs.full = full

    def _unanswered(self) -> None:
        if self.site.world.pfcp:
            upf, key, number, pdu = self.site.world.pfcp.popleft()
            if number is None:
                self.site.upfs.answer(upf, key, number, pdu)
            else:
                self.site.world.unanswered(upf, key, number, pdu)

    def _advance(self, seconds: float) -> None:
        self.site.world.advance(seconds)

    def end(self) -> None:
        """The UPFs respond again; the UE registers again and deregisters."""
        site = self.site
        site.upfs.silent = site.upfs.full = False
        site.upfs.serve()
        self._settle()
        other = other_phone(site)
        other.sqn = 0
        site.world.downlink.clear()
        other.register()
        site.upfs.serve()
        other.hear()
        other.say(other.deregistration(switch_off=True))
        self._settle()

    def _settle(self) -> None:
        for _ in range(12):
            self.site.world.advance(40)
            self.site.upfs.serve()


def finish(storm: Storm) -> None:
    """Check that there are no remains, and that every step is decided in the same way again."""
    storm.end()
    site, world = storm.site, storm.site.world
    ue = world.ue()
    assert ue.sessions == ()
    assert site.upfs.rules == 0
    assert (ue.connection, ue.stale, ue.handover, ue.target) == (None, (), None, None)
    assert [key for key in world.owners if key[0] in LEFT] == []
    world.verify()


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(shots, min_size=1, max_size=16))
def test_nothing_is_left(fired: list[tuple[Any, ...]]) -> None:
    storm = Storm()
    for shot in fired:
        storm.shoot(shot)
    finish(storm)


WHOLE = [
    ("required", 2, (1,)),
    ("acknowledge", (1,)),
    ("status",),
    ("notify",),
    ("complete",),
    ("serve",),
    ("path-switch", 3, (1,), True),
    ("serve",),
    ("register",),
]
"""Two complete handovers."""


@pytest.mark.parametrize("place", range(len(WHOLE) + 1))
@pytest.mark.parametrize(
    "between",
    [
        ("cancel",),
        ("lose", 1),
        ("lose", 2),
        ("lose", 3),
        ("reset", 1),
        ("reset", 2),
        ("idle",),
        ("deregister",),
        ("stranger",),
        ("service-request", (1,)),
        ("ask", 2, 2),
        ("release", 1),
        ("operator", 1),
        ("advance", 10.0),
        ("by-target", "UEContextReleaseRequest"),
        ("required", 3, (1,)),
        ("path-switch", 3, (1,), True),
        ("not-delivered", True),
    ],
    ids=lambda shot: "-".join(map(str, shot)),
)
def test_anything_in_between(place: int, between: tuple[Any, ...]) -> None:
    storm = Storm()
    for shot in [*WHOLE[:place], between, *WHOLE[place:]]:
        storm.shoot(shot)
    finish(storm)
