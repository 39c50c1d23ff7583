"""Somebody on the machine of the core, or with the key of one process, attacks the bus.

Before, nats-server let every process of the machine do everything, with no credentials.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client
from nats.errors import Error

from evcore.logs.access import opened
from evcore.operator import event
from eventing import subjects
from eventing.access import keys
from eventing.access.connecting import options
from eventing.access.roles import Role
from eventing.cloudevents import nats_binding
from eventing.jetstream.connection import request
from eventing.jetstream.messages import addressed
from eventing.jetstream.publisher import Publisher
from loadgen import Procedure as Does
from loadgen import run
from schemas.aggregates import ue_aggregate
from schemas.cloudevents import Deregister, EventType
from schemas.identity import PARTITIONS, partition_of, slot_of
from schemas.origin import Origin
from schemas.procedures import Procedure
from tests.eventing.brokers import stored, until
from tests.servers import Site, site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

SUPI = "imsi-001010000000001"
SLOT = slot_of(SUPI)
PARTITION = partition_of(SLOT, PARTITIONS)


def an_event(procedure: Procedure, origin: Origin) -> str:
    return subjects.event(PARTITION, procedure, origin, SLOT)


NGAP = an_event(Procedure.REGISTRATION, Origin.N2)
PFCP = an_event(Procedure.SESSION, Origin.N4)
BY_OPERATOR = an_event(Procedure.DEREGISTRATION, Origin.OPERATOR)
BY_FUNCTION = an_event(Procedure.REGISTRATION, Origin.CORE)
TIMER = subjects.timer(PARTITION, SLOT, f"ue/{SUPI}")
DOWNLINKS = (subjects.downlink("gnb-1", "a1"), subjects.n4("127.0.0.8"))
CONSUMER = subjects.consumer(PARTITION, Procedure.REGISTRATION)
ADMINISTRATION = tuple(
    f"$JS.API.{call}"
    for call in (
        "STREAM.CREATE.OTHER",
        "STREAM.UPDATE.EVCORE",
        "STREAM.DELETE.EVCORE",
        "STREAM.PURGE.EVCORE",
        "STREAM.SNAPSHOT.EVCORE",
        "STREAM.DELETE.KV_evcore-leases",
        "CONSUMER.CREATE.EVCORE",
        "CONSUMER.CREATE.EVCORE.other",
        f"CONSUMER.DURABLE.CREATE.EVCORE.{CONSUMER}",
        f"CONSUMER.DELETE.EVCORE.{CONSUMER}",
    )
)
READS_EVENTS = (
    f"$JS.API.CONSUMER.MSG.NEXT.EVCORE.{CONSUMER}",
    f"$JS.ACK.EVCORE.{CONSUMER}.1.1.1.1.0",
    "$JS.API.STREAM.MSG.GET.EVCORE",
    "$JS.API.STREAM.MSG.DELETE.EVCORE",
)
BUCKETS = tuple(
    f"$KV.{bucket}.x" for bucket in (subjects.LEASES, subjects.ASSIGNMENTS, subjects.ANNOUNCERS)
)
LEASE, ASSIGNMENT, POSITION = BUCKETS
SYSTEM = ("$SYS.REQ.SERVER.PING", "$SYS.REQ.ACCOUNT.PING.CONNZ", "$SYS.REQ.USER.INFO")
INBOXES = tuple(f"_INBOX.{role}.x" for role in Role)

FORBIDDEN: dict[Role, tuple[str, ...]] = {
    Role.GATEWAY_N2: (
        *(PFCP, BY_OPERATOR, BY_FUNCTION, TIMER, *DOWNLINKS, *ADMINISTRATION, *READS_EVENTS),
        *(*BUCKETS, *INBOXES, "$JS.API.STREAM.INFO.KV_evcore-leases"),
    ),
    Role.GATEWAY_N4: (
        *(NGAP, BY_OPERATOR, BY_FUNCTION, TIMER, *DOWNLINKS, *ADMINISTRATION, *READS_EVENTS),
        *(*BUCKETS, *INBOXES),
    ),
    Role.WORKER: (NGAP, PFCP, BY_OPERATOR, *ADMINISTRATION, ASSIGNMENT, POSITION),
    Role.DISPATCHER: (
        *(NGAP, PFCP, BY_OPERATOR, *ADMINISTRATION, *READS_EVENTS[2:], ASSIGNMENT, POSITION),
    ),
    Role.ANNOUNCER: (
        *(NGAP, PFCP, BY_OPERATOR, BY_FUNCTION, TIMER, *DOWNLINKS, *ADMINISTRATION),
        *(*READS_EVENTS, LEASE, ASSIGNMENT, *INBOXES, "dead.ue.0.ran.n2.1"),
    ),
    Role.CONSOLE: (
        *(NGAP, PFCP, BY_OPERATOR, BY_FUNCTION, TIMER, *DOWNLINKS, *ADMINISTRATION),
        *(*READS_EVENTS, *BUCKETS, *INBOXES, "dead.ue.0.ran.n2.1"),
    ),
    Role.OPERATOR: (
        *(NGAP, PFCP, BY_FUNCTION, TIMER, *DOWNLINKS, *ADMINISTRATION, *READS_EVENTS),
        *(LEASE, POSITION, *INBOXES),
    ),
    Role.SETUP: (NGAP, PFCP, BY_OPERATOR, BY_FUNCTION, *DOWNLINKS, *BUCKETS, *INBOXES),
}
"""By role, the subjects that it must not publish on, beside those of `SYSTEM`."""

FOREIGN = ("$SYS.>", "$JS.API.>", "$JS.EVENT.ADVISORY.>", "$KV.>", "dead.>", "timer.>", "_INBOX.>")
DEAF: dict[Role, tuple[str, ...]] = {
    Role.GATEWAY_N2: ("n4.*", "ue.>", "alive.*"),
    Role.GATEWAY_N4: ("n2.>", "ue.>", "stats.*"),
    Role.WORKER: ("n2.>", "n4.>", "ue.>"),
    Role.DISPATCHER: ("n2.>", "n4.>", "ue.>"),
    Role.ANNOUNCER: ("n2.>", "n4.>", "ue.>", "stats.*"),
    Role.CONSOLE: ("n2.>", "n4.>", "ue.>"),
    Role.OPERATOR: ("n2.>", "n4.>", "ue.>"),
    Role.SETUP: ("n2.>", "n4.>"),
}
"""By role, the subjects that it must not subscribe to, beside those of `FOREIGN`."""


class Attacker:
    """A connection with the key of a role, and the refusals that it gets."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.refusals: list[str] = []

    async def refused(self, error: Exception) -> None:
        self.refusals.append(str(error).lower())

    async def publishes(self, subject: str, data: bytes = b"") -> bool:
        """Whether the broker takes a message."""
        await self.client.publish(subject, data)
        return not await self._is_refused("publish", subject)

    async def subscribes(self, subject: str) -> bool:
        """Whether the broker takes a subscription."""
        await self.client.subscribe(subject)
        return not await self._is_refused("subscription", subject)

    async def _is_refused(self, kind: str, subject: str) -> bool:
        await self.client.flush()
        await self.client.flush()
        wanted = f'permissions violation for {kind} to "{subject}"'.lower()
        return any(wanted in one for one in self.refusals)


