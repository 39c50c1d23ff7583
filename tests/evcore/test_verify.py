"""`evcore log verify` finds every step that differs from its decision."""

import asyncio

import msgspec
from msgspec.structs import replace

from evcore.logs.access import opened
from functions.runtime.code import this_code
from schemas.aggregates import kind_of
from schemas.code import Code
from schemas.step import Step
from tests.evcore import recording
from tests.evcore.recording import OTHER_SUPI, RAN, SUPI, UE, Recorded, played
from tests.evcore.shell import Said, Shell

CODES = f", decided by {this_code()}, now {this_code()}"


def test_a_log_without_changes(evcore: Shell, recorded: Recorded) -> None:
    said = evcore.ok("log", "verify", "--all")
    steps = sum(recorded.heads.values())
    aggregates = len(recorded.heads)
    assert said.out == f"verify: aggregates={aggregates} steps={steps} differences=0{CODES}\n"
    said = evcore.ok("log", "verify", SUPI)
    assert said.out == f"verify: aggregates=1 steps={recorded.heads[UE]} differences=0{CODES}\n"


def differing(said: Said, codes: str = CODES) -> list[str]:
    assert said.status == 1
    *lines, last = said.lines
    assert last.endswith(f" differences={len(lines)}{codes}")
    return lines


def test_a_step_of_another_release(evcore: Shell, recorded: Recorded) -> None:
    """It is decided again by this one; if it differs, the line names the code to fetch."""
    other = replace(this_code(), release="0.0.9", functions="9" * 64)
    asyncio.run(_publish(recorded, other))
    step = replace(step_of(recorded, RAN, 1), code=other.id)
    recording.forge(recorded.data, RAN, step)
    then = f", decided by {other} and {this_code()}, now {this_code()}"
    assert evcore.ok("log", "verify", "--all").out.endswith(f" differences=0{then}\n")
    recording.forge(recorded.data, RAN, replace(step, outputs=()))
    assert differing(evcore("log", "verify", "--all"), then) == [
        f"{RAN} step 1: events or outputs differ: fetch evcore {other}, which decided it"
    ]
    assert f"  {other}" in evcore.ok("log", "show", RAN, "--seq", 1).out


async def _publish(recorded: Recorded, code: Code) -> None:
    async with opened(recorded.data.root) as access:
        assert await access.log.publish_code(code) == code.id


def test_a_step_of_code_that_the_log_does_not_know(evcore: Shell, recorded: Recorded) -> None:
    recording.forge(recorded.data, RAN, replace(step_of(recorded, RAN, 1), code="0badc0de"))
    said = evcore.ok("log", "verify", RAN).out
    assert said.endswith(f"decided by unknown code (0badc0de), now {this_code()}\n")


def test_an_octet_that_changed(evcore: Shell, recorded: Recorded) -> None:
    """A step that cannot be opened ends the reading of its log only."""
    recording.damage(recorded.data, UE, 4)
    (line,) = differing(evcore("log", "verify", "--all"))
    assert line == f"{UE}: step 4 of {UE} is damaged: it was changed after it was sealed"
    assert evcore.ok("log", "verify", OTHER_SUPI)


def test_steps_that_changed_places(evcore: Shell, recorded: Recorded) -> None:
    """Each step is sealed to its position."""
    third, fourth = (recording.body(recorded.data, UE, seq) for seq in (3, 4))
    recording.write(recorded.data, UE, 3, fourth)
    recording.write(recorded.data, UE, 4, third)
    (line,) = differing(evcore("log", "verify", SUPI))
    assert f"{UE}: step 3 of {UE} is damaged: " in line


def step_of(recorded: Recorded, name: str, seq: int) -> Step[object]:
    return asyncio.run(recording.read(recorded.data, name))[seq - 1]


def test_an_output_that_was_never_sent(evcore: Shell, recorded: Recorded) -> None:
    step = step_of(recorded, RAN, 1)
    recording.forge(recorded.data, RAN, replace(step, outputs=()))
    assert differing(evcore("log", "verify", "--all")) == [
        f"{RAN} step 1: events or outputs differ"
    ]


def test_an_event_that_never_was(evcore: Shell, recorded: Recorded) -> None:
    """Later steps are decided on another state: some differ too."""
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
    lines = differing(said, f", decided by no code, now {this_code()}")
    assert all("the master key cannot open its data key" in line for line in lines)
    sentence = evcore.refused("log", "show", SUPI)
    assert sentence == f"{UE}: the master key cannot open its data key"
