"""pycrate, which shares no code with `wire`, decodes every message of a run."""

import asyncio
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import wire
from evcore.local.data import DataDirectory
from evcore.logs.access import opened
from functions.runtime.replay import all_aggregates
from loadgen import Procedure, run
from loadgen.report.capture import Captured, read_capture
from schemas.aggregates import kind_of
from schemas.gmm.state import SecurityContext
from schemas.ue.state import Ue
from tests.servers import site

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::SyntaxWarning"),
]

PROTECTED = range(1, 5)
"""Security header types of protected messages (TS 24.501 9.3)."""


class Recording(NamedTuple):
    messages: list[Captured]
    contexts: list[SecurityContext]
    """All NAS security contexts of the run."""


async def contexts_of(data: DataDirectory) -> list[SecurityContext]:
    found: dict[bytes, SecurityContext] = {}
    async with opened(data.root) as access:
        names = [name async for name, _ in all_aggregates(access.log, "ue/")]
        for name in names:
            kind = kind_of(name)
            state: Ue = kind.new()
            async for step in access.log.steps(name):
                for event in step.events:
                    state = kind.evolve(state, event)
                for context in (state.security, state.pending):
                    if context is not None:
                        found[bytes(context.kamf)] = context
    return list(found.values())


async def record(folder: Path) -> Recording:
    capture = folder / "capture.jsonl"
    async with site(folder, 30) as it:
        config = it.load(
            programme=(
                Procedure.REGISTER,
                Procedure.IDLE,
                Procedure.REGISTER,
                Procedure.DEREGISTER,
            ),
            identities=("stored", "suci", "unknown-guti"),
            repeat=2,
            capture=str(capture),
        )
        report = await run(config)
        assert report.ok, report.violations
        await it.settled()
    return Recording(read_capture(str(capture)), await contexts_of(it.data))


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return asyncio.run(record(tmp_path_factory.mktemp("oracle")))


def deciphered(pdu: bytes, contexts: list[SecurityContext], *, downlink: bool) -> bytes:
    """Return the plain message, deciphered with the context that verifies its MAC."""
    for context in contexts:
        security = wire.NasSecurity(context.kamf, context.nia, context.nea, 0, 0)
        try:
            return security.unprotect(pdu, downlink=downlink).plain
        except wire.WireError:
            continue
    raise AssertionError(f"no context of any UE opens {pdu.hex()}")


def test_ngap_decodes_and_encodes_to_the_same_octets(recording: Recording) -> None:
    from pycrate_asn1dir import NGAP  # pyright: ignore[reportMissingTypeStubs]

    pdu: Any = NGAP.NGAP_PDU_Descriptions.NGAP_PDU  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    names: set[str] = set()
    for octets in (bytes.fromhex(message.pdu) for message in recording.messages):
        names.add(wire.ngap_peek(octets).message)
        pdu.from_aper(octets)
        assert pdu.to_aper() == octets
    assert names == {
        "NGSetupRequest",
        "NGSetupResponse",
        "InitialUEMessage",
        "DownlinkNASTransport",
        "UplinkNASTransport",
        "InitialContextSetupRequest",
        "InitialContextSetupResponse",
        "UERadioCapabilityInfoIndication",
        "UEContextReleaseRequest",
        "UEContextReleaseCommand",
        "UEContextReleaseComplete",
    }


def test_nas_decodes_and_encodes_to_the_same_octets(recording: Recording) -> None:
    from pycrate_mobile import NAS5G  # pyright: ignore[reportMissingTypeStubs]

    parse: Any = NAS5G.parse_NAS5G  # pyright: ignore[reportUnknownVariableType]
    names: set[str] = set()
    for captured in recording.messages:
        nas = wire.ngap_peek(bytes.fromhex(captured.pdu)).nas_pdu
        if nas is None:
            continue
        plain = nas
        if nas[1] in PROTECTED:
            downlink = captured.direction == "received"
            plain = deciphered(nas, recording.contexts, downlink=downlink)
        for octets in (nas, plain):
            message, error = parse(octets, inner=False)
            assert error == 0, octets.hex()
            assert message.to_bytes() == octets
            names.add(message._name)
    assert names == {
        "5GMMSecProtNASMessage",
        "5GMMRegistrationRequest",
        "5GMMIdentityRequest",
        "5GMMIdentityResponse",
        "5GMMAuthenticationRequest",
        "5GMMAuthenticationResponse",
        "5GMMSecurityModeCommand",
        "5GMMSecurityModeComplete",
        "5GMMRegistrationAccept",
        "5GMMRegistrationComplete",
        "5GMMMODeregistrationRequest",
        "5GMMMODeregistrationAccept",
    }
