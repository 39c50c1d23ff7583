"""Each kind of violation, with a core that commits it."""

from collections.abc import Callable

import pytest

import wire
from loadgen.ue.profile import Algorithms
from loadgen.violation import CLAUSES, Kind
from tests.loadgen import mobility_violations, session_violations
from tests.loadgen.amf import GUAMI, Amf, Tree
from tests.loadgen.steps import (
    DEREGISTER,
    IDLE,
    OFF,
    REGISTER,
    attempt,
    connection,
    flip,
    next_count,
    put,
    put_ie,
    registered,
    sealed,
    without,
)
from tests.loadgen.world import World, population

STATUS = {"message-type": "5gmm-status", "5gmm-cause": "congestion"}
UPDATE = {"message-type": "configuration-update-command"}
OTHER_KEY = "00" * 32


def _octets(message: str, change: Callable[[bytes], bytes]) -> Callable[[Amf], None]:
    def apply(amf: Amf) -> None:
        amf.octets[message] = change

    return apply


def _bad_autn(tree: Tree) -> Tree:
    autn = bytes.fromhex(tree["authentication-parameter-autn"]["octets"])
    return {**tree, "authentication-parameter-autn": {"octets": flip(autn, 15).hex()}}


def autn_mac() -> World:
    def change(amf: Amf) -> None:
        amf.trees["authentication-request"] = _bad_autn

    return attempt(change)[0]


def autn_separation_bit() -> World:
    world = World()
    profile = world.population.profile(0)

    def tree(found: Tree) -> Tree:
        rand = bytes.fromhex(found["authentication-parameter-rand"]["octets"])
        out = wire.milenage(profile.k, profile.opc, rand, 32, b"\0\0")
        concealed = bytes(a ^ b for a, b in zip((32).to_bytes(6, "big"), out["f5"], strict=True))
        autn = concealed + b"\0\0" + out["f1"]
        return {**found, "authentication-parameter-autn": {"octets": autn.hex()}}

    def change(amf: Amf) -> None:
        amf.trees["authentication-request"] = tree

    return attempt(change, world)[0]


def autn_sqn() -> World:
    def change(amf: Amf) -> None:
        amf.resynchronises = False
        amf.trees["authentication-request"] = lambda t: t if len(amf.uplink) < 5 else None

    return attempt(change, World(population(sqn_ahead=1)))[0]


def ngksi_in_use() -> World:
    world, ue = registered()
    world.run(ue, DEREGISTER)
    world.amf.reuse_context = False
    first = [True]

    def tree(found: Tree) -> Tree:
        if first.pop() if first else False:
            return {**found, "ngksi": {"native": 1}}
        return found

    world.amf.trees["authentication-request"] = tree
    assert world.run(ue, REGISTER).cause == "violation-ngksi-in-use"
    assert {"message-type": "authentication-failure", "5gmm-cause": "ng-ksi-already-in-use"} in (
        world.amf.uplink
    )
    return world


def eap_unsupported() -> World:
    def change(amf: Amf) -> None:
        def tree(found: Tree) -> Tree:
            kept = {k: found[k] for k in ("message-type", "ngksi", "abba")}
            return {**kept, "eap-message": {"octets": "0101000501"}}

        amf.trees["authentication-request"] = tree

    return attempt(change)[0]


def nas_mac() -> World:
    return attempt(_octets("registration-accept", lambda pdu: flip(pdu, 3)))[0]


def nas_count_reused() -> World:
    world, ue = registered()
    world.down(ue, sealed(ue, next_count(ue) - 1, UPDATE))
    return world


def nas_count_back() -> World:
    world, ue = registered()
    count = next_count(ue)
    world.down(ue, sealed(ue, count + 5, UPDATE))
    assert world.violations == []
    world.down(ue, sealed(ue, count + 3, UPDATE))
    return world


def nas_duplicate() -> World:
    world, ue = registered(World(strict=True))
    pdu = sealed(ue, next_count(ue), UPDATE)
    world.down(ue, pdu)
    world.down(ue, pdu)
    return world


def nas_unprotected() -> World:
    return attempt(lambda amf: amf.plain.add("registration-accept"))[0]


def nas_no_context() -> World:
    return attempt(_octets("authentication-request", lambda _: b"\x7e\x02" + bytes(20)))[0]


