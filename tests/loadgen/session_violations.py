"""Each kind of violation in PDU sessions, service requests and paging, with a core that commits
it."""

from collections.abc import Callable
from typing import Any

from loadgen.gnb.context import CampedUe
from loadgen.ue.model import Procedure
from loadgen.violation import Kind
from tests.loadgen.amf import Amf, Tree
from tests.loadgen.steps import (
    IDLE,
    PAGE,
    SERVICE,
    SERVICE_REQUEST,
    SESSION,
    connection,
    put,
    put_ie,
    registered,
    without,
)
from tests.loadgen.world import World

ACCEPT = "pdu-session-establishment-accept"


def _asked(ue_index: int = 0, world: World | None = None) -> tuple[World, CampedUe]:
    return registered(world, ue_index)


def accepted(**changes: Any) -> World:
    """Establish a session with other values in its accept; None omits an IE."""
    world, ue = _asked()

    def tree(found: Tree) -> Tree:
        return {k: v for k, v in {**found, **changes}.items() if v is not None}

    world.amf.trees[ACCEPT] = tree
    world.begin(ue, SESSION)
    world.settle()
    return world


def transferred(**changes: Any) -> World:
    """Establish a session with other values in its transfer; None omits an IE."""
    world, ue = _asked()

    def tree(found: Tree) -> Tree:
        changed = {**found, **{name.replace("_", "-"): v for name, v in changes.items()}}
        return {k: v for k, v in changed.items() if v is not None}

    world.amf.smf.transfers["setup"] = tree
    world.begin(ue, SESSION)
    world.settle()
    return world


def rules(**changes: Any) -> World:
    """Establish a session with another single rule."""
    world, ue = _asked()

    def tree(found: Tree) -> Tree:
        (rule,) = found["authorized-qos-rules"]
        return {**found, "authorized-qos-rules": [{**rule, **changes}]}

    world.amf.trees[ACCEPT] = tree
    world.begin(ue, SESSION)
    world.settle()
    return world


def sm_identity() -> World:
    return accepted(**{"procedure-transaction-identity": 77})


def sm_identity_of_the_transport() -> World:
    world, ue = _asked()
    transport = world.amf.smf.transport

    def other(message: Tree, **more: Any) -> Tree | None:
        tree = transport(message, **more)
        return None if tree is None else {**tree, "pdu-session-id": 9}

    world.amf.smf.transport = other
    world.begin(ue, SESSION)
    world.settle()
    return world


def _down(message: Tree) -> World:
    world, ue = _asked()
    world.amf.smf.down(connection(world, ue), message)
    world.settle()
    return world


def _message(name: str, **more: Any) -> Tree:
    head = {"pdu-session-identity": 4, "procedure-transaction-identity": 0}
    return {**head, "message-type": name, **more}


def sm_unexpected() -> World:
    cause = {"5gsm-cause": "regular-deactivation"}
    return _down(_message("pdu-session-release-command", **cause))


def sm_unexpected_modification() -> World:
    return _down(_message("pdu-session-modification-command"))


def sm_unexpected_accept() -> World:
    world, ue = _asked()
    assert world.run(ue, SESSION).cause is None
    one = world.amf.smf.at("10.45.0.1")
    world.amf.smf.down(connection(world, ue), world.amf.smf.accept(one, 9, {}))
    world.settle()
    assert world.amf.uplink[-1]["5gsm-cause"] == "pti-mismatch"
    return world


def sm_status() -> World:
    return _down(_message("5gsm-status", **{"5gsm-cause": "invalid-mandatory-information"}))


def session_type() -> World:
    return accepted(**{"selected-pdu-session-type": "ipv6"})


def session_ssc_mode() -> World:
    return accepted(**{"selected-ssc-mode": "ssc2"})


def session_qos_rules() -> World:
    return rules(dqr=False)


def session_qos_flows() -> World:
    return rules(qfi=5)


def session_ambr() -> World:
    return accepted(**{"session-ambr": {"dl-kbps": 1000, "ul-kbps": 1000}})


def session_address() -> World:
    return accepted(**{"pdu-address": None})


def session_address_twice() -> World:
    world, ue = _asked()
    assert world.run(ue, SESSION).cause is None
    other = world.ue(1)
    world.register(other)
    world.amf.trees[ACCEPT] = lambda t: {**t, "pdu-address": {"ipv4": "10.45.0.1"}}
    assert world.run(other, SESSION).cause == "violation-session-address"
    return world


