"""The PFCP session of a PDU session (TS 29.244 6.3): its rules, and the requests for them.

Two PDRs: uplink packets of the gNB's tunnel go to the data network, downlink packets of the UE's
address go to the gNB, or into the buffer while it has no tunnel. One QER holds the session AMBR
and marks the one QoS flow.
"""

from ipaddress import ip_address
from typing import Final

from msgspec.structs import replace

import wire
from functions import pfcp
from functions.draft import Draft
from functions.trees import Tree
from schemas.cloudevents import CloudEvent
from schemas.identity import index_seid, slot_of_seid
from schemas.session import N4Request, N4Session, PduSession, Tunnel
from schemas.step import SendPfcp
from schemas.subscriber import Ambr
from schemas.ue_events import N4Answered, N4Failed, N4Sent

TIMER: Final = "n4"

REPETITIONS: Final = 3
"""How often an establishment is handed to the gateway again, before it is given up."""

GIVE_UP: Final = 10
"""The same of one that nobody wants any more: an answer that comes after all is deleted."""

_SLOWEST: Final = 1024
"""How many times its first interval a repetition waits at most."""

UPLINK, DOWNLINK = 1, 2
"""The ids of the two PDRs, and of their FARs."""
QER: Final = 1

_PRECEDENCE: Final = 255


def find(d: Draft, seid: int) -> PduSession | None:
    """The session of a SEID of the core."""
    return next((s for s in d.ue.sessions if s.n4.seid == seid), None)


def establish(d: Draft, session: PduSession) -> None:
    """Ask the UPF for a session, or for one again that it has lost (TS 23.527 4.3.2)."""
    _send(d, session, N4Request("establish", d.ue.n4_requests + 1, d.env.now, ambr=session.ambr))


def modify(d: Draft, session: PduSession, *, drop: bool = False) -> None:
    """Have the UPF send downlink packets where the session has them, at the session's AMBR.

    With `drop`, what it has buffered is dropped (5.2.4.2).
    """
    number, to = d.ue.n4_requests + 1, session.access
    request = N4Request("modify", number, d.env.now, downlink=to, ambr=session.ambr, drop=drop)
    _send(d, session, request)


def delete(d: Draft, session: PduSession) -> None:
    """Have the UPF let the session go."""
    _send(d, session, N4Request("delete", d.ue.n4_requests + 1, d.env.now))


def delete_other(d: Draft, session: PduSession, tree: Tree) -> None:
    """Have the UPF let go what it has established for a request that was given up, or repeated
    across its restart: the session is another by now."""
    ies = pfcp.ies_of(tree["ies"])
    up_seid = ies.get("F-SEID", {}).get("seid", 0)
    if ies.get("Cause") != pfcp.ACCEPTED or up_seid in (0, session.n4.up_seid):
        return
    pdu = pfcp.session_message("SessionDeletionRequest", up_seid, [])
    key, slot = index_seid(session.n4.seid), slot_of_seid(session.n4.seid)
    d.outputs.append(SendPfcp(session.n4.upf, key, slot, pdu))  # nothing waits for its answer


def due(d: Draft, sent: N4Request) -> int:
    """When a request is handed to the gateway again; later and later, should the UPF be away."""
    return sent.at + d.env.network.timers.n4 * 1000 * min(2 ** min(sent.count, 10), _SLOWEST)


def repeat(d: Draft, session: PduSession) -> None:
    """Hand the request that waits to the gateway again, which may have died with it."""
    sent = session.n4.sent
    if sent is not None:
        _send(d, session, replace(sent, at=d.env.now, count=sent.count + 1))


def rearm(d: Draft) -> None:
    """Have the timer expire when the first of the requests that wait is due."""
    dues = [due(d, s.n4.sent) for s in d.ue.sessions if s.n4.sent is not None]
    timer = d.ue.timers.get(TIMER)
    if not dues:
        d.stop_timer(TIMER)
    elif timer is None or timer.at != min(dues):
        d.start_timer(TIMER, (min(dues) - d.env.now) / 1000)