def nas_not_ciphered() -> World:
    def change(amf: Amf) -> None:
        amf.headers["registration-accept"] = 1

    return attempt(change)[0]


def nas_header() -> World:
    return attempt(
        _octets("registration-accept", lambda pdu: pdu[:1] + b"\x04" + pdu[2:]),
    )[0]


def nas_malformed() -> World:
    world, ue = registered()
    world.down(ue, sealed(ue, next_count(ue), b"\x7e\x00\x42"))
    return world


def nas_unexpected() -> World:
    world, ue = registered()
    world.amf.down(connection(world, ue), {"message-type": "service-accept"})
    world.settle()
    return world


def nas_status() -> World:
    world, ue = registered()
    world.amf.down(connection(world, ue), STATUS)
    world.settle()
    return world


def nas_contradiction() -> World:
    world, ue = registered()
    reject = {"message-type": "registration-reject", "5gmm-cause": "congestion"}
    world.amf.down(connection(world, ue), reject)
    world.settle()
    return world


def smc_capabilities() -> World:
    changed = {"ea": [0, 1], "ia": [1, 2]}
    change = put("replayed-ue-security-capabilities", "security-mode-command", changed)
    return attempt(change)[0]


def smc_algorithm() -> World:
    changed = {"ciphering": "nea3", "integrity": "nia2"}
    return attempt(put("selected-nas-security-algorithms", "security-mode-command", changed))[0]


def smc_ngksi() -> World:
    return attempt(put("ngksi", "security-mode-command", {"native": 5}))[0]


def accept_result() -> World:
    changed = {"result": "non-3gpp-access"}
    name = "5gs-registration-result"

    def change(amf: Amf) -> None:
        amf.trees["registration-accept"] = lambda t: {**t, name: {**t[name], **changed}}

    return attempt(change)[0]


def accept_guti() -> World:
    return attempt(without("5g-guti", "registration-accept"))[0]


def accept_tai_list() -> World:
    changed = [{"one-plmn-non-consecutive": {"plmn": "001-01", "tacs": [2, 3]}}]
    return attempt(put("tai-list", "registration-accept", changed))[0]


def accept_nssai() -> World:
    return attempt(put("allowed-nssai", "registration-accept", [{"sst": 9}]))[0]


def accept_configured_nssai() -> World:
    return attempt(put("configured-nssai", "registration-accept", [{"sst": 9}]))[0]


def accept_voice() -> World:
    change = put("5gs-network-feature-support", "registration-accept", {"ims-vops-3gpp": False})
    return attempt(change, World(population(voice_centric=True)))[0]


def ngap_malformed() -> World:
    world = World()
    world.gnb.receive(0, b"\xff\x00\x01", world.now)
    world.settle()
    assert world.amf.received[-1] == "ErrorIndication"
    return world


def ngap_syntax() -> World:
    world, _ = attempt(put_ie("NAS-PDU", "DownlinkNASTransport", None))
    assert world.amf.received[-1] == "ErrorIndication"
    return world


def ngap_ids() -> World:
    world, ue = attempt(put_ie("AMF-UE-NGAP-ID", "InitialContextSetupRequest", 77))
    assert "inconsistent-remote-UE-NGAP-ID" in str(wire.ngap_decode(world.sent[-1]))
    assert ue.context is None
    return world


def ngap_stream() -> World:
    world, ue = registered()
    connection(world, ue).stream = 0
    world.run(ue, DEREGISTER)
    return world


def ngap_unexpected() -> World:
    world, ue = registered()
    world.amf.send_ue(connection(world, ue), "UERadioCapabilityCheckRequest")
    world.settle()
    assert world.amf.received[-1] == "ErrorIndication"
    return world


def ngap_error_indication() -> World:
    world, ue = registered()
    cause = {"Cause": {"radioNetwork": "unknown-local-UE-NGAP-ID"}}
    world.amf.send_ue(connection(world, ue), "ErrorIndication", cause)
    world.settle()
    assert ue.context is None
    return world


def ngap_reset() -> World:
    world, ue = registered()
    to = connection(world, ue)
    put_ie("UE-associatedLogicalNG-connectionList", "NGResetAcknowledge", None)(world.amf)
    world.gnb.reset([(to.amf, to.ran)], world.now)
    world.settle()
    return world