def session_address_of_the_other_session() -> World:
    world, ue = _asked()
    assert world.run(ue, SESSION).cause is None
    world.amf.trees[ACCEPT] = lambda t: {**t, "pdu-address": {"ipv4": "10.45.0.1"}}
    assert world.run(ue, SESSION).cause == "violation-session-address"
    return world


def session_slice() -> World:
    return accepted(**{"s-nssai": {"sst": 2}})


def session_dnn() -> World:
    return accepted(dnn="ims")


def resource_transfer() -> World:
    return transferred(PDUSessionAggregateMaximumBitRate=None)


def resource_security() -> World:
    """Integrity protection without the maximum data rate of the UE."""
    policy = {
        "integrityProtectionIndication": "required",
        "confidentialityProtectionIndication": "preferred",
    }
    return transferred(SecurityIndication=policy)


def resource_session() -> World:
    world, ue = _asked()

    def as_downlink(tree: Tree) -> Tree:
        kept = [ie for ie in tree["ies"] if next(iter(ie)).endswith("NGAP-ID")]
        (item,) = next(ie[n] for ie in tree["ies"] for n in ie if n.startswith("PDUSession"))
        nas = {"NAS-PDU": item["pDUSessionNAS-PDU"]}
        return {"message": "DownlinkNASTransport", "ies": [*kept, nas]}

    world.amf.pdus["PDUSessionResourceSetupRequest"] = as_downlink
    assert world.run(ue, SESSION).cause == "violation-resource-session"
    return world


def resource_session_of_nobody() -> World:
    world, ue = _asked()
    assert world.run(ue, SESSION).cause is None
    one = world.amf.smf.at("10.45.0.1")
    one.psi = 5
    world.amf.smf.set_up(connection(world, ue), [one], {})
    world.settle()
    return world


def resource_session_twice() -> World:
    world, ue = _asked()
    assert world.run(ue, SESSION).cause is None
    world.amf.smf.set_up(connection(world, ue), [world.amf.smf.at("10.45.0.1")], {})
    world.settle()
    return world


def resource_session_left() -> World:
    world, ue = _asked()
    assert world.run(ue, SESSION).cause is None
    world.amf.smf.at("10.45.0.1").dl = None
    world.amf.smf.release(connection(world, ue), 1)
    world.settle()
    return world


def resource_session_modified() -> World:
    world, ue = _asked()
    flows = {"QosFlowAddOrModifyRequestList": [{"qosFlowIdentifier": 9}]}
    world.amf.smf.modify(connection(world, ue), 3, [flows], None)
    world.settle()
    return world


def resource_tunnel() -> World:
    world, ue = _asked()
    assert world.run(ue, SESSION).cause is None
    tunnel = {"transportLayerAddress": "127.0.0.8", "gTP-TEID": 1}
    world.amf.smf.transfers["setup"] = lambda t: {
        **t,
        "UL-NGU-UP-TNLInformation": {"gTPTunnel": tunnel},
    }
    assert world.run(ue, SESSION).cause == "violation-resource-tunnel"
    return world


def _idle() -> tuple[World, CampedUe]:
    world, ue = _asked()
    assert world.run(ue, SESSION, IDLE).cause is None
    return world, ue


def served(kind: Kind, change: Callable[[Amf], None], procedure: Procedure = SERVICE) -> World:
    """Run a service request with a changed AMF, which commits a violation."""
    world, ue = _idle()
    change(world.amf)
    assert world.run(ue, procedure).cause == f"violation-{kind}"
    return world


def resource_ambr() -> World:
    change = put_ie("UEAggregateMaximumBitRate", "InitialContextSetupRequest", None)
    return served(Kind.RESOURCE_AMBR, change, SERVICE_REQUEST)


def service_status() -> World:
    return served(Kind.SERVICE_STATUS, without("pdu-session-status", "service-accept"))


def service_status_of_more() -> World:
    return served(Kind.SERVICE_STATUS, put("pdu-session-status", "service-accept", [1, 2]))


def service_reactivation() -> World:
    change = without("pdu-session-reactivation-result", "service-accept")
    return served(Kind.SERVICE_REACTIVATION, change, SERVICE_REQUEST)


def service_reactivation_of_more() -> World:
    change = put("pdu-session-reactivation-result", "service-accept", [2])
    return served(Kind.SERVICE_REACTIVATION, change, SERVICE_REQUEST)


