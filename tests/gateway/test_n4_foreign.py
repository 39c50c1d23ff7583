"""UPFs of other makers, emulated by the switches of loadgen's UPF, with a gateway and the core's
decisions over real sockets."""

from pathlib import Path
from typing import Any

import pytest

from loadgen.upf.config import Misbehaviour
from schemas.upf import UpfConfirmed, UpfEvent
from tests.functions.world_n4 import UPF
from tests.gateway import n4_core
from tests.gateway.n4_core import Core


def events(core: Core) -> list[UpfEvent]:
    """Return the events of the UPF."""
    return [event for step in core.world.steps[f"upf/{UPF}"] for event in step.events]


def trouble(core: Core) -> str:
    found: str = core.world.upf(UPF).trouble
    return found


async def test_a_upf_that_restarts(tmp_path: Path) -> None:
    """One request is pending. The UPF gets none with a former SEID: that is a violation."""
    async with n4_core.running(tmp_path) as core:
        await core.session()
        core.upf.silence(True)
        await core.does(core.site.phone.idle)
        core.upf.restart()
        core.upf.silence(False)
        await core.restored()
        assert core.world.ue().sessions[0].n4.incarnation == core.upf.recovery


async def test_a_upf_that_restarts_and_ignores_heartbeats_of_strangers(tmp_path: Path) -> None:
    """As Open5GS' UPF, which discards messages with empty IEs, too."""
    quirks = frozenset({"ignores-strangers", "ignores-unassociated", "ignores-empty-ies"})
    async with n4_core.running(tmp_path, quirks=quirks) as core:
        await core.session()
        core.upf.restart()
        await core.until(lambda: trouble(core) == "it does not answer heartbeats")
        assert not core.upf.associations
        await core.does(core.world.advance, 11)
        await core.restored()


async def test_a_upf_that_forgets_the_association_and_ignores_sessions(tmp_path: Path) -> None:
    """Its heartbeats have the old time stamp: nothing but the silence shows it."""
    async with n4_core.running(tmp_path, quirks=frozenset({"ignores-unassociated"})) as core:
        await core.session()
        core.upf.forget()
        await core.does(core.site.phone.idle)
        await core.restored()
        troubles = [getattr(event, "trouble", "") for event in events(core)]
        assert "it answers heartbeats, but no requests about sessions" in troubles


async def test_a_upf_that_gives_the_core_up_in_an_outage(tmp_path: Path) -> None:
    """As Open5GS' UPF: after the outage it answers heartbeats with its old time stamp, ignores the
    core, and still has the sessions."""
    quirks = frozenset({"gives-up", "ignores-unassociated"})
    async with n4_core.running(tmp_path, quirks=quirks, heartbeat=0.1) as core:
        await core.session()
        (before,) = core.upf.table.by_seid
        core.upf.silence(True)
        await core.until(lambda: not core.upf.associations and trouble(core) != "")
        assert core.upf.table.by_seid.keys() == {before}
        core.upf.silence(False)
        await core.until(lambda: core.world.upf(UPF).reachable)
        assert not core.upf.associations
        await core.does(core.site.phone.idle)
        await core.restored()
        assert core.upf.session_count == 1


@pytest.mark.parametrize("plane", ["on", "off"])
async def test_a_upf_that_has_kept_its_sessions(tmp_path: Path, plane: str) -> None:
    """It refuses a modification (#72), and then to restore a session that it has."""
    async with n4_core.running(tmp_path, quirks=frozenset({"keeps-sessions"})) as core:
        await core.session()
        if plane == "off":
            await core.does(core.site.phone.idle)
            await core.restored()
        (before,) = core.upf.table.by_seid
        core.upf.forget()
        if plane == "on":
            await core.does(core.site.phone.idle)
        else:
            await core.does(core.site.release, 1)
        await core.restored()
        assert before not in core.upf.table.by_seid
        assert core.upf.session_count == (plane == "on")


