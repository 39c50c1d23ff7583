"""Encoding and decoding of the messages that the procedures use, compared with pycrate."""

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import wire
from bench.figures import Row, microseconds
from schemas.cloudevents import EventType
from schemas.step import Page, SendNgap
from tests.corpus import entries
from tests.histories.history import files, read

NGAP: Final = (
    "InitialUEMessage",
    "DownlinkNASTransport",
    "UplinkNASTransport",
    "InitialContextSetupRequest",
    "InitialContextSetupResponse",
    "PDUSessionResourceSetupRequest",
    "PDUSessionResourceSetupResponse",
    "PDUSessionResourceReleaseCommand",
    "UEContextReleaseRequest",
    "UEContextReleaseCommand",
    "UEContextReleaseComplete",
    "Paging",
)
NAS: Final = (
    "registration-request",
    "authentication-request",
    "authentication-response",
    "security-mode-command",
    "security-mode-complete",
    "registration-accept",
    "service-request",
    "service-accept",
    "dl-nas-transport",
    "deregistration-request-ue-originating",
)
PFCP: Final = (
    "session-establishment-request",
    "session-establishment-response",
    "session-modification-request",
    "session-modification-response",
    "session-report-request-downlink-data",
)
RUNS: Final = 7


def rows() -> Iterator[Row]:
    """Measure decoding and encoding of each message, in `wire` and in pycrate."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # raised by pycrate's own source
        pdus = ngap()
        yield from _codec("NGAP", pdus, wire.ngap_decode, wire.ngap_encode, pycrate_ngap())
        for name, octets in pdus.items():
            peek = microseconds(lambda octets=octets: wire.ngap_peek(octets))
            yield Row("codec", f"NGAP {name}: peek", "us", peek)
        nas, pfcp = corpus("nas", NAS), corpus("pfcp", PFCP)
        yield from _codec("NAS", nas, wire.nas_decode, wire.nas_encode, pycrate_nas())
        yield from _codec("PFCP", pfcp, wire.pfcp_decode, wire.pfcp_encode, None)


def corpus(kind: str, wanted: tuple[str, ...]) -> dict[str, bytes]:
    """Return the recorded messages of these names."""
    found = {e.name: e.octets for e in entries(kind) if e.outcome in ("same", "anew")}
    return {name: found[name] for name in wanted}


def ngap() -> dict[str, bytes]:
    """Return the first PDU of each message in the recorded histories."""
    found: dict[str, bytes] = {}
    for path in files():
        for recorded in read(path).steps:
            step = recorded.step()
            pdus = [output.pdu for output in step.outputs if isinstance(output, SendNgap | Page)]
            if step.trigger.type == EventType.NGAP_UPLINK:
                pdus.append(step.trigger.data)
            for pdu in pdus:
                try:
                    found.setdefault(wire.ngap_peek(pdu).message, pdu)
                except wire.WireError:
                    continue
    return {name: found[name] for name in NGAP}


Other = tuple[Callable[[bytes], object], Callable[[bytes], Callable[[], object]]]
"""Another codec: a decoder, and a function that returns an encoder for a message."""


def _codec(
    kind: str,
    messages: dict[str, bytes],
    decode: Callable[[bytes], dict[str, Any]],
    encode: Callable[[dict[str, Any]], bytes],
    other: Other | None,
) -> Iterator[Row]:
    for name, octets in messages.items():
        works: dict[str, Callable[[], object]] = {
            "decode": partial(decode, octets),
            "encode": partial(encode, decode(octets)),
        }
        if other is not None:
            works |= {
                "decode, pycrate": partial(other[0], octets),
                "encode, pycrate": other[1](octets),
            }
        for what, work in works.items():
            yield Row("codec", f"{kind} {name}: {what}", "us", microseconds(work, RUNS))


def pycrate_ngap() -> Other:
    """Return pycrate's NGAP codec."""
    from tests.wire.ngap_oracle import PDU  # noqa: PLC0415 - takes a second

    def writer(octets: bytes) -> Callable[[], object]:
        PDU.from_aper(octets)
        value = PDU.get_val()

        def write() -> object:
            PDU.set_val(value)
            return PDU.to_aper()

        return write

    return PDU.from_aper, writer


def pycrate_nas() -> Other:
    """Return pycrate's NAS codec."""
    from tests.wire.nas_oracle import decode, encode, tree  # noqa: PLC0415 - takes a second

    return tree, lambda octets: partial(encode, *decode(octets))
