"""Application of a request to the rules of its session (TS 29.244 7.5.2, 7.5.4)."""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from loadgen.upf.ies import Ies, every, first, groups, number_in
from loadgen.upf.rules import Far, Pdr, Qer, RuleSet
from loadgen.upf.violation import (
    MANDATORY_IE_MISSING,
    RULE_FAILURE,
    SERVICE_NOT_SUPPORTED,
    PfcpFault,
    PfcpKind,
)

_R = TypeVar("_R")
_NAMES = ("PDR", "FAR", "QER", "URR", "BAR")
_ID_TYPES = {"PDR": 56, "FAR": 108, "QER": 109, "URR": 81, "BAR": 88}
_ENDPOINTS = ("Create Traffic Endpoint", "Update Traffic Endpoint", "Remove Traffic Endpoint")
_UPDATE_BAR = "Update BAR (Session Modification Request)"


def apply(ies: Ies, rules: RuleSet) -> tuple[list[PfcpFault], frozenset[int]]:
    """Apply the IEs of a request to rules: first Remove, then Update, then Create.

    Args:
        ies: the IEs of the request.
        rules: changed in place; not valid if there is a fault.

    Returns:
        The faults of the request, and the numbers of the FARs that it updates or removes.
    """
    faults: list[PfcpFault] = []
    faults += _remove(ies, rules)
    changed = {
        n
        for n in map(_far_id, groups(ies, "Remove FAR") + groups(ies, "Update FAR"))
        if n is not None
    }
    faults += _change(ies, "Update PDR", rules.pdrs, Pdr.of)
    faults += _change(ies, "Update FAR", rules.fars, Far.of)
    faults += _change(ies, "Update QER", rules.qers, Qer.of)
    faults += _unknown(ies, "Update URR", "URR", rules.urrs)
    faults += _unknown(ies, "Query URR", "URR", rules.urrs)
    faults += _unknown(ies, _UPDATE_BAR, "BAR", rules.bars)
    faults += _change(ies, "Create PDR", rules.pdrs, Pdr.of)
    faults += _change(ies, "Create FAR", rules.fars, Far.of)
    faults += _change(ies, "Create QER", rules.qers, Qer.of)
    faults += _add(ies, "URR", rules.urrs)
    faults += _add(ies, "BAR", rules.bars)
    for name in _ENDPOINTS:
        if every(ies, name):
            text = f"{name}, but the UPF does not support PDIU"
            faults.append(PfcpFault(PfcpKind.FEATURE, text, SERVICE_NOT_SUPPORTED))
    return faults, frozenset(changed)


def _far_id(ies: Ies) -> int | None:
    return number_in(ies, "FAR ID")


def _numbers(ies: Ies, verb: str, name: str) -> Iterator[int | PfcpFault]:
    """Yield the rule number, or the fault, of each group with a name."""
    for members in groups(ies, verb):
        number = number_in(members, f"{name} ID")
        if number is None:
            text = f"{verb} without a {name} ID"
            cause = MANDATORY_IE_MISSING
            yield PfcpFault(PfcpKind.SYNTAX, text, cause, offending_ie=_ID_TYPES[name])
        else:
            yield number


def _remove(ies: Ies, rules: RuleSet) -> Iterator[PfcpFault]:
    tables: dict[str, Any] = {
        "PDR": rules.pdrs,
        "FAR": rules.fars,
        "QER": rules.qers,
        "URR": rules.urrs,
        "BAR": rules.bars,
    }
    for name in _NAMES:
        table = tables[name]
        for number in _numbers(ies, f"Remove {name}", name):
            if isinstance(number, PfcpFault):
                yield number
            elif number not in table:
                yield _no_such("Remove", name, number)
            elif isinstance(table, set):
                table.remove(number)
            else:
                del table[number]


def _change(
    ies: Ies, verb: str, table: dict[int, _R], of: Callable[[int, Ies, _R | None], _R]
) -> Iterator[PfcpFault]:
    """Create or update the rules of the groups with a name."""
    what, name = verb.split()
    for members, number in zip(groups(ies, verb), _numbers(ies, verb, name), strict=True):
        if isinstance(number, PfcpFault):
            yield number
            continue
        before = table.get(number)
        if what == "Create" and before is not None:
            yield _duplicate(name, number)
        elif what == "Update" and before is None:
            yield _no_such("Update", name, number)
        elif name == "PDR" and before is None and first(members, "PDI") is None:
            text = f"Create PDR {number} without a PDI"
            yield PfcpFault(PfcpKind.SYNTAX, text, MANDATORY_IE_MISSING, ("PDR", number), 2)
        else:
            table[number] = of(number, members, before)


def _add(ies: Ies, name: str, table: set[int]) -> Iterator[PfcpFault]:
    for number in _numbers(ies, f"Create {name}", name):
        if isinstance(number, PfcpFault):
            yield number
        elif number in table:
            yield _duplicate(name, number)
        else:
            table.add(number)


def _unknown(ies: Ies, verb: str, name: str, table: set[int]) -> Iterator[PfcpFault]:
    for number in _numbers(ies, verb, name):
        if isinstance(number, PfcpFault):
            yield number
        elif number not in table:
            yield _no_such(verb.partition(" ")[0], name, number)


def _no_such(verb: str, name: str, number: int) -> PfcpFault:
    text = f"{verb} {name} {number}, which does not exist"
    return PfcpFault(PfcpKind.RULE_UNKNOWN, text, RULE_FAILURE, (name, number))


def _duplicate(name: str, number: int) -> PfcpFault:
    text = f"Create {name} {number}, which exists already"
    return PfcpFault(PfcpKind.RULE_DUPLICATE, text, RULE_FAILURE, (name, number))