async def test_a_upf_that_leaves_the_node_id_out(tmp_path: Path) -> None:
    async with n4_core.running(tmp_path) as core:
        core.upf.misbehave(Misbehaviour(kind="no-node-id"))
        await core.session()
        core.upf.misbehave(Misbehaviour(kind="no-node-id", message="AssociationSetupRequest"))
        core.upf.forget()
        await core.does(core.site.phone.idle)
        await core.restored()


async def test_a_upf_that_reports_from_another_address(tmp_path: Path) -> None:
    addresses = ("127.0.0.8/29",)
    async with n4_core.running(tmp_path, addresses, source="127.0.0.9") as core:
        address = await core.session()
        await core.does(core.site.phone.idle)
        await core.restored()
        core.upf.downlink_data(address)
        await core.until(lambda: bool(core.world.pages))
        await core.until(lambda: not len(core.upf.endpoint.requests))
        assert core.upf.counts.unanswered == 0
        assert core.gateway.counters.unknown_source == 0


async def test_a_upf_that_reports_from_an_address_that_is_not_configured(tmp_path: Path) -> None:
    async with n4_core.running(tmp_path, source="127.0.0.9") as core:
        address = await core.session()
        await core.does(core.site.phone.idle)
        await core.restored()
        core.upf.downlink_data(address)
        await core.until(lambda: core.upf.counts.unanswered == 1)
        assert core.gateway.counters.unknown_source == 3
        assert not core.world.pages


def says(core: Core, message: str, *ies: dict[str, Any]) -> None:
    """Send a request of the UPF, and do not wait for the response."""
    node = {"Node ID": {"ipv4": UPF}}
    sequence = core.upf.endpoint.requests.sequence()
    tree = {"message": message, "sequence": sequence, "ies": [node, *ies]}
    core.upf.endpoint.ask(tree, ("127.0.0.1", core.gateway.port), lambda _: None)


async def test_a_upf_that_releases_its_association(tmp_path: Path) -> None:
    """It says so when it is asked. After a pause there is another association."""
    async with n4_core.running(tmp_path) as core:
        await core.session()
        core.upf.forget()
        says(core, "AssociationReleaseRequest")
        await core.until(lambda: trouble(core) == "no association: the UPF released it")
        await core.does(core.world.advance, 11)
        await core.restored()


async def test_a_upf_that_releases_its_association_and_ignores_the_core(tmp_path: Path) -> None:
    """As Open5GS' UPF: it answers nothing but an association setup."""
    quirks = frozenset({"ignores-strangers", "ignores-unassociated", "ignores-empty-ies"})
    async with n4_core.running(tmp_path, quirks=quirks) as core:
        await core.session()
        core.upf.forget()
        says(core, "AssociationReleaseRequest")
        await core.until(lambda: core.world.upf(UPF).doubt is not None)  # until time advances
        await core.does(core.world.advance, 2)
        await core.restored()


@pytest.mark.parametrize("message", ["AssociationReleaseRequest", "AssociationSetupRequest"])
async def test_a_upf_that_has_its_association(tmp_path: Path, message: str) -> None:
    """Someone else has sent the message with its address: its sessions are not made again."""
    async with n4_core.running(tmp_path) as core:
        await core.session()
        (before,) = core.upf.table.by_seid
        ies = [{"Recovery Time Stamp": core.upf.recovery}, {"UP Function Features": ["FTUP"]}]
        says(core, message, *(ies if "Setup" in message else []))
        await core.until(lambda: any(isinstance(event, UpfConfirmed) for event in events(core)))
        assert core.world.upf(UPF).associated
        await core.does(core.world.advance, 20)
        await core.restored()
        assert core.upf.table.by_seid.keys() == {before}
        assert core.upf.counts.received["AssociationSetupRequest"] == 1


async def test_a_restarted_upf_that_sets_up_the_association(tmp_path: Path) -> None:
    """It ignores heartbeats until its association is accepted: the proof is a response to one."""
    quirks = frozenset({"ignores-strangers", "ignores-unassociated"})
    async with n4_core.running(tmp_path, quirks=quirks) as core:
        await core.session()
        core.upf.restart()
        core.upf.associate(("127.0.0.1", core.gateway.port))
        await core.restored()
        assert core.world.ue().sessions[0].n4.incarnation == core.upf.recovery
