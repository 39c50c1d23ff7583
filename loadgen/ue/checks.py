"""Checks of the accepts of the network.

REGISTRATION ACCEPT (TS 24.501 5.5.1.2.4, TS 33.501 6.12.3), SERVICE ACCEPT (5.6.1.4.1), and PDU
SESSION ESTABLISHMENT ACCEPT together with its N2 message (6.4.1.3).
"""

from ipaddress import AddressValueError, IPv4Address, IPv6Address

from loadgen.identity import Guti, SNssai, nssai_of_nas, plmns_of, tais_of
from loadgen.session_model import Resource, Session, SessionRequest
from loadgen.trees import Tree, items, number, numbers, part
from loadgen.ue.base import UeBase
from loadgen.ue.model import Procedure
from loadgen.violation import Kind


def check_registration_accept(
    ue: UeBase, tree: Tree, presented: Guti | None, update: Procedure | None = None
) -> None:
    """Check a REGISTRATION ACCEPT.

    Args:
        ue: the UE.
        tree: REGISTRATION ACCEPT.
        presented: the 5G-GUTI of the request.
        update: the kind of update; None for an initial registration.
    """
    result = part(tree, "5gs-registration-result").get("result")
    if result not in ("3gpp-access", "3gpp-access-and-non-3gpp-access"):
        ue.violate(Kind.ACCEPT_RESULT, f"registration result {result} over 3GPP access")
    guti = Guti.of_nas(tree.get("5g-guti"))
    if guti is not None or update is not Procedure.PERIODIC_UPDATE:
        # A new 5G-GUTI is only recommended after a periodic update (TS 33.501 6.12.3).
        _check_guti(ue, guti, presented)
    _check_areas(ue, tree)
    _check_slices(ue, tree)
    support = part(tree, "5gs-network-feature-support")
    if ue.profile.voice_centric and not support.get("ims-vops-3gpp"):
        text = "no IMS voice over PS sessions: a voice-centric UE leaves N1 mode"
        ue.violate(Kind.ACCEPT_VOICE, text)
    ue.context_pending = ue.context_nssai is None


def _check_guti(ue: UeBase, guti: Guti | None, presented: Guti | None) -> None:
    if guti is None:
        ue.violate(Kind.ACCEPT_GUTI, "no 5G-GUTI after a registration")
    elif presented is not None and guti.tmsi == presented.tmsi:
        ue.violate(Kind.ACCEPT_GUTI, "the 5G-TMSI of the request, but a new one is required")
    elif guti.guami.plmn != ue.plmn:
        text = f"a 5G-GUTI of {guti.guami}, but the UE has selected {ue.plmn}"
        ue.violate(Kind.ACCEPT_GUTI, text)
    elif ue.context_guami is not None and guti.guami != ue.context_guami:
        text = f"a 5G-GUTI of {guti.guami}, but the gNB has {ue.context_guami}"
        ue.violate(Kind.CONTEXT_GUAMI, text)


def _check_areas(ue: UeBase, tree: Tree) -> None:
    areas = tais_of(tree.get("tai-list"))
    if ue.tai not in areas:
        text = f"the registration area is {sorted(areas)}, but the UE is in {ue.tai}"
        ue.violate(Kind.ACCEPT_TAI_LIST, text)
    others = {plmn for plmn, _ in areas} - {ue.plmn, *plmns_of(tree)}
    if others:
        text = f"the registration area has the PLMNs {sorted(others)}, which are not equivalent"
        ue.violate(Kind.ACCEPT_TAI_LIST, text)


def check_configured_nssai(ue: UeBase, tree: Tree) -> None:
    """Check the configured NSSAI of a message, if it has one: it has subscribed slices."""
    if "configured-nssai" not in tree:
        return
    configured = nssai_of_nas(tree["configured-nssai"])
    subscribed = frozenset(ue.profile.slices)
    if not configured or not configured <= subscribed:
        text = f"the configured NSSAI is {', '.join(map(str, configured)) or 'empty'}"
        ue.violate(Kind.ACCEPT_CONFIGURED_NSSAI, text)


