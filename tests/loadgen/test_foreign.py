"""The optional IEs of other makers: complete tables, valid messages, and each IE is drawn."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final, cast

import pytest

import wire
from loadgen import ConfigError, LoadConfig, SNssai
from loadgen.foreign import ForeignNas, ForeignNgap
from loadgen.foreign.asn1 import ngap, type_name
from loadgen.foreign.nas_table import TABLES
from loadgen.foreign.ngap_table import LEFT_OUT_FIELDS, LEFT_OUT_IES
from loadgen.gnb.messages import GnbConfig, ng_setup_request
from loadgen.load.driver import Driver
from loadgen.session_model import SessionRequest
from loadgen.ue import messages
from loadgen.ue.profile import imeisv_identity
from tests.conformance import ngap as ngap_samples
from tests.conformance.bench import Bench
from tests.conformance.ngap_table import DOWN, MESSAGES
from tests.conformance.states import STATES
from tests.loadgen.world import population
from tests.wire import nas_oracle, ngap_oracle

Tree = dict[str, Any]

pytestmark = pytest.mark.slow

DRAWS: Final = 100
"""Draws of each NAS message. Each optional IE must be among them."""
NGAP_DRAWS: Final = 25
ORACLE_SHARE: Final = 7
"""pycrate reads one NAS message in this number; it takes some milliseconds for one."""

# NAS

_CLASSES: Final = {
    0x41: "RegistrationRequest",
    0x43: "RegistrationComplete",
    0x45: "MODeregistrationRequest",
    0x4C: "ServiceRequest",
    0x57: "AuthenticationResponse",
    0x59: "AuthenticationFailure",
    0x5E: "SecurityModeComplete",
    0x67: "ULNASTransport",
    0xC1: "PDUSessionEstabRequest",
    0xC9: "PDUSessionModifRequest",
    0xD1: "PDUSessionReleaseRequest",
    0xD4: "PDUSessionReleaseComplete",
}
"""pycrate's class of each message."""
_SIZES: Final = {"Type4TLV": "TLV", "Type6TLVE": "TLV-E"}


def _of_pycrate(kind: int) -> dict[int, str]:
    """Return the format of each optional IE of a message in pycrate, by IEI."""
    from pycrate_mobile import (  # pyright: ignore[reportMissingTypeStubs]
        TS24501_FGMM,
        TS24501_FGSM,
    )

    module: Any = TS24501_FGSM if kind > 0x80 else TS24501_FGMM
    made = getattr(module, f"{'FGSM' if kind > 0x80 else 'FGMM'}{_CLASSES[kind]}")()
    found: dict[int, str] = {}
    for ie in made._content:
        tag = next((p for p in getattr(ie, "_content", ()) if p._name == "T"), None)
        if tag is not None:
            half = type(ie).__name__ in ("Type1TV", "Type2")
            found[tag.get_val() << 4 * half] = type(ie).__name__
    return found


@pytest.mark.parametrize("kind", _CLASSES)
def test_a_table_has_every_ie_that_pycrate_knows_in_the_same_order(kind: int) -> None:
    theirs = _of_pycrate(kind)
    ours = [ie.iei for ie in TABLES[kind]]
    assert len(set(ours)) == len(ours)
    assert [iei for iei in ours if iei in theirs] == list(theirs)


def test_an_ie_has_a_value_or_a_reason() -> None:
    for table in TABLES.values():
        for ie in table:
            assert (ie.value is None) == bool(ie.reason), ie


def _plain() -> Iterator[tuple[bytes, bytes | None]]:
    """Return the messages of a UE; of a REGISTRATION REQUEST also its cleartext form."""
    (profile,) = population(1)
    suci = profile.conceal()
    for kind in (1, 2, 3):
        for psis in ([], [1, 15]):
            status = messages.sessions_ie(messages.PDU_SESSION_STATUS, psis)
            yield messages.registration_request(profile, 7, suci, kind, status=status)
    request = messages.service_request(1, bytes.fromhex("f40040c0000001"))
    status = messages.sessions_ie(messages.PDU_SESSION_STATUS, [1, 2])
    yield request + messages.sessions_ie(messages.UPLINK_DATA_STATUS, [1]) + status, None
    entire, _ = messages.registration_request(profile, 7, suci)
    yield messages.security_mode_complete(imeisv_identity("1" * 16), entire), None
    yield messages.authentication_response(bytes(16)), None
    yield messages.authentication_failure(21, bytes(14)), None
    yield messages.identity_response(suci), None
    yield messages.deregistration_request(1, suci, switch_off=True), None
    for plain in (
        messages.REGISTRATION_COMPLETE,
        messages.CONFIGURATION_UPDATE_COMPLETE,
        messages.DEREGISTRATION_ACCEPT,
    ):
        yield plain, None
    dnn = SessionRequest("internet", SNssai(1, "010203"))
    for kind in ("ipv4", "ipv6", "ipv4v6"):
        yield messages.ul_nas_transport(1, messages.establishment_request(1, 1, kind), dnn), None
    for octets in ("c9", "cc", "cd1a", "d1", "d159" + "24", "d4", "c6000402010004"):
        yield messages.ul_nas_transport(1, bytes.fromhex("2e0101" + octets)), None


