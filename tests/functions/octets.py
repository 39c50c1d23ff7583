"""Invalid messages: NAS messages under any protection, and NGAP PDUs with any IEs."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from hypothesis import strategies as st

import wire
from schemas.gmm.state import SecurityContext
from tests.functions.phone import Phone
from tests.functions.world import World

BEARER_3GPP = 1
GMM, GSM = 0x7E, 0x2E
GMM_TYPES = [*range(0x41, 0x50), *range(0x54, 0x6B)]
GSM_TYPES = [*range(0xC1, 0xD9)]

AMF_UE_NGAP_ID, RAN_UE_NGAP_ID, NAS_PDU, USER_LOCATION = 10, 85, 38, 121
"""Identifiers of IEs (TS 38.413 9.4.7)."""


def sealed(
    context: SecurityContext,
    plain: bytes,
    header: int,
    count: int,
    *,
    cipher: bool = True,
) -> bytes:
    """Return an uplink message with the right MAC of a context; its contents may be invalid."""
    body = plain
    if cipher:
        key = wire.knas_enc(context.kamf, context.nea)
        body = wire.nea(context.nea, key, count, BEARER_3GPP, plain, downlink=False)
    body = bytes([count & 0xFF]) + body
    key = wire.knas_int(context.kamf, context.nia)
    mac = wire.nia(context.nia, key, count, BEARER_3GPP, body, downlink=False)
    return bytes([GMM, header]) + mac + body


class Protection(NamedTuple):
    """The protection of a NAS message."""

    header: int
    """The security header type; 0 for a plain message."""
    context: str = ""
    """current or pending; empty for unknown keys."""
    ahead: int = 0
    """Offset to the COUNT that the core expects."""
    good: bool = True
    cipher: bool = True

    def of(self, plain: bytes, current: SecurityContext | None, pending: Any) -> bytes:
        if self.header == 0:
            return plain
        context = {"current": current, "pending": pending}.get(self.context)
        if context is None:
            return bytes([GMM, self.header]) + b"\x00\x01\x02\x03\x04" + plain
        count = max(0, context.uplink + self.ahead)
        made = sealed(context, plain, self.header, count, cipher=self.cipher)
        return made if self.good else made[:3] + bytes([made[3] ^ 1]) + made[4:]


protections = st.one_of(
    st.just(Protection(0)),
    st.builds(
        Protection,
        st.integers(1, 4),
        st.sampled_from(["current", "pending", ""]),
        st.sampled_from([0, 0, 0, -1, 1, 255, 256, -300]),
        st.sampled_from([True, True, True, False]),
        st.booleans(),
    ),
)


def captured_nas() -> list[bytes]:
    """Return the plain messages of a UE, in a typical life and beyond."""
    world = World()
    phone = Phone(world)
    request, suci = phone.request(), phone.identity("null")
    guti = {"plmn": "001-01", "amf-region-id": 1, "amf-set-id": 1, "amf-pointer": 0, "tmsi": 5}
    octets = {"octets": "00" * 16}
    off = {"switch-off": True, "re-registration-required": False, "access-type": "3gpp-access"}
    deregistration = {
        "message-type": "deregistration-request-ue-originating",
        "de-registration-type": off,
        "ngksi": {"native": 0},
        "5gs-mobile-identity": {"guti": guti},
    }
    nssai = [{"sst": 1, "sd": "010203"}, {"sst": 2}]
    auts = {"octets": "00" * 14}
    failure = {"message-type": "authentication-failure"}
    update = {"registration-type": "periodic-registration-updating", "follow-on-request": False}
    service = {
        "message-type": "service-request",
        "ngksi": {"native": 0},
        "service-type": "signalling",
        "5g-s-tmsi": {"s-tmsi": {"amf-set-id": 1, "amf-pointer": 0, "tmsi": 5}},
    }
    trees: list[dict[str, Any]] = [
        request,
        {**request, "5gs-mobile-identity": {"guti": guti}, "requested-nssai": nssai},
        {**request, "5gs-mobile-identity": {"imei": "490154203237518"}},
        {"message-type": "registration-complete"},
        {"message-type": "identity-response", "mobile-identity": suci},
        {"message-type": "authentication-response"},
        {"message-type": "authentication-response", "authentication-response-parameter": octets},
        {**failure, "5gmm-cause": "mac-failure"},
        {**failure, "5gmm-cause": "ng-ksi-already-in-use"},
        {**failure, "5gmm-cause": "synch-failure", "authentication-failure-parameter": auts},
        {"message-type": "security-mode-complete", "imeisv": {"imeisv": "4370816125816151"}},
        {"message-type": "security-mode-complete", "nas-message-container": request},
        {"message-type": "security-mode-reject", "5gmm-cause": 23},
        deregistration,
        {**deregistration, "de-registration-type": {**off, "switch-off": False}},
        {"message-type": "5gmm-status", "5gmm-cause": 111},
        {
            "message-type": "ul-nas-transport",
            "payload-container-type": "n1-sm-information",
            "payload-container": {"octets": "2e0101c1"},
            "pdu-session-id": 1,
        },
        {"message-type": "deregistration-accept-ue-terminated"},
        {"message-type": "configuration-update-complete"},
        service,
        {**service, "service-type": "mobile-terminated-services", "uplink-data-status": [1]},
        {**service, "ue-request-type": "nas-signalling-connection-release"},
        {**request, "5gs-registration-type": update, "5gs-mobile-identity": {"guti": guti}},
    ]
    return [wire.nas_encode(tree) for tree in trees]


NAS = captured_nas()


def _change(pdu: bytes, at: int, octet: int, cut: int) -> bytes:
    at %= len(pdu)
    return (pdu[:at] + bytes([octet]) + pdu[at + 1 :])[: max(1, len(pdu) - cut)]


def _with_ie(pdu: bytes, identifier: int, value: bytes, extended: bool) -> bytes:
    size = len(value).to_bytes(2 if extended else 1, "big")
    return pdu + bytes([identifier]) + size + value


octet = st.integers(0, 255)


def changed_pdu(of: list[bytes]) -> st.SearchStrategy[bytes]:
    """Return a PDU with one octet changed, or truncated."""
    return st.builds(_change, st.sampled_from(of), st.integers(0, 80), octet, st.integers(0, 3))


changed = changed_pdu(NAS)
extended = st.builds(_with_ie, st.sampled_from(NAS), octet, st.binary(max_size=40), st.booleans())
typed = st.builds(
    lambda kind, rest: bytes([GMM, 0, kind]) + rest,
    st.sampled_from(GMM_TYPES),
    st.binary(max_size=40),
)
session = st.builds(
    lambda kind, rest: bytes([GSM, 1, 1, kind]) + rest,
    st.sampled_from(GSM_TYPES),
    st.binary(max_size=20),
)
anything = st.binary(max_size=40)
plain_nas = st.one_of(st.sampled_from(NAS), changed, extended, typed, session, anything)


# NGAP, octet by octet (aligned PER)


def sized(value: bytes) -> bytes:
    """Return an open type or octet string: its length and its value."""
    size = len(value)
    return (bytes([size]) if size < 128 else (0x8000 | size).to_bytes(2, "big")) + value


def ie(identifier: int, criticality: int, value: bytes) -> bytes:
    """Return a ProtocolIE-Field; the criticality is 0 reject, 1 ignore, 2 notify."""
    return identifier.to_bytes(2, "big") + bytes([criticality << 6]) + sized(value)


def pdu(code: int, direction: int, criticality: int, ies: Iterable[bytes]) -> bytes:
    """Return an NGAP PDU with any IEs; the direction is 0 initiating, 1 successful, 2
    unsuccessful."""
    listed = list(ies)
    value = b"\x00" + len(listed).to_bytes(2, "big") + b"".join(listed)
    return bytes([direction << 5, code, criticality << 6]) + sized(value)


def unsigned(value: int, width: int) -> bytes:
    """Return a constrained integer of at most `width` octets: the length in the top bits, then the
    value."""
    octets = value.to_bytes(max(1, -(-value.bit_length() // 8)), "big")
    return bytes([(len(octets) - 1) << (5 if width > 4 else 6)]) + octets


def known_procedures() -> list[tuple[int, int]]:
    """Return the code and direction of every message that the codec supports."""
    found: list[tuple[int, int]] = []
    for code in range(256):
        for direction in range(3):
            try:
                peek = wire.ngap_peek(pdu(code, direction, 0, []))
            except wire.WireError:
                continue
            if peek.message != "unknown":
                found.append((code, direction))
    return found


PROCEDURES = known_procedures()
IES = [*range(200), 9999, 65535]


class RawPdu(NamedTuple):
    """An NGAP PDU without the identifiers of a connection."""

    procedure: tuple[int, int]
    criticality: int
    ids: tuple[bool, bool]
    """Whether it has an AMF-UE-NGAP-ID and a RAN-UE-NGAP-ID."""
    nas: bytes | None
    more: tuple[tuple[int, int, bytes], ...]
    doubled: bool

    def of(self, amf_ue_ngap_id: int, ran_ue_ngap_id: int) -> bytes:
        ies: list[bytes] = []
        if self.ids[0]:
            ies.append(ie(AMF_UE_NGAP_ID, 0, unsigned(amf_ue_ngap_id, 5)))
        if self.ids[1]:
            ies.append(ie(RAN_UE_NGAP_ID, 0, unsigned(ran_ue_ngap_id, 4)))
        if self.nas is not None:
            ies.append(ie(NAS_PDU, 0, sized(self.nas)))
        ies.extend(ie(*given) for given in self.more)
        if self.doubled and ies:
            ies.append(ies[-1])
        return pdu(*self.procedure, self.criticality, ies)


raw_pdus = st.builds(
    RawPdu,
    st.sampled_from(PROCEDURES) | st.tuples(st.integers(0, 255), st.integers(0, 3)),
    st.integers(0, 3),
    st.tuples(st.sampled_from([True, True, False]), st.sampled_from([True, True, False])),
    st.none() | plain_nas,
    st.lists(
        st.tuples(st.sampled_from(IES), st.integers(0, 3), st.binary(max_size=12)), max_size=3
    ).map(tuple),
    st.sampled_from([False, False, True]),
)