def _setup(name: str, value: object) -> World:
    world = World(up=False)
    put_ie(name, "NGSetupResponse", value)(world.amf)
    world.gnb.association_up(8, world.now)
    world.settle()
    return world


def setup_plmn() -> World:
    support = {"pLMNIdentity": "208-93", "sliceSupportList": [{"s-NSSAI": {"sST": 1}}]}
    return _setup("PLMNSupportList", [support])


def setup_slices() -> World:
    support = {"pLMNIdentity": "001-01", "sliceSupportList": [{"s-NSSAI": {"sST": 7}}]}
    return _setup("PLMNSupportList", [support])


def context_missing() -> World:
    def change(amf: Amf) -> None:
        def tree(found: Tree) -> Tree:
            kept = ("AMF-UE-NGAP-ID", "RAN-UE-NGAP-ID", "NAS-PDU")
            ies = [ie for ie in found["ies"] if next(iter(ie)) in kept]
            return {"message": "DownlinkNASTransport", "ies": ies}

        amf.pdus["InitialContextSetupRequest"] = tree

    world, ue = attempt(change)
    world.begin(ue, IDLE)
    world.settle()
    return world


def context_repeated() -> World:
    world, ue = registered()
    put_ie("NAS-PDU", "InitialContextSetupRequest", None)(world.amf)
    to = connection(world, ue)
    to.count += 1
    world.amf.context_setup(to, UPDATE)
    world.settle()
    return world


def _context(name: str, value: object) -> World:
    return attempt(put_ie(name, "InitialContextSetupRequest", value))[0]


def context_key() -> World:
    return _context("SecurityKey", OTHER_KEY)


def context_capabilities() -> World:
    algorithms = {
        "nRencryptionAlgorithms": "8000",
        "nRintegrityProtectionAlgorithms": "c000",
        "eUTRAencryptionAlgorithms": "0000",
        "eUTRAintegrityProtectionAlgorithms": "0000",
    }
    return _context("UESecurityCapabilities", algorithms)


def context_nssai() -> World:
    return _context("AllowedNSSAI", [{"s-NSSAI": {"sST": 1}}])


def context_guami() -> World:
    return _context("GUAMI", {**GUAMI, "aMFPointer": 5})


def context_imeisv() -> World:
    return _context("MaskedIMEISV", "1111111111ffff01")


def context_radio() -> World:
    return _context("UERadioCapability", "0480c0f0ff")


def context_restrictions() -> World:
    area = {"pLMNIdentity": "001-01", "forbiddenTACs": [1]}
    value = {"servingPLMN": "001-01", "forbiddenAreaInformation": [area]}
    return _context("MobilityRestrictionList", value)


def _inactive(index: str, tac: int) -> Callable[[Amf], None]:
    """Return a change of the AMF: INITIAL CONTEXT SETUP REQUEST has assistance information."""
    value = {
        "uEIdentityIndexValue": {"indexLength10": index},
        "periodicRegistrationUpdateTimer": "06",
        "tAIListForInactive": [{"tAI": {"pLMNIdentity": "001-01", "tAC": tac}}],
    }

    def tree(found: Tree) -> Tree:
        ies = list(found["ies"])
        at = next(n for n, ie in enumerate(ies) if "GUAMI" in ie)
        ies.insert(at, {"CoreNetworkAssistanceInformationForInactive": value})
        return {**found, "ies": ies}

    def change(amf: Amf) -> None:
        amf.pdus["InitialContextSetupRequest"] = tree

    return change


def context_inactive() -> World:
    return attempt(_inactive("0000", tac=77))[0]