def _inner(plain: bytes) -> bytes | None:
    """Return the 5GSM message in an UL NAS TRANSPORT."""
    if plain[2] != 0x67:
        return None
    return plain[6 : 6 + int.from_bytes(plain[4:6], "big")]


def _mandatory(tree: Tree, kind: int) -> Tree:
    optional = {ie.name for ie in TABLES[kind]} | {"unknown-ies", "payload-container"}
    return {name: value for name, value in tree.items() if name not in optional}


def _check(own: bytes, foreign: bytes, drawn: Counter[tuple[int, str]]) -> None:
    """Check that a message has the mandatory IEs of its original; count the optional IEs."""
    gsm = own[0] == 0x2E
    kind = own[3] if gsm else own[2]
    assert wire.nas_answer(foreign) is None, foreign.hex()
    before, after = wire.nas_decode(own), wire.nas_decode(foreign)
    assert _mandatory(before, kind) == _mandatory(after, kind)
    drawn.update((kind, name) for name in after if after[name] != before.get(name))


def test_every_nas_message_is_valid_and_each_optional_ie_is_drawn() -> None:
    foreign, drawn = ForeignNas("1"), Counter[tuple[int, str]]()
    for number, (own, cleartext) in enumerate(list(_plain()) * DRAWS):
        if cleartext is None:
            made = foreign.message(own)
        else:
            made, clear = foreign.request(own, cleartext)
            assert wire.nas_answer(clear) is None
            assert wire.nas_decode(clear).keys() - wire.nas_decode(cleartext).keys() <= {
                "ue-status"
            }
        _check(own, made, drawn)
        if number % ORACLE_SHARE == 0:
            assert nas_oracle.mandatory(own) == nas_oracle.mandatory(made)
        inner, inner_made = _inner(own), _inner(made)
        if inner is not None and inner_made is not None:
            _check(inner, inner_made, drawn)
            if number % ORACLE_SHARE == 0:
                assert nas_oracle.mandatory(inner) == nas_oracle.mandatory(inner_made)
    wanted = {(kind, ie.name) for kind, table in TABLES.items() for ie in table if ie.value}
    assert wanted <= drawn.keys(), wanted - drawn.keys()
    assert {(kind, "unknown-ies") for kind in TABLES} <= drawn.keys()


# NGAP


def _optional(message: str) -> set[str]:
    """Return the types of the optional IEs of a message."""
    contents = ngap().NGAP_PDU_Contents
    table = getattr(contents, f"{message}IEs", None) or getattr(contents, f"{message}_IEs")
    return {type_name(e["Value"]) for e in table.get_val().root if e["presence"] == "optional"}


UPLINK: Final = [message.name for message in MESSAGES.values() if message.direction != DOWN]


def test_each_left_out_ie_and_field_is_in_the_asn1() -> None:
    known = {name for message in UPLINK for name in _optional(message)}
    assert LEFT_OUT_IES.keys() <= known, LEFT_OUT_IES.keys() - known
    types: Tree = ngap().NGAP_IEs.__dict__
    for owner, field in LEFT_OUT_FIELDS:
        if owner != "*":
            extensions = types.get(f"{owner.replace('-', '_')}_ExtIEs")
            extra: list[Tree] = [] if extensions is None else extensions.get_val().root
            fields: set[str] = {*types[owner.replace("-", "_")]._cont}
            assert field in fields | {type_name(e["Extension"]) for e in extra}, field


def _ies(pdu: bytes) -> dict[int, Any]:
    """Return the IEs of a PDU by their identifier, as pycrate decodes them."""
    _, body = ngap_oracle.decode(pdu)
    return {ie["id"]: ie["value"] for ie in body["value"][1]["protocolIEs"]}


def _contains(more: Any, less: Any) -> bool:
    """Whether a value has all parts of another, and perhaps further optional fields."""
    if isinstance(less, dict):
        parts = cast("Tree", less)
        return all(name in more and _contains(more[name], part) for name, part in parts.items())
    if isinstance(less, list | tuple):
        items: list[Any] = list(cast("Sequence[Any]", less))
        others: list[Any] = list(more)
        return len(others) == len(items) and all(map(_contains, others, items))
    return bool(more == less)


