"""NAS messages written without a tree have the octets of their trees."""

from collections.abc import Callable
from ipaddress import IPv4Address
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wire
from tests.wire.profiles import FAST

Tree = dict[str, Any]

octet = st.integers(0, 255)
key16 = st.binary(min_size=16, max_size=16)
tmsi = st.integers(0, 0xFFFF_FFFF)
timer = st.sampled_from((2, 30, 60, 600, 720, 3600))
slices = st.lists(
    st.fixed_dictionaries(
        {"sst": octet}, optional={"sd": st.binary(min_size=3, max_size=3).map(bytes.hex)}
    ),
    min_size=1,
    max_size=8,
)


@FAST
@given(st.integers(0, 6), st.binary(min_size=2, max_size=255), key16, key16)
def test_an_authentication_request(ngksi: int, abba: bytes, rand: bytes, autn: bytes) -> None:
    assert wire.nas_authentication_request(ngksi, abba, rand, autn) == wire.nas_encode(
        {
            "message-type": "authentication-request",
            "ngksi": {"native": ngksi},
            "abba": {"octets": abba.hex()},
            "authentication-parameter-rand": {"octets": rand.hex()},
            "authentication-parameter-autn": {"octets": autn.hex()},
        }
    )


@FAST
@given(st.binary(min_size=1, max_size=300), octet, st.none() | octet)
def test_a_dl_nas_transport(container: bytes, psi: int, cause: int | None) -> None:
    tree: Tree = {
        "message-type": "dl-nas-transport",
        "payload-container-type": "n1-sm-information",
        "payload-container": {"octets": container.hex()},
        "pdu-session-id": {"octets": f"{psi:02x}"},
    }
    if cause is not None:
        tree["5gmm-cause"] = {"octets": f"{cause:02x}"}
    assert wire.nas_dl_transport(container, psi, cause) == wire.nas_encode(tree)


def guti(value: int, pointer: int = 0) -> Tree:
    return {
        "guti": {
            "plmn": "208-93",
            "amf-region-id": 202,
            "amf-set-id": 1018,
            "amf-pointer": pointer,
            "tmsi": value,
        }
    }


registration_accepts = st.fixed_dictionaries(
    {
        "message-type": st.just("registration-accept"),
        "5gs-registration-result": st.sampled_from(
            ({"result": "3gpp-access"}, {"result": "3gpp-access", "emergency-registered": True})
        ),
        "allowed-nssai": slices,
        "t3512-value": timer,
    },
    optional={
        "tai-list": st.lists(octet, min_size=1, max_size=16, unique=True).map(
            lambda tacs: [{"one-plmn-non-consecutive": {"plmn": "208-93", "tacs": tacs}}]
        ),
        "pdu-session-status": st.lists(st.integers(1, 15), unique=True).map(sorted),
        "t3502-value": timer,
        "5gs-network-feature-support": st.just({"ims-vops-3gpp": False, "emc": "nr-only"}),
    },
)


@FAST
@given(registration_accepts, st.integers(0, 63), tmsi, tmsi)
def test_the_template_of_a_registration_accept(
    tree: Tree, pointer: int, example: int, value: int
) -> None:
    template = wire.NasTemplate({**tree, "5g-guti": guti(example, pointer)})
    wanted = wire.nas_encode({**tree, "5g-guti": guti(value, pointer)})
    assert template.registration_accept(value) == wanted
    assert template.registration_accept(value) == wanted


RULE = {
    "rule-id": 1,
    "op-code": "create",
    "dqr": True,
    "packet-filters": [
        {"match": {"direction": "bidirectional", "identifier": 1, "components": ["match-all"]}}
    ],
    "precedence": 255,
    "qfi": 1,
    "segregation": False,
}
FLOW = {"qfi": 1, "op-code": "create", "e-flag": True, "params": [{"5qi": 9}]}
establishment_accepts = st.fixed_dictionaries(
    {
        "message-type": st.just("pdu-session-establishment-accept"),
        "selected-pdu-session-type": st.sampled_from(("ipv4", "ipv6", "ipv4v6")),
        "selected-ssc-mode": st.just("ssc1"),
        "authorized-qos-rules": st.just([RULE]),
        "session-ambr": st.fixed_dictionaries(
            {"dl-kbps": st.integers(1, 65535), "ul-kbps": st.integers(1, 65535)}
        ),
    },
    optional={
        "5gsm-cause": st.sampled_from((50, 51)),
        "s-nssai": slices.map(lambda some: some[0]),
        "always-on-pdu-session-indication": st.just({"octets": "00"}),
        "authorized-qos-flow-descriptions": st.just([FLOW]),
        "extended-protocol-configuration-options": st.lists(
            st.ip_addresses(v=4).map(lambda a: {"dns-server-ipv4-address": str(a)}), min_size=1
        ),
        "dnn": st.sampled_from(("internet", "ims.mnc093.mcc208.gprs")),
    },
)