def service_user_plane() -> World:
    world, ue = _idle()
    left_out = {"PDUSessionResourceSetupListCxtReq", "UEAggregateMaximumBitRate"}
    world.amf.pdus["InitialContextSetupRequest"] = lambda t: {
        **t,
        "ies": [ie for ie in t["ies"] if not left_out & ie.keys()],
    }
    world.begin(ue, SERVICE_REQUEST)
    world.pass_time(10.1)
    return world


def paging_identity() -> World:
    world, ue = _idle()
    identity = {"fiveG-S-TMSI": {"aMFSetID": 9, "aMFPointer": 4, "fiveG-TMSI": 1}}
    put_ie("UEPagingIdentity", "Paging", identity)(world.amf)
    world.begin(ue, PAGE)
    world.settle()
    return world


def paging_area() -> World:
    world, ue = _idle()
    world.amf.paged_areas = [{"tAI": {"pLMNIdentity": "001-01", "tAC": 2}}]
    world.begin(ue, PAGE)
    world.settle()
    return world


CASES: dict[Kind, Callable[[], World]] = {
    Kind.RESOURCE_SECURITY: resource_security,
    Kind.SM_IDENTITY: sm_identity,
    Kind.SM_UNEXPECTED: sm_unexpected,
    Kind.SM_STATUS: sm_status,
    Kind.SESSION_TYPE: session_type,
    Kind.SESSION_SSC_MODE: session_ssc_mode,
    Kind.SESSION_QOS_RULES: session_qos_rules,
    Kind.SESSION_QOS_FLOWS: session_qos_flows,
    Kind.SESSION_AMBR: session_ambr,
    Kind.SESSION_ADDRESS: session_address,
    Kind.SESSION_SLICE: session_slice,
    Kind.SESSION_DNN: session_dnn,
    Kind.RESOURCE_TRANSFER: resource_transfer,
    Kind.RESOURCE_SESSION: resource_session,
    Kind.RESOURCE_TUNNEL: resource_tunnel,
    Kind.RESOURCE_AMBR: resource_ambr,
    Kind.SERVICE_STATUS: service_status,
    Kind.SERVICE_REACTIVATION: service_reactivation,
    Kind.SERVICE_USER_PLANE: service_user_plane,
    Kind.PAGING_IDENTITY: paging_identity,
    Kind.PAGING_AREA: paging_area,
}

_NO_MATCH = [
    {"match": {"direction": "uplink", "identifier": 1, "components": ["match-all"]}},
]
_TUNNEL_ZERO = {"gTPTunnel": {"transportLayerAddress": "127.0.0.8", "gTP-TEID": 0}}
_FLOW = [{"qfi": 9, "op-code": "create", "e-flag": True, "params": [{"5qi": 8}]}]

MORE: list[tuple[Kind, Callable[[], World]]] = [
    (Kind.SM_IDENTITY, sm_identity_of_the_transport),
    (Kind.SM_UNEXPECTED, sm_unexpected_modification),
    (Kind.SM_UNEXPECTED, sm_unexpected_accept),
    (Kind.SESSION_QOS_RULES, lambda: rules(**{"packet-filters": _NO_MATCH})),
    (Kind.SESSION_QOS_RULES, lambda: rules(**{"op-code": "modify-add"})),
    (
        Kind.SESSION_QOS_FLOWS,
        lambda: accepted(**{"authorized-qos-flow-descriptions": _FLOW}),
    ),
    (Kind.SESSION_ADDRESS, session_address_twice),
    (Kind.SESSION_ADDRESS, session_address_of_the_other_session),
    (Kind.SESSION_ADDRESS, lambda: accepted(**{"pdu-address": {"ipv4": "0.0.0.0"}})),  # noqa: S104 - no socket
    (Kind.SESSION_SLICE, lambda: accepted(**{"s-nssai": None})),
    (Kind.SESSION_DNN, lambda: accepted(dnn=None)),
    (Kind.RESOURCE_TRANSFER, lambda: transferred(PDUSessionType=None)),
    (Kind.RESOURCE_TRANSFER, lambda: transferred(UL_NGU_UP_TNLInformation=_TUNNEL_ZERO)),
    (Kind.SESSION_TYPE, lambda: transferred(PDUSessionType="ipv6")),
    (Kind.RESOURCE_SESSION, resource_session_of_nobody),
    (Kind.RESOURCE_SESSION, resource_session_twice),
    (Kind.RESOURCE_SESSION, resource_session_left),
    (Kind.RESOURCE_SESSION, resource_session_modified),
    (Kind.SERVICE_STATUS, service_status_of_more),
    (Kind.SERVICE_REACTIVATION, service_reactivation_of_more),
]
"""Other ways to commit some of the violations."""