def _check_slices(ue: UeBase, tree: Tree) -> None:
    check_configured_nssai(ue, tree)
    if ue.requested_nssai() is None and "configured-nssai" not in tree:
        text = f"no configured NSSAI for {ue.plmn}, where the UE has used the default one"
        ue.violate(Kind.ACCEPT_CONFIGURED_NSSAI, text)
    allowed = nssai_of_nas(tree.get("allowed-nssai"))
    rejected = nssai_of_nas(one.get("s-nssai") for one in items(tree, "rejected-nssai"))
    if allowed & rejected:
        both = ", ".join(map(str, allowed & rejected))
        ue.violate(Kind.ACCEPT_NSSAI, f"both allowed and rejected: {both}")
    subscribed = frozenset(ue.profile.slices)
    if not allowed:
        ue.violate(Kind.ACCEPT_NSSAI, "no allowed NSSAI")
    elif not allowed <= subscribed:
        more = ", ".join(str(s) for s in sorted(allowed - subscribed))
        ue.violate(Kind.ACCEPT_NSSAI, f"allowed, but neither requested nor subscribed: {more}")
    elif ue.context_nssai is not None and ue.context_nssai != allowed:
        told = ", ".join(str(s) for s in sorted(ue.context_nssai))
        ue.violate(Kind.CONTEXT_NSSAI, f"the gNB has another allowed NSSAI: {told}")


_STATUS, _RESULT = "pdu-session-status", "pdu-session-reactivation-result"


def check_service_accept(
    ue: UeBase, tree: Tree, asked: tuple[int, ...], *, status: bool
) -> str | None:
    """Check a SERVICE ACCEPT, and release locally the sessions that the network does not have.

    Args:
        ue: the UE.
        tree: SERVICE ACCEPT.
        asked: the sessions of the uplink data status in the request.
        status: whether the request had the PDU session status.

    Returns:
        Why the request failed although it was accepted, or None.
    """
    lost = check_status(ue, tree, Kind.SERVICE_STATUS, asked=status)
    return lost or _check_result(ue, tree, asked)


def check_status(ue: UeBase, tree: Tree, kind: Kind, *, asked: bool) -> str | None:
    """Compare the PDU session status of an accept with the UE's sessions (9.11.3.44).

    Args:
        ue: the UE. It releases locally the sessions that the network does not have.
        tree: the accept.
        kind: the kind of violation for a wrong status.
        asked: whether the request had a status.

    Returns:
        Why the request failed although it was accepted, or None.
    """
    if _STATUS not in tree:
        if asked:
            ue.violate(kind, "no PDU session status, but the request had one")
        return None
    there = set(numbers(tree, _STATUS))
    own = ue.sessions.live.keys()
    if there - own and asked:
        text = f"PDU sessions {sorted(there - own)} are active in the network; the UE has {[*own]}"
        ue.violate(kind, text)
    lost = own - there
    live = ue.sessions.live
    if lost and all(ue.faults.since(live[psi].agreed) for psi in lost):
        ue.faults.surface(ue.now)
    for psi in lost:
        ue.record.sessions_lost += 1
        ue.sessions.remove(psi)
    for session in live.values():
        session.agreed = ue.now
    return "session-lost" if lost else None


def _check_result(ue: UeBase, tree: Tree, asked: tuple[int, ...]) -> str | None:
    if _RESULT not in tree:
        if asked:
            text = "no reactivation result, but the request had an uplink data status"
            ue.violate(Kind.SERVICE_REACTIVATION, text)
        return None
    failed = set(numbers(tree, _RESULT))
    if failed - set(asked) or not asked:
        text = f"reactivation result of {sorted(failed)}; the request was for {sorted(asked)}"
        ue.violate(Kind.SERVICE_REACTIVATION, text)
    return "reactivation-failed" if failed & set(asked) else None


_ONLY = {
    "ipv4": "pdu-session-type-ipv4-only-allowed",
    "ipv6": "pdu-session-type-ipv6-only-allowed",
}
_ROUNDING = 0.001
"""The tolerance for bit rates: NAS has 16 bits and a unit, so it may differ from NGAP."""


