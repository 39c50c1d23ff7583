"""One order for a UE, over its connections, gNBs and procedures, as the gateway read its messages.

Two groups of functions run in processes of their own. In one half of the tests both run; in the
other the second starts later than the former hold of 4 s.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec.structs import replace
from nats.aio.client import Client

import wire
from evcore import population as populations
from evcore.emulated import free_udp_port
from evcore.local.data import DataDirectory
from evcore.local.lag import lag
from evcore.logs.access import opened
from eventing.jetstream.connection import connected
from eventing.jetstream.streams import bus_config, ensure
from eventing.stats import StatsWatch
from loadgen import Population
from loadgen.load.config import LoadConfig
from loadgen.load.driver import connector_of
from loadgen.ue.model import Procedure as Ue
from schemas.cloudevents import order_of
from schemas.config.reading import Config, N2Config, N4Config
from schemas.event import Noted
from schemas.procedures import Procedure
from schemas.step import Step
from schemas.ue.state import Ue as State
from tests.e2e import checks
from tests.e2e.test_swap_by_hand import Cluster
from tests.order.radio import Radio, radio
from tests.servers import nats_server
from transport import Mode

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

FIRST: Final = (
    Procedure.RAN,
    Procedure.IDENTIFICATION,
    Procedure.REGISTRATION,
    Procedure.SERVICE_REQUEST,
    Procedure.AN_RELEASE,
)
SECOND: Final = tuple(procedure for procedure in Procedure if procedure not in FIRST)
COLD: Final = 6.0
"""Seconds that the second group is cold: longer than an event was held before."""
ROUNDS: Final = 5


class Site:
    """A core of two groups of functions, two gNBs and a UE."""

    def __init__(self, core: Cluster, air: Radio, client: Client) -> None:
        self.core = core
        self.radio = air
        self._client = client

    async def waits(self, procedure: Procedure) -> None:
        """Wait until a function that is cold has an event."""
        async with asyncio.timeout(30):
            while not (await lag(self._client)).get(procedure):  # noqa: ASYNC110 - in nats-server
                await asyncio.sleep(0.02)

    async def start_second(self) -> None:
        """Start the second group of functions."""
        await self.core.worker(",".join(SECOND))

    async def register(self) -> None:
        """Let the UE register by the first gNB."""
        self.radio.begin(Ue.REGISTER, 0)
        await self.radio.done(Ue.REGISTER)

    async def steps(self) -> list[Step[Any]]:
        """Return the steps of the UE for messages of gNBs, once no event waits."""
        await self.core.settled()
        assert not self.radio.violations
        async with opened(self.core.data.root) as access:
            found = [step async for step in access.log.steps(f"ue/{self.radio.ue.profile.supi}")]
        await checks.verified(self.core.data)
        notes = [one.text for step in found for one in step.events if isinstance(one, Noted)]
        assert not [text for text in notes if "gap" in text]
        steps = [step for step in found if step.trigger.source.startswith("/n2/")]
        check_order(steps)
        return steps

    async def _ue(self) -> State:
        (ue,) = (await checks.ues(self.core.data)).values()
        return ue

    async def is_on(self, gnb: int) -> None:
        """Check that the UE is registered and connected by a gNB, once it has no other
        connection."""
        async with asyncio.timeout(30):
            while (ue := await self._ue()).stale:  # noqa: ASYNC110 - in another process
                await asyncio.sleep(0.05)
        assert ue.registered
        assert not ue.parked
        assert ue.connection is not None
        context = self.radio.camped.context
        assert context is not None
        here = ue.connection
        assert (here.amf_ue_ngap_id, here.ran_ue_ngap_id) == (
            context.amf_ue_ngap_id,
            context.ran_ue_ngap_id,
        )
        assert here.gnb.endswith(f"-{self.radio.gnbs[gnb].config.gnb_id:x}")


@asynccontextmanager
async def site(folder: Path, *, cold: bool) -> AsyncGenerator[Site]:
    """The first group of functions in one worker; the second in another one, or not yet."""
    data = DataDirectory(folder / "data")
    data.prepare()
    population = Population(count=1, dnns=("internet",))
    await populations.provision(data.root, population)
    n2 = N2Config(udp_port=free_udp_port(), transport=Mode.USERSPACE_UDP)
    async with nats_server(folder) as broker, connected(broker.url, "test") as client:
        config = Config(n2=n2, n4=N4Config(port=free_udp_port()))
        config = data.write_config(replace(config, nats=replace(config.nats, url=broker.url)))
        await ensure(client, bus_config(config.nats))
        core = Cluster(data, config, population, client)
        core.watch = StatsWatch(lambda _: core.heard())
        await core.watch.start(client)
        load = LoadConfig(port=config.n2.port, udp_port=config.n2.udp_port, mode=Mode.USERSPACE_UDP)
        try:
            async with core.processes:
                await core.start("n2", (sys.executable, "-m", "gateway.n2"), "evcore gateway n2: ")
                await core.worker(",".join(FIRST))
                if not cold:
                    await core.worker(",".join(SECOND))
                async with radio(population, connector_of(load)) as air:
                    yield Site(core, air, client)
        except BaseException:
            for log in sorted(data.logs.glob("*.log")):
                print(f"--- {log.name}", *log.read_text().splitlines()[-30:], sep="\n")
            raise


def check_order(steps: list[Step[Any]]) -> None:
    """Check that steps are in the order in which the gateway read their messages.

    A message that the gateway read after the opening of a newer connection may go before it: it
    acts on its own connection only.
    """
    numbers = [order_of(step.trigger.id) for step in steps]
    of_connection: dict[str, list[int]] = {}
    for index, step in enumerate(steps):
        of_connection.setdefault(step.trigger.partitionkey, []).append(numbers[index])
        if step.trigger.sequence == 0:
            assert min(numbers[index:]) == numbers[index], (index, numbers)
    assert all(found == sorted(found) for found in of_connection.values()), numbers


def names(steps: list[Step[Any]]) -> list[str]:
    """Return the NGAP messages of steps."""
    return [wire.ngap_peek(step.trigger.data).message for step in steps]


async def switched_off_and_on(it: Site, gnb: int) -> None:
    """Send DEREGISTRATION REQUEST (switch-off) on the connection of the UE. A REGISTRATION REQUEST
    on a new one by a gNB is ready to be sent."""
    here = it.radio.gnbs.index(next(g for g in it.radio.gnbs if g.cell is it.radio.camped.cell))
    it.radio.begin(Ue.SWITCH_OFF, here)
    it.radio.lose()
    it.radio.flush(here)
    it.radio.begin(Ue.REGISTER, gnb)


@pytest.mark.parametrize("gnb", [0, 1], ids=["same-gnb", "other-gnb"])
async def test_a_switch_off_goes_before_the_registration_on_a_new_connection(
    tmp_path: Path, gnb: int
) -> None:
    async with site(tmp_path, cold=False) as it:
        await it.register()
        for number in range(ROUNDS):
            to = gnb if number % 2 == 0 else 0
            await switched_off_and_on(it, to)
            await asyncio.sleep(0.001)  # on another association, the order is that of the clock
            await it.radio.done(Ue.REGISTER)
        await it.is_on(gnb)
        steps = await it.steps()
    assert names(steps).count("InitialUEMessage") == 1 + ROUNDS


@pytest.mark.parametrize("gnb", [0, 1], ids=["same-gnb", "other-gnb"])
async def test_a_switch_off_that_waits_for_a_cold_function_goes_first(
    tmp_path: Path, gnb: int
) -> None:
    async with site(tmp_path, cold=True) as it:
        await it.register()
        await switched_off_and_on(it, gnb)
        await it.waits(Procedure.DEREGISTRATION)
        registering = asyncio.create_task(it.radio.done(Ue.REGISTER))
        await asyncio.sleep(COLD)
        assert not registering.done()
        await it.start_second()
        await registering
        await it.is_on(gnb)
        steps = await it.steps()
    assert [step.procedure for step in steps].count(Procedure.DEREGISTRATION) == 1


@pytest.mark.parametrize("gnb", [0, 1], ids=["same-gnb", "other-gnb"])
@pytest.mark.parametrize("cold", [False, True], ids=["hot", "cold"])
async def test_the_last_messages_of_a_connection_go_before_the_next_connection(
    tmp_path: Path, gnb: int, *, cold: bool
) -> None:
    """REGISTRATION COMPLETE and a session request, then SERVICE REQUEST on a new connection."""
    async with site(tmp_path, cold=cold) as it:
        it.radio.begin(Ue.REGISTER, 0)
        await it.radio.held(Ue.REGISTER)
        it.radio.begin(Ue.SESSION, 0)
        it.radio.lose()
        it.radio.flush(0)
        it.radio.begin(Ue.SERVICE, gnb)
        if cold:
            await it.waits(Procedure.SESSION)
            serving = asyncio.create_task(it.radio.done(Ue.SERVICE))
            await asyncio.sleep(COLD)
            assert not serving.done()
            await it.start_second()
            await serving
        else:
            await asyncio.sleep(0.001)  # on another association, the order is that of the clock
            await it.radio.done(Ue.SERVICE)
        await it.is_on(gnb)
        steps = await it.steps()
    opened_at = names(steps).index("InitialUEMessage", 1)
    assert steps[opened_at].procedure == Procedure.SERVICE_REQUEST
    before = [step.procedure for step in steps[:opened_at]]
    session = before.index(Procedure.SESSION)
    assert before[:session] == [Procedure.REGISTRATION] * session