def answered(d: Draft, session: PduSession, tree: Tree) -> str:
    """Take the answer of the UPF. Returns what is wrong with it, empty if it is done."""
    sent, ies = session.n4.sent, pfcp.ies_of(tree["ies"])
    cause = ies.get("Cause", "no cause")
    seid = session.n4.seid
    if sent is None:
        return "no request waits"
    if sent.message == "delete" and cause == pfcp.NOT_FOUND:
        cause = pfcp.ACCEPTED
    if cause != pfcp.ACCEPTED:
        d.emit(N4Failed(seid, str(cause)))
        return str(cause)
    if sent.message != "establish":
        d.emit(N4Answered(seid))
        return ""
    up_seid = ies.get("F-SEID", {}).get("seid", 0)
    uplink = _created(tree) or session.uplink
    if not up_seid or uplink is None:
        reason = "no F-SEID of the UPF" if not up_seid else "no F-TEID of the UPF"
        d.emit(N4Failed(seid, reason))
        delete_other(d, session, tree)
        return reason
    d.emit(N4Answered(seid, up_seid, uplink))
    return ""


def read(octets: bytes) -> tuple[str, Tree | None, str]:
    """A PFCP message: its name, its tree as far as it can be used, and what is wrong with it."""
    try:
        name, faults = wire.pfcp_peek(octets).message, wire.pfcp_check(octets)
        if faults is None:
            return name, wire.pfcp_decode(octets), ""
        if faults["action"] == "ignore":
            return name, wire.pfcp_decode(octets, lenient=True), faults["text"]
        return name, None, faults["text"]
    except wire.WireError as err:
        return "", None, str(err)


def refuse(d: Draft, trigger: CloudEvent, seid: int) -> None:
    """Answer a report that cannot be used (7.6)."""
    session = find(d, seid)
    try:
        peek, faults = wire.pfcp_peek(trigger.data), wire.pfcp_check(trigger.data)
    except wire.WireError:
        return
    if session is None or faults is None or faults["action"] != "reject":
        return
    ies: list[Tree] = [{"Cause": faults["cause"]}]
    if faults["offending_ie_type"] is not None:
        ies.append({"Offending IE": faults["offending_ie_type"]})
    name = peek.message.replace("Request", "Response")
    head = {"message": name, "seid": session.n4.up_seid, "sequence": peek.sequence}
    pdu = wire.pfcp_encode({**head, "ies": ies})
    d.outputs.append(SendPfcp(session.n4.upf, trigger.partitionkey, d.slot, pdu))


def _created(tree: Tree) -> Tunnel | None:
    """The F-TEID that the UPF chose for the uplink PDR."""
    for item in tree["ies"]:
        parts = {k: v for part in item.get("Created PDR", ()) for k, v in part.items()}
        f_teid = parts.get("F-TEID", {})
        address = f_teid.get("ipv4") or f_teid.get("ipv6")
        if parts.get("PDR ID") == UPLINK and "teid" in f_teid and address:
            return Tunnel(f_teid["teid"], address)
    return None


def _send(d: Draft, session: PduSession, request: N4Request) -> None:
    d.emit(N4Sent(session.n4.seid, request))
    d.outputs.append(
        SendPfcp(
            upf=session.n4.upf,
            partitionkey=index_seid(session.n4.seid),
            slot=slot_of_seid(session.n4.seid),
            pdu=_message(d, session, request),
            number=request.number,
        )
    )


def _message(d: Draft, session: PduSession, request: N4Request) -> bytes:
    n4 = session.n4
    match request.message:
        case "establish":
            name, ies, seid = "SessionEstablishmentRequest", _establishment(d, session), 0
        case "modify":
            name, ies, seid = "SessionModificationRequest", _modification(n4, request), n4.up_seid
        case "delete":
            name, ies, seid = "SessionDeletionRequest", list[Tree](), n4.up_seid
    return pfcp.session_message(name, seid, ies)


def _establishment(d: Draft, session: PduSession) -> list[Tree]:
    own, n4 = d.env.network.n4_address, session.n4
    ies: list[Tree] = [
        {"Node ID": pfcp.node_id(own)},
        {"F-SEID": {"seid": n4.seid, **pfcp.node_id(own)}},
        {"Create PDR": _uplink_pdr(session)},
        {"Create PDR": _downlink_pdr(session)},
        {
            "Create FAR": [
                {"FAR ID": UPLINK},
                {"Apply Action": ["FORW"]},
                {
                    "Forwarding Parameters": [
                        {"Destination Interface": "Core"},
                        {"Network Instance": _instance(session.dnn)},
                    ]
                },
            ]
        },
        {"Create FAR": [{"FAR ID": DOWNLINK}, {"Apply Action": ["BUFF", "NOCP"]}]},
        {"Create QER": [{"QER ID": QER}, *_qer(session.ambr), {"QFI": session.qfi}]},
        {"PDN Type": _PDN_TYPES[session.type]},
    ]
    if session.uplink is not None:
        ies.append({"PFCPSEReq-Flags": ["RESTI"]})
    return ies


