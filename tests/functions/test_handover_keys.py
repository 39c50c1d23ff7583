"""The key chain through handovers and new K_AMFs in any order, compared with the UE and its gNB (TS
33.501 6.9.2)."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.functions.handover_site import RADIO, Mobile, next_hop

UPDATE = "mobility-registration-updating"
TRIGGERED = {"radioNetwork": "ng-intra-system-handover-triggered"}
MODIFICATION = "UEContextModificationRequest"

shots = st.sampled_from(
    ["rekey", "taken", "refused", "required", "arrived", "failed", "xn", "wait"]
)


class Keys:
    """A UE and its gNB, with the K_AMF and the K_gNB of their keys."""

    def __init__(self) -> None:
        self.site = Mobile()
        self.chain = self.site.kamf, self.site.phone.security_key
        self.hops = 1
        self.told: tuple[bytes, bytes] | None = None
        """The key that the gNB was requested to use."""
        self.asked: tuple[int, dict[str, Any], bytes] | None = None
        """The gNB of the pending handover, its request, and the K_AMF at that time."""
        self.at, self.ran_id = 1, 100

    def hear(self) -> list[tuple[str, dict[str, Any]]]:
        found = [(message, ies) for _, message, ies in self.site.heard()]
        for message, ies in found:
            if message != MODIFICATION:
                continue
            if "SecurityKey" in ies:
                self.told = self.site.kamf, bytes.fromhex(ies["SecurityKey"])
            else:  # the identity index of a new 5G-GUTI
                self.site.phone.ngap("UEContextModificationResponse")
        return found

    def go(self, ies: dict[str, Any], kamf: bytes) -> None:
        """Derive the UE's key for the next gNB."""
        ncc, nh = (ies["SecurityContext"][name] for name in ("nextHopChainingCount", "nextHopNH"))
        if "NewSecurityContextInd" in ies:
            assert ncc == 0
            self.chain, self.hops = (kamf, bytes.fromhex(nh)), 0
            return
        ahead = (ncc - self.hops) % 8
        self.hops += ahead
        assert next_hop(*self.chain, self.hops).hex() == nh

    def rekey(self) -> None:
        phone = self.site.phone
        if self.site.world.ue().registration is not None:
            return
        phone.say(phone.request(UPDATE, ngksi="no-key"))
        phone.authenticate(2)
        phone.hear()
        complete = {"message-type": "security-mode-complete"}
        phone.say({**complete, "nas-message-container": phone.request(UPDATE)}, header=4)
        self.hear()
        phone.say({"message-type": "registration-complete"})

    def taken(self) -> None:
        if self.told is not None:
            self.chain, self.hops, self.told = self.told, 1, None
            self.site.phone.ngap("UEContextModificationResponse")

    def refused(self) -> None:
        if self.told is not None:
            self.told = None
            self.site.phone.ngap("UEContextModificationFailure", Cause=TRIGGERED)

    def required(self) -> None:
        to = self.at % 3 + 1
        self.site.handover_required(to)
        for message, ies in self.hear():
            if message == "HandoverRequest":
                self.asked = to, ies, self.site.kamf

    def arrived(self) -> None:
        if self.asked is None:
            return
        (to, ies, kamf), self.asked, self.told = self.asked, None, None
        self.ran_id += 1
        self.site.acknowledge(ies["AMF-UE-NGAP-ID"], to, self.ran_id)
        assert "HandoverCommand" in dict(self.hear())
        self.go(ies, kamf)
        self.site.notify(ies["AMF-UE-NGAP-ID"], to, self.ran_id)
        self.hear()
        self.site.phone.ngap("UEContextReleaseComplete")
        self._here(to, ies["AMF-UE-NGAP-ID"])

    def failed(self) -> None:
        if self.asked is not None:
            (to, ies, _), self.asked = self.asked, None
            ids = {"AMF-UE-NGAP-ID": ies["AMF-UE-NGAP-ID"]}
            self.site.say_as(to, "HandoverFailure", ids, {"Cause": RADIO})

    def xn(self) -> None:
        to = self.at % 3 + 1
        self.ran_id += 1
        self.told = self.asked = None
        self.site.path_switch_request(to, self.ran_id)
        self.site.upfs.serve()
        heard = dict(self.hear())
        self.go(heard["PathSwitchRequestAcknowledge"], self.site.kamf)
        self._here(to, None)

    def wait(self) -> None:
        self.asked = None
        self.site.world.advance(11)

    def _here(self, number: int, amf_id: int | None) -> None:
        self.at = number
        self.site.arrive(number, self.ran_id, amf_id)
        self.site.upfs.serve()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(shots, max_size=16))
def test_each_gnb_has_the_key_that_the_ue_derives(given_: list[str]) -> None:
    keys = Keys()
    for shot in given_:
        getattr(keys, shot)()
        keys.hear()
    keys.xn()
    ue = keys.site.world.ue()
    assert (ue.registered, ue.handover) == (True, None)
    assert ue.connection is not None