def check_session_accept(ue: UeBase, psi: int, asked: SessionRequest, sm: Tree) -> Session:
    """Check a PDU SESSION ESTABLISHMENT ACCEPT. Return its session."""
    session_type = _check_type(ue, asked, sm)
    if sm.get("selected-ssc-mode") != "ssc1":
        text = f"SSC mode {sm.get('selected-ssc-mode')}, but ssc1 was requested"
        ue.violate(Kind.SESSION_SSC_MODE, text)
    qfis = _check_rules(ue, sm)
    session = Session(
        psi=psi,
        dnn=_check_dnn(ue, asked, sm),
        s_nssai=_check_slice(ue, asked, sm),
        session_type=session_type,
        address=_check_address(ue, session_type, sm),
        qfis=qfis,
        ambr=_check_ambr(ue, sm),
    )
    resource = ue.user_plane.get(psi)
    if resource is None:
        text = f"PDU session {psi} is accepted, but the gNB did not set it up"
        ue.violate(Kind.RESOURCE_SESSION, text)
    else:
        session.ul = resource.ul
        _check_flows(ue, sm, qfis, resource)
        check_resource(ue, session, resource)
    return session


def check_resource(ue: UeBase, session: Session, resource: Resource) -> None:
    """Check that the gNB and the UE have the same parameters of a session."""
    psi = session.psi
    if resource.session_type != session.session_type:
        own, got = session.session_type, resource.session_type
        text = f"PDU session {psi} has type {own}, but for the gNB {got}"
        ue.violate(Kind.SESSION_TYPE, text)
    more = set(session.qfis) - resource.flows.keys()
    if more:
        text = f"PDU session {psi} has rules for QFI {sorted(more)}, but the gNB has no such flow"
        ue.violate(Kind.SESSION_QOS_FLOWS, text)
    told = resource.ambr
    if told is not None and not all(map(_same_rate, session.ambr, told)):
        text = f"session AMBR {session.ambr} kbit/s, but for the gNB {told} bit/s"
        ue.violate(Kind.SESSION_AMBR, text)


def _same_rate(kbps: int, bps: int) -> bool:
    return abs(kbps * 1000 - bps) <= max(1000.0, bps * _ROUNDING)


def _check_type(ue: UeBase, asked: SessionRequest, sm: Tree) -> str:
    selected = str(sm.get("selected-pdu-session-type"))
    wanted = asked.session_type
    if wanted == "ipv4v6" and selected in _ONLY:
        if sm.get("5gsm-cause") != _ONLY[selected]:
            text = (
                f"{selected} of {wanted} with cause {sm.get('5gsm-cause')}, not {_ONLY[selected]}"
            )
            ue.violate(Kind.SESSION_TYPE, text)
    elif selected != wanted:
        ue.violate(Kind.SESSION_TYPE, f"PDU session type {selected}, but {wanted} was requested")
    return selected


def _check_rules(ue: UeBase, sm: Tree) -> tuple[int, ...]:
    """Return the QFIs of the rules, with that of the default rule first."""
    rules = items(sm, "authorized-qos-rules")
    default = [rule for rule in rules if rule.get("dqr") is True]
    ids = [rule.get("rule-id") for rule in rules]
    fault = None
    if len(default) != 1:
        fault = f"{len(default)} default rules of {len(rules)}"
    elif any(rule.get("op-code") != "create" for rule in rules):
        fault = f"operations {[rule.get('op-code') for rule in rules]} on a new session"
    elif len(set(ids)) != len(ids) or 0 in ids:
        fault = f"rule identifiers {ids}"
    elif not _matches_all(default[0]):
        fault = f"the default rule does not match all: {default[0].get('packet-filters')}"
    elif any(not 1 <= (number(rule, "qfi") or 0) <= 63 for rule in rules):
        fault = f"QFIs {[rule.get('qfi') for rule in rules]}"
    if fault is not None:
        ue.violate(Kind.SESSION_QOS_RULES, f"authorized QoS rules: {fault}")
    ordered = default + [rule for rule in rules if rule not in default]
    found = [qfi for rule in ordered if (qfi := number(rule, "qfi")) is not None]
    return tuple(dict.fromkeys(found))


