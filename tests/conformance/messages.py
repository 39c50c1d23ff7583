"""Samples of the NAS messages that a UE sends.

Each message that the core accepts must have a sample (`test_samples.py`).
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import wire
from tests.conformance.answers import (
    MESSAGE,
    authentication_response,
    gsm,
    identity,
    security_mode_complete,
)
from tests.conformance.bench import Bench, suci
from tests.conformance.nas_table import GMM_NAMES, GSM_NAMES
from tests.functions.registration_requests import registration_request
from tests.functions.world import OPC, K


class Sample(NamedTuple):
    """One message of a UE."""

    type: int
    """The type of the 5GMM message, or of the 5GSM message in an UL NAS TRANSPORT."""
    variant: str
    make: Callable[[Bench], bytes]

    @property
    def name(self) -> str:
        """The message's name and the variant."""
        name = (GMM_NAMES | GSM_NAMES)[self.type]
        return f"{name}: {self.variant}" if self.variant else name


def encoded(tree: dict[str, Any]) -> Callable[[Bench], bytes]:
    """Return a function that makes the same message in every state."""
    octets = wire.nas_encode(tree)
    return lambda _: octets


def raw(text: str) -> Callable[[Bench], bytes]:
    """Return a function that makes a message from hexadecimal octets."""
    octets = bytes.fromhex(text)
    return lambda _: octets


_OURS: Final = {"plmn": "001-01", "amf-region-id": 1, "amf-set-id": 1, "amf-pointer": 0}


def guti(bench: Bench) -> dict[str, Any] | None:
    """Return the 5G-GUTI of the UE."""
    tmsi = bench.ue.tmsi
    if tmsi is None:
        return None
    return {**_OURS, "tmsi": tmsi}


def ngksi(bench: Bench) -> Any:
    """Return the ngKSI of the current context."""
    security = bench.ue.security
    return {"native": security.ngksi} if security is not None else "no-key"


FOREIGN: Final = {
    "plmn": "999-99",
    "amf-region-id": 9,
    "amf-set-id": 9,
    "amf-pointer": 9,
    "tmsi": 1,
}


ANOTHER: Final = wire.suci_conceal("001", "01", "0000000002").hex()
"""The SUCI of another UE, without a subscription."""


def registration(kind: str, identity: str, **more: Any) -> Callable[[Bench], bytes]:
    """Return the maker of a REGISTRATION REQUEST by suci, guti, foreign, another or imei."""

    def encode(told: dict[str, Any], key: Any) -> bytes:
        tree = registration_request(kind, key, told, {"octets": "e0e0"}, None)
        return wire.nas_encode({**tree, **more})

    by_suci = encode({"octets": ANOTHER if identity == "another" else suci()}, "no-key")

    def make(bench: Bench) -> bytes:
        if identity in ("suci", "another"):
            return by_suci
        own = guti(bench)
        told: dict[str, Any] = {"guti": FOREIGN if own is None or identity == "foreign" else own}
        return encode({"imei": "490154203237518"} if identity == "imei" else told, ngksi(bench))

    return make


def deregistration(*, switch_off: bool) -> Callable[[Bench], bytes]:
    """Return the maker of a DEREGISTRATION REQUEST (UE originating)."""
    tree: dict[str, Any] = {
        MESSAGE: "deregistration-request-ue-originating",
        "de-registration-type": {
            "switch-off": switch_off,
            "re-registration-required": False,
            "access-type": "3gpp-access",
        },
        "ngksi": "no-key",
    }
    by_suci = wire.nas_encode({**tree, "5gs-mobile-identity": {"octets": suci()}})
    by_guti = wire.nas_encode({**tree, "5gs-mobile-identity": {"guti": {**FOREIGN, **_OURS}}})

    def make(bench: Bench) -> bytes:
        tmsi, security = bench.ue.tmsi, bench.ue.security
        made = by_suci if tmsi is None else by_guti[:-4] + tmsi.to_bytes(4, "big")
        if security is None:
            return made
        return made[:3] + bytes([made[3] & 0x0F | security.ngksi << 4]) + made[4:]

    return make


def complete_with(make: Callable[[Bench], bytes]) -> Callable[[Bench], bytes]:
    """Return the maker of a SECURITY MODE COMPLETE with an initial message."""

    def complete(bench: Bench) -> bytes:
        request = make(bench)
        return b"\x7e\x00\x5e\x71" + len(request).to_bytes(2, "big") + request

    return complete


WEAKER: Final = {"ue-security-capability": {"octets": "c0c0"}}
"""NEA1 and NIA1 only."""


def service(kind: str, **more: Any) -> Callable[[Bench], bytes]:
    """Return the maker of a SERVICE REQUEST."""

    def make(bench: Bench) -> bytes:
        s_tmsi = {"amf-set-id": 1, "amf-pointer": 0, "tmsi": bench.ue.tmsi or 1}
        return wire.nas_encode(
            {
                MESSAGE: "service-request",
                "ngksi": ngksi(bench),
                "service-type": kind,
                "5g-s-tmsi": {"s-tmsi": s_tmsi},
                **more,
            }
        )

    return make


def _synch_failure(bench: Bench) -> bytes:
    challenge = bench.here.challenge
    rand = challenge.rand if challenge is not None else bytes(16)
    auts = wire.auts(K, OPC, rand, bench.ue.sqn + 3200)
    return b"\x7e\x00\x59\x15\x30\x0e" + auts


def _payload(kind: str, octets: str) -> dict[str, Any]:
    return {
        MESSAGE: "ul-nas-transport",
        "payload-container-type": kind,
        "payload-container": {"octets": octets},
    }