CASES: dict[Kind, Callable[[], World]] = {
    Kind.AUTN_MAC: autn_mac,
    Kind.AUTN_SEPARATION_BIT: autn_separation_bit,
    Kind.AUTN_SQN: autn_sqn,
    Kind.NGKSI_IN_USE: ngksi_in_use,
    Kind.EAP_UNSUPPORTED: eap_unsupported,
    Kind.NAS_MAC: nas_mac,
    Kind.NAS_COUNT_REUSED: nas_count_reused,
    Kind.NAS_COUNT_BACK: nas_count_back,
    Kind.NAS_DUPLICATE: nas_duplicate,
    Kind.NAS_UNPROTECTED: nas_unprotected,
    Kind.NAS_NO_CONTEXT: nas_no_context,
    Kind.NAS_NOT_CIPHERED: nas_not_ciphered,
    Kind.NAS_HEADER: nas_header,
    Kind.NAS_MALFORMED: nas_malformed,
    Kind.NAS_UNEXPECTED: nas_unexpected,
    Kind.NAS_STATUS: nas_status,
    Kind.NAS_CONTRADICTION: nas_contradiction,
    Kind.SMC_CAPABILITIES: smc_capabilities,
    Kind.SMC_ALGORITHM: smc_algorithm,
    Kind.SMC_NGKSI: smc_ngksi,
    Kind.ACCEPT_RESULT: accept_result,
    Kind.ACCEPT_GUTI: accept_guti,
    Kind.ACCEPT_TAI_LIST: accept_tai_list,
    Kind.ACCEPT_NSSAI: accept_nssai,
    Kind.ACCEPT_CONFIGURED_NSSAI: accept_configured_nssai,
    Kind.ACCEPT_VOICE: accept_voice,
    Kind.NGAP_MALFORMED: ngap_malformed,
    Kind.NGAP_SYNTAX: ngap_syntax,
    Kind.NGAP_IDS: ngap_ids,
    Kind.NGAP_STREAM: ngap_stream,
    Kind.NGAP_UNEXPECTED: ngap_unexpected,
    Kind.NGAP_ERROR_INDICATION: ngap_error_indication,
    Kind.NGAP_RESET: ngap_reset,
    Kind.SETUP_PLMN: setup_plmn,
    Kind.SETUP_SLICES: setup_slices,
    Kind.CONTEXT_MISSING: context_missing,
    Kind.CONTEXT_REPEATED: context_repeated,
    Kind.CONTEXT_KEY: context_key,
    Kind.CONTEXT_CAPABILITIES: context_capabilities,
    Kind.CONTEXT_NSSAI: context_nssai,
    Kind.CONTEXT_GUAMI: context_guami,
    Kind.CONTEXT_IMEISV: context_imeisv,
    Kind.CONTEXT_RADIO: context_radio,
    Kind.CONTEXT_RESTRICTIONS: context_restrictions,
    Kind.CONTEXT_INACTIVE: context_inactive,
    **session_violations.CASES,
    **mobility_violations.CASES,
}


def test_every_kind_has_a_case_and_a_clause() -> None:
    assert set(CASES) == set(Kind)
    assert set(CLAUSES) == set(Kind)


@pytest.mark.parametrize("kind", CASES, ids=str)
def test_a_core_that_violates_is_found_out(kind: Kind) -> None:
    world = CASES[kind]()
    first = world.violations[0]
    assert first.kind is kind
    assert first.clause == CLAUSES[kind]
    assert first.text
    assert first.who in ("gnb-1", "gnb-2") or first.who.startswith("imsi-00101")
    assert all(len(v.text) < 400 for v in world.violations)


@pytest.mark.parametrize(("kind", "case"), session_violations.MORE + mobility_violations.MORE)
def test_more_ways_to_be_found_out(kind: Kind, case: Callable[[], World]) -> None:
    world = case()
    assert kind in world.kinds()


@pytest.mark.parametrize("kind", [k for k in CASES if str(k).startswith(("accept-", "context-"))])
def test_a_violation_fails_the_procedure_it_happens_in(kind: Kind) -> None:
    world = CASES[kind]()
    ends = [end for _, end in world.gnb.cell.ended]
    if kind is not Kind.CONTEXT_REPEATED:
        assert [e.cause for e in ends if e.cause is not None] == [f"violation-{kind}"]


def test_an_accept_at_switch_off_is_unexpected() -> None:
    world, ue = registered()
    to = connection(world, ue)
    world.amf.pdus["UEContextReleaseCommand"] = lambda _: None
    world.begin(ue, OFF)
    world.settle()
    world.amf.down(to, {"message-type": "deregistration-accept-ue-originating"})
    world.settle()
    assert world.kinds() == [Kind.NAS_UNEXPECTED]


@pytest.mark.parametrize("nea", [1, 2])
def test_a_message_said_to_be_ciphered_must_be(nea: int) -> None:
    world, ue = registered(World(population(algorithms=(Algorithms((0, nea), (2,)),))))
    world.down(ue, sealed(ue, next_count(ue), UPDATE, cipher=False))
    assert world.kinds() == [Kind.NAS_NOT_CIPHERED]