@asynccontextmanager
async def stolen(it: Site, role: Role) -> AsyncGenerator[Attacker]:
    """Connect with the key of a role."""
    client = Client()
    attacker = Attacker(client)
    nats = it.core.config.nats
    await client.connect(nats.url, error_cb=attacker.refused, **options(role, nats))
    try:
        yield attacker
    finally:
        await client.close()


async def test_no_role_does_what_is_of_another(tmp_path: Path) -> None:
    done: list[str] = []
    async with site(tmp_path, 1, attacked=True) as it:
        for role in Role:
            async with stolen(it, role) as attacker:
                others = [f"_INBOX.{other}.>" for other in Role if other != role]
                for subject in (*FORBIDDEN[role], *SYSTEM):
                    # A role may send to its own inboxes only if it answers requests of its own.
                    own = subject == f"_INBOX.{role}.x" and role == Role.WORKER
                    if await attacker.publishes(subject) and not own:
                        done.append(f"{role} publishes on {subject}")
                foreign = (*DEAF[role], *FOREIGN, *others, ">")
                heard = [one for one in foreign if await attacker.subscribes(one)]
                done += [f"{role} subscribes to {one}" for one in heard]
        async with it.connected(Role.SETUP) as client:
            found = await request(client, f"STREAM.INFO.{subjects.STREAM}")
            assert found["state"]["consumer_count"] == PARTITIONS * len(Procedure)
            assert found["state"]["messages"] <= 1, "the mark of the timers alone"
    assert done == []


