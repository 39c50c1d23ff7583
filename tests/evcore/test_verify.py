"""`evcore log verify` finds every step that is not what was decided."""

import asyncio

import msgspec
from msgspec.structs import replace

from evcore.logs.access import opened
from schemas.aggregates import kind_of
from schemas.step import Step
from tests.evcore import recording
from tests.evcore.recording import OTHER_SUPI, RAN, SUPI, UE, Recorded, played
from tests.evcore.shell import Said, Shell


def test_a_log_that_nobody_touched(evcore: Shell, recorded: Recorded) -> None:
    said = evcore.ok("log", "verify", "--all")
    steps = sum(recorded.heads.values())
    assert said.out == f"verify: aggregates={len(recorded.heads)} steps={steps} differences=0\n"
    said = evcore.ok("log", "verify", SUPI)
    assert said.out == f"verify: aggregates=1 steps={recorded.heads[UE]} differences=0\n"


def differing(said: Said) -> list[str]:
    assert said.status == 1
    *lines, last = said.lines
    assert last.endswith(f" differences={len(lines)}")
    return lines


def test_an_octet_that_changed(evcore: Shell, recorded: Recorded) -> None:
    """What cannot be opened ends the reading of its log, and of no other."""
    recording.damage(recorded.data, UE, 4)
    (line,) = differing(evcore("log", "verify", "--all"))
    assert line.startswith(f"{UE}: {UE}: step 4: ")
    assert evcore.ok("log", "verify", OTHER_SUPI)


def test_steps_that_changed_places(evcore: Shell, recorded: Recorded) -> None:
    """Each is sealed to its place."""
    third, fourth = (recording.body(recorded.data, UE, seq) for seq in (3, 4))
    recording.write(recorded.data, UE, 3, fourth)
    recording.write(recorded.data, UE, 4, third)
    (line,) = differing(evcore("log", "verify", SUPI))
    assert f"{UE}: step 3: " in line


def step_of(recorded: Recorded, name: str, seq: int) -> Step[object]:
    return asyncio.run(recording.read(recorded.data, name))[seq - 1]


def test_an_output_that_was_never_sent(evcore: Shell, recorded: Recorded) -> None:
    step = step_of(recorded, RAN, 1)
    recording.forge(recorded.data, RAN, replace(step, outputs=()))
    assert differing(evcore("log", "verify", "--all")) == [
        f"{RAN} step 1: events or outputs differ"
    ]


def test_an_event_that_never_was(evcore: Shell, recorded: Recorded) -> None:
    """Steps after it are decided on another state than they were: some differ too."""
    step = step_of(recorded, UE, 2)
    recording.forge(recorded.data, UE, replace(step, events=step.events[:1]))
    first, *_ = differing(evcore("log", "verify", SUPI))
    assert first == f"{UE} step 2: events or outputs differ"


def test_other_randomness(evcore: Shell, recorded: Recorded) -> None:
    step = step_of(recorded, UE, 1)
    recording.forge(recorded.data, UE, replace(step, entropy=bytes(32)))
    first, *_ = differing(evcore("log", "verify", SUPI))
    assert first.startswith(f"{UE} step 1: ")


def test_a_subscription_that_is_not_that_version(evcore: Shell, recorded: Recorded) -> None:
    step = step_of(recorded, UE, 1)
    recording.forge(recorded.data, UE, replace(step, subscription=7))
    first, *_ = differing(evcore("log", "verify", SUPI))
    assert first.startswith(f"{UE} step 1: ")


def test_a_snapshot_that_is_not_the_fold(evcore: Shell, recorded: Recorded) -> None:
    other = kind_of(UE).snapshots.encode(played().ue(2))
    asyncio.run(_snapshot(recorded, other))
    assert differing(evcore("log", "verify", SUPI)) == [
        f"{UE}: its snapshot is not the fold of its steps"
    ]


async def _snapshot(recorded: Recorded, state: bytes) -> None:
    async with opened(recorded.data.root) as access:
        (aggregate,) = await access.log.load([UE])
        sealed = aggregate.sealer.seal("snapshot", aggregate.seq, state)
    recording.put_snapshot(recorded.data, UE, aggregate.seq, sealed)


def test_another_master_key(evcore: Shell, recorded: Recorded) -> None:
    secrets = recorded.data.secrets()
    recorded.data.secrets_file.write_bytes(
        msgspec.json.encode(replace(secrets, master_key="00" * 32))
    )
    said = evcore("log", "verify", "--all")
    assert all("the master key cannot open its data key" in line for line in differing(said))
    sentence = evcore.refused("log", "show", SUPI)
    assert sentence == f"{UE}: the master key cannot open its data key"