def test_the_same_amf_ue_ngap_id_for_two_ues() -> None:
    world, _ = registered()
    world.amf.last_id = 0
    other = world.ue(1)
    world.begin(other, REGISTER)
    world.settle()
    assert world.kinds()[0] is Kind.NGAP_IDS


@pytest.mark.parametrize("name", ["registration-reject", "service-reject"])
def test_causes_that_are_never_taken_unprotected(name: str) -> None:
    world, ue = attempt(lambda amf: amf.trees.update({"authentication-request": lambda _: None}))
    assert world.violations == []
    world.down(ue, wire.nas_encode({"message-type": name, "5gmm-cause": 76}))
    assert world.kinds() == [Kind.NAS_UNPROTECTED]


def test_an_identity_request_for_more_than_the_suci_is_not_answered_in_the_clear() -> None:
    world, ue = attempt(lambda amf: amf.trees.update({"authentication-request": lambda _: None}))
    world.down(ue, wire.nas_encode({"message-type": "identity-request", "identity-type": "imeisv"}))
    assert world.kinds() == [Kind.NAS_UNPROTECTED]
    assert "identity-response" not in world.amf.received


@pytest.mark.parametrize(("name", "header"), [("security-mode-command", 2), ("5gmm-status", 3)])
def test_the_header_of_a_new_context_is_for_the_command_alone(name: str, header: int) -> None:
    world, ue = registered()
    tree = wire.nas_decode(bytes.fromhex("7e005d0200028020")) if header == 2 else STATUS
    assert tree["message-type"] == name
    octets = wire.nas_encode(tree)
    world.down(ue, sealed(ue, next_count(ue), octets, header=header, cipher=header == 2))
    assert world.kinds()[0] in (Kind.NAS_HEADER, Kind.NAS_MALFORMED)


def test_a_5g_guti_that_is_not_renewed() -> None:
    world, ue = registered()
    world.run(ue, DEREGISTER)
    assert ue.ue.guti is not None
    guti = {"guti": _guti(ue.ue.guti.tmsi)}
    world.amf.trees["registration-accept"] = lambda t: {**t, "5g-guti": guti}
    assert world.run(ue, REGISTER).cause == "violation-accept-guti"


def _guti(tmsi: int) -> dict[str, object]:
    ids = {"amf-region-id": 2, "amf-set-id": 3, "amf-pointer": 4}
    return {"plmn": "001-01", **ids, "tmsi": tmsi}


@pytest.mark.parametrize("ie", ["allowed-nssai", "tai-list"])
def test_an_accept_without_what_it_must_have(ie: str) -> None:
    world, _ = attempt(without(ie, "registration-accept"))
    assert world.kinds()[0] in (Kind.ACCEPT_NSSAI, Kind.ACCEPT_TAI_LIST)


def test_a_context_without_an_allowed_nssai() -> None:
    world, _ = attempt(put_ie("AllowedNSSAI", "InitialContextSetupRequest", None))
    assert world.kinds() == [Kind.NGAP_SYNTAX]


def test_a_stream_that_changes() -> None:
    world, ue = registered()
    to = connection(world, ue)
    to.stream = to.stream % 7 + 1
    world.run(ue, DEREGISTER)
    assert world.kinds() == [Kind.NGAP_STREAM]


@pytest.mark.parametrize(
    ("own", "seconds", "tolerated"), [(True, 1.9, True), (True, 2.1, False), (False, 1.9, False)]
)
def test_the_identity_index_is_checked_when_the_ue_goes_idle(
    *, own: bool, seconds: float, tolerated: bool
) -> None:
    """TS 38.304 7.1: the gNB would page the UE in RRC_INACTIVE by another 5G-S-TMSI. A release may
    overtake the message with a new index, so that the gNB has the one from before."""
    world, ue = registered()
    world.run(ue, DEREGISTER)
    assert ue.ue.guti is not None
    before = ue.ue.guti.tmsi % 1024 if own else 1023
    _inactive(f"{before << 6:04x}", tac=1)(world.amf)
    assert world.run(ue, REGISTER).cause is None
    assert ue.ue.guti.tmsi % 1024 != before
    world.pass_time(seconds)
    assert world.run(ue, IDLE).cause == (None if tolerated else "violation-context-inactive")
    assert ue.ue.record.tolerated == ({Kind.CONTEXT_INACTIVE: 1} if tolerated else {})
