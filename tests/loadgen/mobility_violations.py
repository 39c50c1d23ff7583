"""Each kind of violation in handovers and updates, with a core that commits it."""

from collections.abc import Callable
from typing import Any

from loadgen.ue.model import Procedure
from loadgen.violation import Kind
from tests.loadgen.amf import Tree
from tests.loadgen.steps import SESSION, put_ie, registered, without
from tests.loadgen.world import World

XN = Procedure.XN_HANDOVER
N2 = Procedure.N2_HANDOVER


def _handed_over(change: Callable[[World], None], *kinds: Procedure, wait: float = 0.0) -> World:
    """Change the AMF of a UE before its handovers."""
    world, ue = registered(World(gnbs=2))
    assert world.run(ue, SESSION, SESSION).cause is None
    change(world)
    for kind in kinds:
        world.begin(ue, kind)
        world.pass_time(wait)
    return world


def _with(message: str, name: str, value: Any) -> Callable[[World], None]:
    return lambda world: put_ie(name, message, value)(world.amf)


def _edited(message: str, name: str, edit: Callable[[Any], Any]) -> Callable[[World], None]:
    """Make the AMF change the value of an IE."""

    def change(world: World) -> None:
        def tree(found: Tree) -> Tree:
            ies = [{k: edit(v) if k == name else v for k, v in ie.items()} for ie in found["ies"]]
            return {**found, "ies": ies}

        world.amf.pdus[message] = tree

    return change


def _set(name: str) -> Callable[[World], None]:
    def change(world: World) -> None:
        setattr(world.amf.mobility, name, not getattr(world.amf.mobility, name))

    return change


def _silent(message: str) -> Callable[[World], None]:
    return lambda world: world.amf.mobility.silent.add(message)


def _new_context(world: World) -> None:
    """Make the AMF indicate a new K_AMF that does not exist."""

    def tree(found: Tree) -> Tree:
        ies: list[Tree] = []
        for ie in found["ies"]:
            ies.append(ie)
            if "SecurityContext" in ie:
                ies.append({"NewSecurityContextInd": "true"})
        return {**found, "ies": ies}

    world.amf.pdus["HandoverRequest"] = tree


_OTHER_PAIR = {"nextHopChainingCount": 2, "nextHopNH": "00" * 32}
_TO_TARGET = "SourceToTarget-TransparentContainer"
_TO_SOURCE = "TargetToSource-TransparentContainer"
_STATUS = "RANStatusTransfer-TransparentContainer"


def _one_less(items: list[Any]) -> list[Any]:
    return items[:-1]


def _other_tunnel(items: list[Any]) -> list[Any]:
    for item in items:
        for ie in item["handoverRequestTransfer"]["protocolIEs"]:
            if "UL-NGU-UP-TNLInformation" in ie:
                ie["UL-NGU-UP-TNLInformation"]["gTPTunnel"]["gTP-TEID"] += 1000
    return items


def _other_status(status: Tree) -> Tree:
    return {"dRBsSubjectToStatusTransferList": status["dRBsSubjectToStatusTransferList"][:1]}


def update_status() -> World:
    world, ue = registered()
    assert world.run(ue, SESSION).cause is None
    without("pdu-session-status", "registration-accept")(world.amf)
    end = world.run(ue, Procedure.PERIODIC_UPDATE)
    assert end.cause == "violation-update-status"
    return world


def update_status_of_more() -> World:
    world, ue = registered()
    assert world.run(ue, SESSION).cause is None
    world.amf.trees["registration-accept"] = lambda t: {**t, "pdu-session-status": [1, 2]}
    assert world.run(ue, Procedure.PERIODIC_UPDATE).cause == "violation-update-status"
    return world


CASES: dict[Kind, Callable[[], World]] = {
    Kind.HANDOVER_KEY: lambda: _handed_over(
        _with("PathSwitchRequestAcknowledge", "SecurityContext", _OTHER_PAIR), XN
    ),
    Kind.HANDOVER_SESSIONS: lambda: _handed_over(
        _edited("PathSwitchRequestAcknowledge", "PDUSessionResourceSwitchedList", _one_less), XN
    ),
    Kind.HANDOVER_CONTAINER: lambda: _handed_over(_with("HandoverRequest", _TO_TARGET, "4000"), N2),
    Kind.HANDOVER_STATUS: lambda: _handed_over(
        _edited("DownlinkRANStatusTransfer", _STATUS, _other_status), N2
    ),
    Kind.HANDOVER_UNANSWERED: lambda: _handed_over(_silent("HandoverRequired"), N2, wait=10.1),
    Kind.HANDOVER_RELEASE: lambda: _handed_over(
        _with("UEContextReleaseCommand", "Cause", {"nas": "normal-release"}), N2
    ),
    Kind.HANDOVER_TUNNEL: lambda: _handed_over(_set("moves_tunnels"), XN, wait=5.1),
    Kind.UPDATE_STATUS: update_status,
}

MORE: list[tuple[Kind, Callable[[], World]]] = [
    (Kind.HANDOVER_KEY, lambda: _handed_over(_set("keeps_pair"), XN, XN)),
    (
        Kind.HANDOVER_KEY,
        lambda: _handed_over(_with("HandoverRequest", "SecurityContext", _OTHER_PAIR), N2),
    ),
    (
        Kind.HANDOVER_KEY,
        lambda: _handed_over(_new_context, N2),
    ),
    (
        Kind.HANDOVER_SESSIONS,
        lambda: _handed_over(
            _edited("HandoverRequest", "PDUSessionResourceSetupListHOReq", _one_less), N2
        ),
    ),
    (
        Kind.HANDOVER_SESSIONS,
        lambda: _handed_over(
            _edited("HandoverRequest", "PDUSessionResourceSetupListHOReq", _other_tunnel), N2
        ),
    ),
    (
        Kind.HANDOVER_SESSIONS,
        lambda: _handed_over(
            _with("HandoverCommand", "PDUSessionResourceToReleaseListHOCmd", None),
            Procedure.HANDOVER_PARTIAL,
        ),
    ),
    (
        Kind.HANDOVER_CONTAINER,
        lambda: _handed_over(_with("HandoverCommand", _TO_SOURCE, "0000"), N2),
    ),
    (
        Kind.HANDOVER_STATUS,
        lambda: _handed_over(
            lambda world: world.amf.pdus.update(DownlinkRANStatusTransfer=lambda _: None),
            N2,
            wait=5.1,
        ),
    ),
    (
        Kind.HANDOVER_UNANSWERED,
        lambda: _handed_over(_silent("HandoverCancel"), Procedure.HANDOVER_CANCEL, wait=10.1),
    ),
    (Kind.HANDOVER_RELEASE, lambda: _handed_over(_set("keeps_source"), N2, wait=10.1)),
    (Kind.HANDOVER_TUNNEL, lambda: _handed_over(_set("moves_tunnels"), N2, wait=5.1)),
    (
        Kind.CONTEXT_CAPABILITIES,
        lambda: _handed_over(
            _edited(
                "HandoverRequest",
                "UESecurityCapabilities",
                lambda v: {**v, "nRencryptionAlgorithms": "8000"},
            ),
            N2,
        ),
    ),
    (
        Kind.CONTEXT_NSSAI,
        lambda: _handed_over(
            _with("PathSwitchRequestAcknowledge", "AllowedNSSAI", [{"s-NSSAI": {"sST": 9}}]), XN
        ),
    ),
    (Kind.UPDATE_STATUS, update_status_of_more),
]
"""Other ways to commit some of the violations."""
