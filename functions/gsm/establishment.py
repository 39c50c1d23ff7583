"""UE-requested PDU session establishment (TS 24.501 6.4.1, TS 23.502 4.3.2.2.1)."""

from typing import Final, NamedTuple

from functions.decision.ue_decision import UeDecision
from functions.gsm import emergency, rejection, release, user_plane, user_plane_security
from functions.messages import ngap
from functions.messages.nas import gmm, gsm
from functions.messages.trees import Tree, subtree
from schemas.causes import GmmCause, GsmCause
from schemas.gsm.events import SessionRequested, UserPlanePending
from schemas.gsm.state import N4Session, PduAddress, PduSession, Tunnel
from schemas.identity import SNssai, make_seid, slot_of
from schemas.lookups import IpVersion, UsableUpf
from schemas.network import UpfNode, UpfPool, is_same_dnn
from schemas.subscriber import Dnn, PduSessionType

DEFAULT_QFI: Final = 1
"""The QoS flow of the default QoS rule."""


class _RefusedError(Exception):
    """The request is answered with a cause: a 5GSM cause rejects it, a 5GMM cause returns it."""

    def __init__(self, cause: GsmCause | GmmCause, reason: str = "") -> None:
        super().__init__(f"{cause.text}: {reason}" if reason else cause.text)
        self.cause = cause


class _Place(NamedTuple):
    """Where a session can be, and as what."""

    upf: UpfNode
    type: PduSessionType
    cause: GsmCause | None
    """Why the type is another than the UE asked for."""
    allocates: bool
    """Whether the core allocates the F-TEID."""
    incarnation: int
    """The Recovery Time Stamp of the UPF."""


def begin(d: UeDecision, transport: Tree, request: Tree, octets: bytes) -> None:
    """Take a PDU SESSION ESTABLISHMENT REQUEST, and its octets, with what its transport says of
    it."""
    psi, pti = request["pdu-session-identity"], request["procedure-transaction-identity"]
    before = user_plane.by_id(d, psi)
    if pti in _NO_PTI:
        d.send_nas(gsm.transport(gsm.status(psi, pti, GsmCause.INVALID_PTI), psi))
        return
    again = before is not None and before.request == octets
    if before is not None and again and _is_under_way(before):
        if _is_overdue(d, before):
            # Only the release of the connection goes before what the gNB has not answered.
            d.note("the gNB does not respond")
            d.release(ngap.RELEASED_BY_CORE)
        else:
            _repeated(d, before, request)
        return
    if before is not None:
        release.forget(d, before, "the UE requests it again")
    try:
        session = _session(d, transport, request, octets)
    except _RefusedError as refused:
        d.note(f"PDU session {psi}: {refused}")
        if isinstance(refused.cause, GsmCause):
            urgent = emergency.is_requested(transport)
            rejection.reject(d, psi, pti, refused.cause, emergency=urgent)
        else:
            returned = gsm.not_forwarded(octets, psi, refused.cause)
            d.send(ngap.downlink_nas_transport(d.connection, d.protect(returned)))
        return
    d.emit(SessionRequested(session))


_NO_PTI: Final = (0, 255)
"""No procedure transaction identity assigned, and the reserved value (9.6)."""


def _is_under_way(session: PduSession) -> bool:
    """Whether the same request again is a repetition, and not of a UE that has lost the session."""
    return session.stage == "establishing" or session.user_plane == "on"


def _is_overdue(d: UeDecision, session: PduSession) -> bool:
    """Whether the gNB has had time enough to answer a request that the session waits for."""
    waits = session.stage == "establishing" and session.n4.up_seid
    return bool(waits) and user_plane.is_overdue(d)


def granted(d: UeDecision, session: PduSession) -> None:
    """The UPF has the session: the gNB is to have it, and the UE its accept."""
    if session.user_plane == "off":
        d.emit(UserPlanePending(session.n4.seid))


def failed(d: UeDecision, session: PduSession, reason: str) -> None:
    """No UPF has the session in the making. A UE that may have its accept is told otherwise."""
    if session.accepted:
        release.by_network(d, session, GsmCause.NETWORK_FAILURE)
        return
    rejection.insufficient(d, session, reason, reachable=user_plane.reachable(d))


def _repeated(d: UeDecision, session: PduSession, request: Tree) -> None:
    """T3580 expired: the request was taken, its answer is under way or was lost (6.4.1.7)."""
    if session.stage != "active" or session.user_plane != "on":
        d.note("the same PDU SESSION ESTABLISHMENT REQUEST again")
        return
    accept = gsm.accept(session, request, d.env.network.data_network(session.dnn))
    d.send(ngap.downlink_nas_transport(d.connection, d.protect(accept)))