@FAST
@given(
    establishment_accepts,
    st.integers(1, 15),
    st.integers(0, 254),
    st.none() | st.ip_addresses(v=4),
    st.none() | st.integers(0, (1 << 64) - 1),
)
def test_the_template_of_an_establishment_accept(
    tree: Tree, psi: int, pti: int, ipv4: IPv4Address | None, interface_id: int | None
) -> None:
    example = {"pdu-session-identity": 1, "procedure-transaction-identity": 1}
    template = wire.NasTemplate({**tree, **example})
    address: Tree = {} if ipv4 is None else {"ipv4": str(ipv4)}
    if interface_id is not None:
        address["ipv6-interface-id"] = f"{interface_id:016x}"
    if not address:
        with pytest.raises(wire.WireError, match="a PDU address of neither version"):
            template.establishment_accept(psi, pti, "", None)
        return
    wanted = {
        **tree,
        "pdu-session-identity": psi,
        "procedure-transaction-identity": pti,
        "pdu-address": address,
    }
    found = template.establishment_accept(psi, pti, str(ipv4 or ""), interface_id)
    assert found == wire.nas_encode(wanted)


STATUS: Tree = {"message-type": "5gmm-status", "5gmm-cause": 111}
BARE: Tree = {
    "message-type": "registration-accept",
    "5gs-registration-result": {"result": "3gpp-access"},
}
GSM: Tree = {
    "message-type": "pdu-session-establishment-accept",
    "pdu-session-identity": 1,
    "procedure-transaction-identity": 1,
    "selected-pdu-session-type": "ipv4",
    "selected-ssc-mode": "ssc1",
    "authorized-qos-rules": [RULE],
    "session-ambr": {"dl-kbps": 1, "ul-kbps": 1},
}
A = bytes(16)


@pytest.mark.parametrize(
    ("refused", "why"),
    [
        (lambda: wire.nas_authentication_request(8, b"\0\0", A, A), "8"),
        (lambda: wire.nas_authentication_request(0, b"\0\0", A[1:], A), "RAND has 16 octets"),
        (lambda: wire.nas_authentication_request(0, b"\0\0", A, A + A), "and not 32"),
        (lambda: wire.nas_authentication_request(0, bytes(256), A, A), "256 octets are written"),
        (lambda: wire.nas_dl_transport(bytes(65536), 1), "65536 octets are written"),
        (lambda: wire.NasTemplate({"message-type": "no-message"}), "no-message"),
        (lambda: wire.NasTemplate(STATUS).registration_accept(1), "no REGISTRATION ACCEPT"),
        (lambda: wire.NasTemplate(BARE).registration_accept(1), "with a 5G-GUTI"),
        (lambda: wire.NasTemplate(BARE).establishment_accept(1, 1, "10.0.0.1", None), "SESSION"),
        (lambda: wire.NasTemplate(GSM).establishment_accept(1, 1, "10.0.0", None), "10.0.0"),
    ],
)
def test_what_is_refused(refused: Callable[[], object], why: str) -> None:
    with pytest.raises(wire.WireError, match=why) as found:
        refused()
    assert found.value.kind == "nas-encode"


@pytest.mark.parametrize(
    "refused",
    [
        lambda: wire.nas_authentication_request(-1, b"\0\0", A, A),
        lambda: wire.nas_dl_transport(b"\x2e", 256),
        lambda: wire.NasTemplate({**BARE, "5g-guti": guti(1)}).registration_accept(1 << 32),
    ],
)
def test_numbers_that_no_parameter_can_hold(refused: Callable[[], object]) -> None:
    with pytest.raises(OverflowError):
        refused()
