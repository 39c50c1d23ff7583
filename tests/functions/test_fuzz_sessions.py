"""Any events of sessions, in any order: no exception, and no remains."""

import os
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.functions import operator
from tests.functions.phone import Phone
from tests.functions.site import MESSAGE, Site
from tests.functions.world import World

EXAMPLES = max(1, int(60 * float(os.environ.get("EVCORE_FUZZ_EXAMPLES", "1"))))

HEAD = {"procedure-transaction-identity": 5}
LEFT = ("seid", "teid", "upf", "address", "gnb")

messages = st.sampled_from(
    [
        "pdu-session-release-request",
        "pdu-session-release-complete",
        "pdu-session-modification-request",
        "pdu-session-modification-complete",
    ]
)
ids = st.integers(1, 2)
some = st.sampled_from([[], [1], [2], [1, 2]])
shots = st.one_of(
    st.tuples(st.just("ask"), ids, st.integers(1, 2)),
    st.tuples(st.just("say"), ids, messages),
    st.tuples(st.just("serve")),
    st.tuples(st.just("serve")),
    st.tuples(st.just("drop"), st.booleans()),
    st.tuples(st.just("twice")),
    st.tuples(
        st.just("set-up"), ids, st.sampled_from(["PDUSessionResourceSetup", "InitialContextSetup"])
    ),
    st.tuples(st.just("no-resources"), ids),
    st.tuples(st.just("idle")),
    st.tuples(st.just("service-request"), some, some),
    st.tuples(st.just("downlink")),
    st.tuples(st.just("restart"), st.integers(0, 1)),
    st.tuples(
        st.just("refuse"),
        st.sampled_from(["SessionEstablishmentRequest", "SessionModificationRequest"]),
        st.integers(1, 3),
    ),
    st.tuples(st.just("late"), st.integers(-5000, 0)),
    st.tuples(st.just("lose")),
    st.tuples(st.just("deregister"), st.booleans()),
    st.tuples(
        st.just("gmm"),
        st.sampled_from(["deregistration-accept-ue-terminated", "configuration-update-complete"]),
    ),
    st.tuples(st.just("advance"), st.sampled_from([0.1, 4.0, 16.0, 40.0, 4000.0])),
)


class Storm:
    """One UE that receives all events."""

    def __init__(self, *, ftup: bool) -> None:
        self.site = Site(ftup=ftup)
        self.site.upfs.silent = True

    def shoot(self, shot: tuple[Any, ...]) -> None:  # noqa: C901, PLR0912 - a table of shots
        site, world = self.site, self.site.world
        connected = world.ue().connection is not None
        match shot:
            case ("ask", psi, pti) if connected:
                site.ask(psi, pti)
            case ("say", psi, kind) if connected:
                site.say(psi, {MESSAGE: kind, "pdu-session-identity": psi, **HEAD})
            case ("serve",) if world.pfcp:
                site.upfs.answer(*world.pfcp.popleft())
            case ("drop", told) if world.pfcp:
                upf, key, number, pdu = world.pfcp.popleft()
                if told and number is not None:
                    world.unanswered(upf, key, number, pdu)
            case ("twice",) if world.pfcp:
                site.upfs.answer(*world.pfcp[0])
            case ("set-up", psi, message) if connected:
                site.set_up(message, psi)
            case ("no-resources", psi) if connected:
                transfer = {"cause": {"radioNetwork": "unspecified"}}
                name = "pDUSessionResourceSetupUnsuccessfulTransfer"
                items = [{"pDUSessionID": psi, name: transfer}]
                site.phone.ngap(
                    "PDUSessionResourceSetupResponse",
                    PDUSessionResourceFailedToSetupListSURes=items,
                )
            case ("idle",) if connected:
                site.phone.ngap("UEContextReleaseRequest", Cause={"radioNetwork": "unspecified"})
                site.phone.hear()
                site.phone.ngap("UEContextReleaseComplete")
            case ("service-request", status, uplink):
                asked = {"pdu-session-status": status, "uplink-data-status": uplink}
                site.service_request(**asked)
            case ("downlink",):
                for session in world.ue().sessions:
                    if session.n4.up_seid and _is_at(site, session):
                        site.upfs.report(session.n4.upf, session.n4.seid)
            case ("restart", number):
                name = list(site.upfs.tables)[number]
                site.upfs.tables[name].clear()
                site.upfs.recovery += 1
                world.path("up", name, site.upfs.recovery)
            case ("refuse", message, times):
                site.upfs.refuse[message] = times
            case ("late", before):
                for session in world.ue().sessions:
                    if session.n4.since:
                        site.lose(session.n4.seid, session.n4.since + before - 1)
            case ("lose",):
                world.lose()
            case ("deregister", again):
                operator.deregister(world, site.phone.supi, reregister=again)
            case ("gmm", kind) if connected:
                site.phone.say({MESSAGE: kind})
            case ("advance", seconds):
                world.advance(seconds)
            case _:
                pass
        site.phone.hear()

    def end(self) -> None:
        """The UPFs respond again; the UE registers again and deregisters."""
        site, world = self.site, self.site.world
        site.upfs.silent = False
        site.upfs.refuse.clear()
        site.upfs.serve()
        self._settle(world)
        other = Phone(world)
        other.ran_id, other.sqn = 9000, 0
        world.downlink.clear()
        other.register()
        site.upfs.serve()
        other.hear()
        other.say(other.deregistration(switch_off=True))
        self._settle(world)

    def _settle(self, world: World) -> None:
        for _ in range(12):
            world.advance(40)
            self.site.upfs.serve()


def _is_at(site: Site, session: Any) -> bool:
    return session.n4.up_seid in site.upfs.tables[session.n4.upf].by_seid


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(shots, min_size=1, max_size=14), st.booleans())
def test_nothing_is_left(fired: list[tuple[Any, ...]], ftup: bool) -> None:
    storm = Storm(ftup=ftup)
    for shot in fired:
        storm.shoot(shot)
    storm.end()
    site, world = storm.site, storm.site.world
    assert world.ue().sessions == ()
    assert site.upfs.rules == 0
    assert [key for key in world.owners if key[0] in LEFT] == []
    world.verify()