def _session(d: UeDecision, transport: Tree, request: Tree, octets: bytes) -> PduSession:
    kind = transport.get("request-type", "initial-request")
    if kind == "existing-pdu-session":
        raise _RefusedError(GsmCause.PDU_SESSION_DOES_NOT_EXIST)
    urgent = emergency.is_requested(transport)
    if kind != "initial-request" and not urgent:
        raise _RefusedError(GmmCause.PAYLOAD_NOT_FORWARDED)
    nssai, dnn = _emergency(d) if urgent else _subscribed(d, transport)
    if request.get("ssc-mode", "ssc1") != "ssc1":
        raise _RefusedError(GsmCause.UNSUPPORTED_SSC_MODE)
    wanted = request.get("pdu-session-type", dnn.session_types[0].lower())
    place, address = _place(d, nssai, dnn, wanted)
    security = user_plane_security.enforced(d.env.network.data_network(dnn.name), request)
    if isinstance(security, GsmCause):
        raise _RefusedError(security)
    seid = make_seid(slot_of(d.ue.supi), d.env.random_int(54))
    uplink = None
    if place.allocates:
        # By chance; the index entry makes sure that no other session of the UPF has it.
        uplink = Tunnel(1 + d.env.random_int(32) % 0xFFFF_FFFF, place.upf.n3)
    return PduSession(
        id=request["pdu-session-identity"],
        pti=request["procedure-transaction-identity"],
        nssai=nssai,
        dnn=dnn.name,
        type=place.type,
        address=address,
        ambr=dnn.ambr,
        qfi=DEFAULT_QFI,
        five_qi=dnn.five_qi,
        arp_priority=dnn.arp_priority,
        arp_preemption_capability=dnn.arp_preemption_capability,
        arp_preemption_vulnerability=dnn.arp_preemption_vulnerability,
        n4=N4Session(
            place.upf.node_id, seid, allocates=place.allocates, incarnation=place.incarnation
        ),
        uplink=uplink,
        request=octets,
        cause=int(place.cause or 0),
        emergency=urgent,
        security=security,
    )


def _emergency(d: UeDecision) -> tuple[SNssai, Dnn]:
    """Return the slice and the DNN of an emergency PDU session, the only one of the UE.

    Raises:
        _RefusedError: #90 there are no emergency services.
    """
    found = emergency.place(d)
    if found is None:
        raise _RefusedError(GmmCause.PAYLOAD_NOT_FORWARDED, "no emergency services")
    emergency.replace(d)
    return found


def _subscribed(d: UeDecision, transport: Tree) -> tuple[SNssai, Dnn]:
    """Return the slice of a session, and the subscription for its DNN (5.4.5.2.3).

    Without an S-NSSAI it is a default slice, or else another allowed one, that has the DNN. Without
    a DNN it is the first one of the slice.

    Raises:
        _RefusedError: #90 the slice is not allowed, or the UE is registered for emergency services
            only; #91 the DNN is not subscribed in it.
    """
    if d.ue.emergency:
        raise _RefusedError(GmmCause.PAYLOAD_NOT_FORWARDED, "registered for emergency services")
    allowed, told = d.ue.allowed_nssai, subtree(transport, "s-nssai")
    slices = d.env.subscriber.slices if d.env.subscriber is not None else ()
    if told:
        asked = gmm.read_s_nssai(told)
        if asked not in allowed:
            raise _RefusedError(GmmCause.PAYLOAD_NOT_FORWARDED)
        chosen = [one for one in slices if one.nssai == asked]
    else:
        found = [one for one in slices if one.nssai in allowed]
        chosen = sorted(found, key=lambda one: (not one.default, allowed.index(one.nssai)))
        if not chosen:
            raise _RefusedError(GmmCause.PAYLOAD_NOT_FORWARDED)
    name = transport.get("dnn")
    for one in chosen:
        for dnn in one.dnns:
            if name is None or is_same_dnn(dnn.name, str(name)):
                return one.nssai, dnn
    raise _RefusedError(GmmCause.DNN_NOT_SUBSCRIBED)


# Where