def _pdus(bench: Bench) -> Iterator[tuple[str, bytes]]:
    """Return every message of a gNB."""
    yield "InitialUEMessage", bench.fork().nas(b"\x7e\x00\x43", "plain", initial=True).data
    yield "UplinkNASTransport", bench.fork().nas(b"\x7e\x00\x43", "plain").data
    for sample in ngap_samples.samples():
        yield sample.message, sample.event(bench.fork()).data


def test_every_ngap_message_is_valid_and_each_optional_ie_is_drawn() -> None:
    foreign, drawn = ForeignNgap("1"), Counter[tuple[str, str]]()
    pdus = list(_pdus(STATES["active"].build()))
    assert {message for message, _ in pdus} == set(UPLINK)
    for message, own in pdus * NGAP_DRAWS:
        made = foreign.message(own)
        assert wire.ngap_check(made) == wire.ngap_check(own), made.hex()
        assert wire.ngap_peek(made).message == message
        before, after = _ies(own), _ies(made)
        assert _contains(after, before), made.hex()
        tree = wire.ngap_decode(made)
        assert wire.ngap_encode(tree) == made
        drawn.update((message, name) for name, _ in after.values())
    for message in UPLINK:
        missing = {(message, name) for name in _optional(message) - LEFT_OUT_IES.keys()}
        assert missing <= drawn.keys(), missing - drawn.keys()
    assert len([message for message, name in drawn if name == "_unk_004"]) > len(UPLINK) * 0.9


def test_each_ue_stays_in_its_own_plmn() -> None:
    """38.413 9.3.1.16: the location in a message is that of its UE, and not of the UE before it."""
    foreign, found = ForeignNgap("1"), Counter[tuple[int, str]]()
    located = {1: "001-01", 2: "310-410"}
    for number, plmn in located.items():
        foreign.message(_location_report(number, plmn))
    for number in [1, 2] * NGAP_DRAWS:
        ids = {"AMF-UE-NGAP-ID": number}, {"RAN-UE-NGAP-ID": number}
        complete = foreign.message(_encode("UEContextReleaseComplete", *ids))
        for ie in wire.ngap_decode(complete)["ies"]:
            if "UserLocationInformation" in ie:
                told = ie["UserLocationInformation"]["userLocationInformationNR"]["tAI"]
                found[number, told["pLMNIdentity"]] += 1
    assert found.keys() == set(located.items())


def _location_report(number: int, plmn: str) -> bytes:
    cell = {"pLMNIdentity": plmn, "nRCellIdentity": 16}
    location = {"nR-CGI": cell, "tAI": {"pLMNIdentity": plmn, "tAC": 1}}
    return _encode(
        "UplinkNASTransport",
        {"AMF-UE-NGAP-ID": number},
        {"RAN-UE-NGAP-ID": number},
        {"NAS-PDU": "7e0043"},
        {"UserLocationInformation": {"userLocationInformationNR": location}},
    )


def _encode(message: str, *ies: Tree) -> bytes:
    return wire.ngap_encode({"message": message, "ies": list(ies)})


# A run


def test_a_seed_repeats_the_messages() -> None:
    own = [plain for plain, _ in _plain()]
    pdu = ng_setup_request(GnbConfig("a", 1))

    def made(seed: str) -> tuple[list[bytes], bytes, str]:
        nas, gnb = ForeignNas(seed), ForeignNgap(seed)
        return [nas.message(plain) for plain in own], gnb.message(pdu), gnb.name()

    assert made("1") == made("1")
    assert all(one != another for one, another in zip(made("1"), made("2"), strict=True))


async def test_gnbs_have_ids_of_many_sizes_and_any_names() -> None:
    config = LoadConfig(profile="foreign", gnbs=40)
    gnbs = Driver(config, lambda _: None, None).gnbs  # pyright: ignore[reportArgumentType]
    assert {one.config.gnb_id_bits for one in gnbs} == set(range(22, 33))
    for one in gnbs:
        tree = wire.ngap_decode(ng_setup_request(one.config))["ies"]
        node = tree[0]["GlobalRANNodeID"]["globalGNB-ID"]["gNB-ID"]["gNB-ID"]
        assert int(node["value"], 16) >> -node["length"] % 8 == one.config.gnb_id
        assert tree[1]["RANNodeName"] == one.config.name
    assert set("".join(one.config.name for one in gnbs)) >= set(" '()+,-./:=?aZ09")


def test_without_pycrate_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pycrate_asn1dir.NGAP", None)
    with pytest.raises(ConfigError, match=r"needs pycrate: pip install 'evcore\[asn1\]'"):
        ForeignNgap("1")