async def test_a_stranger_is_not_let_in(tmp_path: Path) -> None:
    """With no credentials, with a key that the broker does not know, and with a user's name."""
    async with site(tmp_path, 1) as it:
        foreign = tmp_path / "foreign"
        keys.make_missing(foreign)
        bus = it.core.config.nats
        attempts: tuple[dict[str, Any], ...] = (
            {},
            {"nkeys_seed": str(foreign / "setup.nk")},
            {"user": "setup", "password": ""},
            {"user": "setup", "password": "setup"},
            {"token": keys.public_key(it.data.nats_keys / "setup.nk")},
        )
        for attempt in attempts:
            client = Client()
            with pytest.raises(Error, match=r"(?i)authorization|authentication"):
                await client.connect(
                    bus.url, allow_reconnect=False, max_reconnect_attempts=0, **attempt
                )
            await client.close()


async def test_the_broker_has_one_port_and_it_is_of_this_machine(tmp_path: Path) -> None:
    """Before, /connz, /subsz and /jsz of the monitoring port told everybody about the core."""
    async with site(tmp_path, 1) as it:
        broker = it.core.broker
        assert broker.monitor_port is None
        assert listening(broker.process.pid) == {f"127.0.0.1:{broker.port}"}
        for role in Role:
            assert (it.data.nats_keys / f"{role}.nk").stat().st_mode & 0o777 == 0o600
        assert it.data.nats_keys.stat().st_mode & 0o777 == 0o700


def listening(pid: int) -> set[str]:
    """Return the TCP addresses at which a process listens."""
    inodes = {str(one.readlink()) for one in Path(f"/proc/{pid}/fd").iterdir()}
    found: set[str] = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, _, state, *_, inode = line.split()[:10]
        if state == "0A" and f"socket:[{inode}]" in inodes:
            address, port = local.split(":")
            octets = bytes.fromhex(address)[::-1]
            found.add(f"{'.'.join(map(str, octets))}:{int(port, 16)}")
    return found


async def test_a_gateway_cannot_deregister_a_ue(tmp_path: Path) -> None:
    """It sends the operator's request on its own subjects: as it is, in the order of an event that
    a function hands on, in a batch, and by JetStream's scheduler, which checks no permissions."""
    async with site(tmp_path, 1, attacked=True) as it:
        report = await run(it.load(programme=(Does.REGISTER,), gnbs=1))
        assert report.ok, report.violations
        await it.settled()
        wish = event(EventType.DEREGISTER, SUPI, Deregister())
        headers = nats_binding.to_headers(wish)
        mine = an_event(Procedure.DEREGISTRATION, Origin.N2)
        target = {"Nats-Schedule": "@at 2026-01-01T00:00:00Z"}
        forged = [
            (mine, headers),
            (mine, {**headers, "ce-position": "1.0.1800000000000"}),
            (
                subjects.event(PARTITION, "no-procedure", Origin.N2, 0),
                {**headers, **target, "Nats-Schedule-Target": BY_OPERATOR},
            ),
            (
                subjects.event(PARTITION, "no-procedure", Origin.N2, 1),
                {**headers, **target, "Nats-Schedule-Target": BY_FUNCTION},
            ),
        ]
        async with stolen(it, Role.GATEWAY_N2) as attacker:
            publisher = Publisher(attacker.client, PARTITIONS)
            await publisher.start()
            for subject, added in forged:
                await attacker.client.jetstream().publish(subject, wish.data, headers=added)
        async with it.connected(Role.SETUP) as client:

            async def buried() -> bool:
                return len(await stored(client, subjects.DEAD_LETTERS)) >= len(forged)

            await until(buried)
        await it.settled()
        assert not await asked(it)
        # The operator's own request works.
        async with it.connected(Role.OPERATOR) as client:
            publisher = Publisher(client, PARTITIONS)
            await publisher.start()
            await publisher.publish([addressed(wish, PARTITIONS).outgoing])
        await until(partial(asked, it))


async def asked(it: Site) -> bool:
    """Whether the log of the UE has a deregistration that was asked for."""
    async with opened(it.data.root, read_only=True) as access:
        steps = [step async for step in access.log.steps(ue_aggregate(SUPI))]
    assert steps
    return any(step.trigger.type == EventType.DEREGISTER for step in steps)