def _instance(dnn: str) -> str:
    """A DNN as a Network Instance has it (8.2.4, TS 23.003 9.1): labels behind their lengths."""
    return "".join(chr(len(label)) + label for label in dnn.split("."))


_PDN_TYPES: Final = {"IPV4": "IPv4", "IPV6": "IPv6", "IPV4V6": "IPv4v6"}


def _uplink_pdr(session: PduSession) -> list[Tree]:
    """The UPF chooses the F-TEID (5.5.1); one that it had chosen before is restored."""
    f_teid: Tree = {"choose": ["V4"]}
    removal = "GTP-U/UDP/IPv4"
    if session.uplink is not None:
        version = ip_address(session.uplink.address).version
        f_teid = {"teid": session.uplink.teid, f"ipv{version}": session.uplink.address}
        removal = f"GTP-U/UDP/IPv{version}"
    pdi: list[Tree] = [
        {"Source Interface": "Access"},
        {"F-TEID": f_teid},
        {"Network Instance": _instance(session.dnn)},
        {"UE IP Address": _ue_address(session, destination=False)},
        {"QFI": session.qfi},
    ]
    return [
        {"PDR ID": UPLINK},
        {"Precedence": _PRECEDENCE},
        {"PDI": pdi},
        {"Outer Header Removal": {"description": removal}},
        {"FAR ID": UPLINK},
        {"QER ID": QER},
    ]


def _downlink_pdr(session: PduSession) -> list[Tree]:
    pdi: list[Tree] = [
        {"Source Interface": "Core"},
        {"Network Instance": _instance(session.dnn)},
        {"UE IP Address": _ue_address(session, destination=True)},
    ]
    return [
        {"PDR ID": DOWNLINK},
        {"Precedence": _PRECEDENCE},
        {"PDI": pdi},
        {"FAR ID": DOWNLINK},
        {"QER ID": QER},
    ]


def _ue_address(session: PduSession, *, destination: bool) -> Tree:
    found: Tree = {"destination": destination}
    if session.address.ipv4:
        found["ipv4"] = session.address.ipv4
    if session.address.ipv6:
        found["ipv6"] = session.address.ipv6
    return found


def _qer(ambr: Ambr) -> list[Tree]:
    """Open gates, and the session AMBR in kbit/s."""
    rates = {"uplink": kbps(ambr.uplink), "downlink": kbps(ambr.downlink)}
    return [{"Gate Status": {"uplink": "OPEN", "downlink": "OPEN"}}, {"MBR": rates}]


def kbps(bits_per_second: int) -> int:
    """A rate in kbit/s, rounded up: a slow session is not a dead one."""
    return -(-bits_per_second // 1000)


def _modification(n4: N4Session, request: N4Request) -> list[Tree]:
    """What changes, and nothing else (5.6.3)."""
    far: list[Tree] = [{"FAR ID": DOWNLINK}]
    if request.downlink is None:
        far.append({"Apply Action": ["BUFF", "NOCP"]})
    else:
        far += [{"Apply Action": ["FORW"]}, {"Update Forwarding Parameters": _to(request.downlink)}]
    ies: list[Tree] = []
    if request.downlink != n4.downlink:
        ies.append({"Update FAR": far})
    if request.ambr is not None and request.ambr != n4.ambr:
        ies.append({"Update QER": [{"QER ID": QER}, *_qer(request.ambr)]})
    if request.drop:
        ies.append({"PFCPSMReq-Flags": ["DROBU"]})
    return ies


def _to(tunnel: Tunnel) -> list[Tree]:
    version = ip_address(tunnel.address).version
    header = {
        "description": [f"GTP-U/UDP/IPv{version}"],
        "teid": tunnel.teid,
        f"ipv{version}": tunnel.address,
    }
    return [{"Destination Interface": "Access"}, {"Outer Header Creation": header}]
