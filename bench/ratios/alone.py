"""Ratios of parts of the core by themselves: codecs, decisions and the log."""

import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

import wire
from bench.figures import least
from bench.micro import codec
from bench.micro.floor import Floor
from bench.micro.log import life
from schemas.step import Step
from statestore.contract import Append, Appended, Engine
from statestore.log import EventLog
from statestore.open import open_store
from statestore.vault import Vault

STEPS: Final = 512
"""Steps appended in a run of the log."""


def codecs() -> dict[str, float]:
    """Return the cost of decoding and encoding the procedures' messages, relative to pycrate."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # raised by pycrate's own source
        others = {"NGAP": codec.pycrate_ngap(), "NAS": codec.pycrate_nas()}
        own = {
            "NGAP": (codec.ngap(), wire.ngap_decode, wire.ngap_encode),
            "NAS": (codec.corpus("nas", codec.NAS), wire.nas_decode, wire.nas_encode),
        }
        found: dict[str, float] = {}
        for kind, (messages, decode, encode) in own.items():
            their_decode, their_encoder = others[kind]
            works: dict[str, Callable[[], object]] = {}
            for name, octets in messages.items():
                works |= {
                    f"decode {name}": partial(decode, octets),
                    f"encode {name}": partial(encode, decode(octets)),
                    f"their decode {name}": partial(their_decode, octets),
                    f"their encode {name}": their_encoder(octets),
                }
            spent = least(works)
            for what in ("decode", "encode"):
                ours = sum(spent[f"{what} {name}"] for name in messages)
                theirs = sum(spent[f"their {what} {name}"] for name in messages)
                found[f"{kind} {what} : pycrate"] = ours / theirs
        return found


def decisions(floor: Floor) -> dict[str, float]:
    """Return the cost of deciding a registration, relative to the codecs."""
    return {"decide a registration : codec": floor.decisions / floor.codec}


async def appends(file: Path) -> dict[str, float]:
    """Return the cost of a step in a transaction of 64 steps, relative to a transaction of one
    step."""
    _, steps = life(8)
    engine = await open_store(f"sqlite:{file}")
    try:
        events = EventLog(engine, Vault(bytes(32)))
        found: dict[int, list[float]] = {1: [], 64: []}
        for run in range(5):
            for batch, seconds in found.items():
                names = [
                    f"ue/check-{batch}-{run}-{number}" for number in range(STEPS // len(steps))
                ]
                transactions: list[list[Append]] = []
                for at in range(0, len(names), batch):
                    transactions += await _transactions(events, names[at : at + batch], steps)
                seconds.append(await _append(engine, transactions))
        return {"append at 64 : append at 1": min(found[64]) / min(found[1])}
    finally:
        await engine.close()


async def _transactions(
    events: EventLog, names: list[str], steps: list[Step[Any]]
) -> list[list[Append]]:
    """For each step in turn, return its appends to all aggregates."""
    aggregates = await events.load(names)
    found: list[list[Append]] = []
    for step in steps:
        appends: list[Append] = []
        for aggregate in aggregates:
            before = aggregate.state
            aggregate.apply(step)
            # Drop the index entries, because each entry has only one owner.
            appends.append(replace(EventLog.entry(aggregate, step, before), put=(), drop=()))
        found.append(appends)
    return found


async def _append(engine: Engine, transactions: list[list[Append]]) -> float:
    """Return the CPU seconds per step."""
    begun, done = time.process_time(), 0
    for transaction in transactions:
        outcomes = await engine.append(transaction)
        done += len(outcomes)
        if not all(isinstance(outcome, Appended) for outcome in outcomes):
            raise RuntimeError(f"not appended: {outcomes[0]}")
    return (time.process_time() - begun) / done