_STATUS: Final = {MESSAGE: "5gmm-status", "5gmm-cause": 111}
_ALL: Final = {"pdu-session-status": [1], "uplink-data-status": [1]}
_NONE: Final = {"pdu-session-status": []}

GMM_SAMPLES: Final = (
    Sample(0x41, "initial, SUCI", registration("initial-registration", "suci")),
    Sample(0x41, "initial, 5G-GUTI", registration("initial-registration", "guti")),
    Sample(0x41, "initial, unknown 5G-GUTI", registration("initial-registration", "foreign")),
    Sample(0x41, "initial, another's SUCI", registration("initial-registration", "another")),
    Sample(0x41, "mobility", registration("mobility-registration-updating", "guti", **_ALL)),
    Sample(0x41, "periodic", registration("periodic-registration-updating", "guti")),
    Sample(0x41, "emergency, IMEI", registration("emergency-registration", "imei")),
    Sample(0x43, "", raw("7e0043")),
    Sample(0x45, "", deregistration(switch_off=False)),
    Sample(0x45, "switch-off", deregistration(switch_off=True)),
    Sample(0x48, "", raw("7e0048")),
    Sample(0x4C, "data", service("data", **_ALL)),
    Sample(0x4C, "signalling, no sessions", service("signalling", **_NONE)),
    Sample(0x4C, "mobile terminated", service("mobile-terminated-services")),
    Sample(0x4F, "", raw("7e004f00")),
    Sample(0x51, "", raw("7e00510101000402010004")),
    Sample(0x55, "", raw("7e0055")),
    Sample(0x57, "RES* right", authentication_response),
    Sample(0x57, "RES* wrong", raw("7e00572d10" + "5a" * 16)),
    Sample(0x59, "MAC failure", raw("7e005914")),
    Sample(0x59, "synch failure", _synch_failure),
    Sample(0x59, "non-5G authentication unacceptable", raw("7e00591a")),
    Sample(0x59, "ngKSI already in use", raw("7e005947")),
    Sample(0x5C, "SUCI", lambda _: identity()),
    Sample(
        0x5C,
        "another's SUCI",
        encoded({MESSAGE: "identity-response", "mobile-identity": {"octets": ANOTHER}}),
    ),
    Sample(0x5E, "", security_mode_complete),
    Sample(
        0x5E,
        "weaker capabilities",
        complete_with(registration("initial-registration", "suci", **WEAKER)),
    ),
    Sample(0x5E, "with a DEREGISTRATION REQUEST", complete_with(deregistration(switch_off=False))),
    Sample(0x5F, "", raw("7e005f17")),
    Sample(0x64, "", encoded(_STATUS)),
    Sample(0x66, "", raw("7e0066")),
    Sample(0x67, "SMS", encoded(_payload("sms", "0904"))),
    Sample(0x69, "", raw("7e0069010014" + "01" * 20)),
    Sample(0x6D, "", raw("7e006d01000402010004")),
    Sample(0x42, "", raw("7e00420101")),
)
"""5GMM messages of a UE in all relevant variants, and a REGISTRATION ACCEPT from the UE."""


def _session(kind: str, psi: int = 1, pti: int = 1, /, **more: Any) -> Callable[[Bench], bytes]:
    return encoded(gsm(kind, psi, pti, **more))


_RATE: Final = {"integrity-protection-maximum-data-rate": {"ul": "full-rate", "dl": "full-rate"}}
_ASK: Final = {"transport": {"request-type": "initial-request", "dnn": "internet"}}
_HANDED: Final = {"transport": {"request-type": "existing-pdu-session", "dnn": "internet"}}
_ESTABLISH: Final = "pdu-session-establishment-request"

GSM_SAMPLES: Final = (
    Sample(0xC1, "", _session(_ESTABLISH, **_RATE, **{"pdu-session-type": "ipv4"}, **_ASK)),
    Sample(0xC1, "another PTI", _session(_ESTABLISH, 1, 2, **_RATE, **_ASK)),
    Sample(0xC1, "existing session", _session(_ESTABLISH, 1, 3, **_RATE, **_HANDED)),
    Sample(0xC1, "PTI 0", _session(_ESTABLISH, 1, 0, **_RATE, **_ASK)),
    Sample(
        0xC6,
        "",
        _session("pdu-session-authentication-complete", **{"eap-message": {"octets": "02010004"}}),
    ),
    Sample(0xC9, "", _session("pdu-session-modification-request", 1, 7)),
    Sample(0xCC, "", _session("pdu-session-modification-complete", 1, 0)),
    Sample(
        0xCD, "", _session("pdu-session-modification-command-reject", 1, 0, **{"5gsm-cause": 26})
    ),
    Sample(0xD1, "", _session("pdu-session-release-request", 1, 8)),
    Sample(0xD4, "", _session("pdu-session-release-complete", 1, 0)),
    Sample(0xD6, "#43", _session("5gsm-status", 1, 0, **{"5gsm-cause": 43})),
    Sample(0xD6, "#81", _session("5gsm-status", 1, 1, **{"5gsm-cause": 81})),
    Sample(
        0xD9,
        "",
        encoded(_payload("n1-sm-information", "2e0101d9000410020101") | {"pdu-session-id": 1}),
    ),
    Sample(0xDA, "", _session("remote-ue-report")),
    Sample(0xC2, "", encoded(_payload("n1-sm-information", "2e0101c2") | {"pdu-session-id": 1})),
    Sample(
        0xC1,
        "no mandatory IE",
        encoded(_payload("n1-sm-information", "2e0101c1") | {"pdu-session-id": 1}),
    ),
)
"""5GSM messages of a UE about its PDU session 1, and an ESTABLISHMENT ACCEPT from the UE."""