def _place(d: UeDecision, nssai: SNssai, dnn: Dnn, wanted: str) -> tuple[_Place, PduAddress]:
    """A UPF and an address for a session.

    Raises:
        _RefusedError: #70 no UPF serves the DNN in the slice, #28, #50, #51 for the type, #26 none
            that serves it is there, or has addresses left.
    """
    serving = [
        (upf, pool)
        for upf in d.env.network.upfs
        for pool in upf.pools
        if is_same_dnn(pool.dnn, dnn.name) and (not upf.slices or nssai in upf.slices)
    ]
    if not serving:
        reason = f"no UPF is configured for {dnn.name} in slice {nssai}"
        raise _RefusedError(GsmCause.MISSING_OR_UNKNOWN_DNN_IN_A_SLICE, reason)
    typed = [(upf, pool, _type(pool, dnn, wanted)) for upf, pool in serving]
    possible = [(upf, pool, found) for upf, pool, found in typed if not isinstance(found, GsmCause)]
    if not possible:
        causes = [found for _, _, found in typed if isinstance(found, GsmCause)]
        raise _RefusedError(causes[0])
    usable = {upf.node_id: upf for upf in d.env.usable_upfs()}
    there = [item for item in possible if _serves(item[0], usable)]
    for upf, pool, (kind, cause) in _shuffled(d, there, usable):
        address = _address(d, upf, pool, kind)
        if address is not None:
            found = usable[upf.node_id]
            return _Place(upf, kind, cause, not found.ftup, found.recovery_time_stamp), address
    if there:
        reason = f"no address of {dnn.name} is left"
    else:
        down = dict.fromkeys(upf.node_id for upf, *_ in possible)
        reason = f"no UPF of {dnn.name} can be used: {', '.join(down)}"
    raise _RefusedError(GsmCause.INSUFFICIENT_RESOURCES, reason)


_Typed = tuple[PduSessionType, GsmCause | None]
_Candidate = tuple[UpfNode, UpfPool, _Typed]


def _type(pool: UpfPool, dnn: Dnn, wanted: str) -> _Typed | GsmCause:
    """The type that a pool and a subscription allow of the one asked for (6.4.1.3, 6.4.1.4.1)."""
    types = set(dnn.session_types)
    both = PduSessionType.IPV4V6 in types
    four = bool(pool.ipv4) and (both or PduSessionType.IPV4 in types)
    six = bool(pool.ipv6) and (both or PduSessionType.IPV6 in types)
    if wanted == "ipv4v6":
        if four and six:
            return PduSessionType.IPV4V6, None
        if four:
            return PduSessionType.IPV4, GsmCause.IPV4_ONLY_ALLOWED
        if six:
            return PduSessionType.IPV6, GsmCause.IPV6_ONLY_ALLOWED
    elif wanted == "ipv4" and (four or six):
        return (PduSessionType.IPV4, None) if four else GsmCause.IPV6_ONLY_ALLOWED
    elif wanted == "ipv6" and (four or six):
        return (PduSessionType.IPV6, None) if six else GsmCause.IPV4_ONLY_ALLOWED
    return GsmCause.UNKNOWN_PDU_SESSION_TYPE


def _serves(upf: UpfNode, usable: dict[str, UsableUpf]) -> bool:
    found = usable.get(upf.node_id)
    return found is not None and bool(upf.n3 or found.ftup)


def _shuffled(
    d: UeDecision, candidates: list[_Candidate], usable: dict[str, UsableUpf]
) -> list[_Candidate]:
    """Candidates in an order of chance: first the one with capacity to spare, most often."""
    left, order = list(candidates), list[_Candidate]()
    while left:
        weights = [max(1, upf.capacity * (100 - usable[upf.node_id].load)) for upf, _, _ in left]
        drawn = d.env.random_int(32) % sum(weights)
        index = 0
        while drawn >= weights[index]:
            drawn -= weights[index]
            index += 1
        order.append(left.pop(index))
    return order


def _address(d: UeDecision, upf: UpfNode, pool: UpfPool, kind: PduSessionType) -> PduAddress | None:
    """An address of each version that the type has; None when one of them is not to be had."""
    found: dict[IpVersion, str] = {}
    for version, kinds in _KINDS:
        if kind in kinds:
            found[version] = d.env.free_address(pool.dnn, upf.node_id, version)
    if not all(found.values()):
        return None
    interface = d.env.random_int(63) | 1 if 6 in found else 0
    return PduAddress(found.get(4, ""), found.get(6, ""), interface)


_KINDS: Final[tuple[tuple[IpVersion, tuple[str, ...]], ...]] = (
    (4, ("IPV4", "IPV4V6")),
    (6, ("IPV6", "IPV4V6")),
)
"""IP versions, and the PDU session types that have an address of each."""