def _matches_all(rule: Tree) -> bool:
    filters = [part(one, "match") for one in items(rule, "packet-filters")]
    return any(
        one.get("components") == ["match-all"] and one.get("direction") == "bidirectional"
        for one in filters
    )


def _check_flows(ue: UeBase, sm: Tree, qfis: tuple[int, ...], resource: Resource) -> None:
    """Check the 5QI of each flow. A flow without a description has its QFI as 5QI (6.2.5.1.1.4)."""
    described: dict[int | None, Tree] = {}
    for one in items(sm, "authorized-qos-flow-descriptions"):
        described[number(one, "qfi")] = one
    for qfi in qfis:
        told = resource.flows.get(qfi)
        if qfi in described:
            parameters = items(described[qfi], "params")
            five_qi = next((n for p in parameters if (n := number(p, "5qi")) is not None), qfi)
        else:
            five_qi = qfi
        if told is not None and told != five_qi:
            text = f"QFI {qfi} has 5QI {five_qi} for the UE, but {told} for the gNB"
            ue.violate(Kind.SESSION_QOS_FLOWS, text)


def _check_ambr(ue: UeBase, sm: Tree) -> tuple[int, int]:
    ambr = part(sm, "session-ambr")
    rates = number(ambr, "dl-kbps") or 0, number(ambr, "ul-kbps") or 0
    if 0 in rates:
        ue.violate(Kind.SESSION_AMBR, f"session AMBR {sm.get('session-ambr')}")
    return rates


def _check_address(ue: UeBase, session_type: str, sm: Tree) -> str:
    """Return the IPv4 address, or the link-local address of the interface identifier."""
    given = part(sm, "pdu-address")
    four, interface = given.get("ipv4"), given.get("ipv6-interface-id")
    wanted = {"ipv4": (True, False), "ipv6": (False, True)}.get(session_type, (True, True))
    if (four is not None, interface is not None) != wanted:
        ue.violate(Kind.SESSION_ADDRESS, f"PDU address {given or None} for type {session_type}")
    found = ""
    try:
        if interface is not None:
            identifier = int(str(interface), 16)
            if identifier == 0:
                ue.violate(Kind.SESSION_ADDRESS, "a zero interface identifier")
            found = str(IPv6Address((0xFE80 << 112) | identifier))
        if four is not None:
            address = IPv4Address(str(four))
            if address.is_unspecified or address.is_multicast or address.is_loopback:
                ue.violate(Kind.SESSION_ADDRESS, f"{address}, which is not a UE address")
            found = str(address)
    except (AddressValueError, ValueError):
        ue.violate(Kind.SESSION_ADDRESS, f"PDU address {given}")
    return found


def _check_slice(ue: UeBase, asked: SessionRequest, sm: Tree) -> SNssai | None:
    given = sm.get("s-nssai")
    found = next(iter(nssai_of_nas([given] if given else None)), None)
    allowed = {asked.s_nssai} if asked.s_nssai is not None else set(ue.profile.slices)
    if found not in allowed:
        text = (
            f"S-NSSAI {found}, but expected {', '.join(str(s) for s in sorted(allowed, key=str))}"
        )
        ue.violate(Kind.SESSION_SLICE, text)
    return found


def _check_dnn(ue: UeBase, asked: SessionRequest, sm: Tree) -> str:
    """Return the DNN, which may end with the operator identifier (TS 23.003 9.1)."""
    found = str(sm.get("dnn") or "")
    wanted = asked.dnn
    got = found.lower()
    if not got:
        ue.violate(Kind.SESSION_DNN, "no DNN")
    elif wanted is not None and got != wanted.lower():
        operator = got.removeprefix(wanted.lower() + ".mnc")
        if operator == got or not operator.endswith(".gprs"):
            ue.violate(Kind.SESSION_DNN, f"DNN {found}, but {wanted} was requested")
    return found
