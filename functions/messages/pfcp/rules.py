"""The rules of the PFCP session of a PDU session, as the IEs of its messages (TS 29.244 7.5).

Two PDRs: uplink packets of the gNB's tunnel go to the data network, downlink packets of the UE's
address go to the gNB, or into the buffer while it has no tunnel. One QER holds the session AMBR
and marks the one QoS flow.
"""

from typing import Final

from functions.messages import pfcp
from functions.messages.trees import Tree
from schemas.gsm.state import N4Request, N4Session, PduSession, Tunnel
from schemas.subscriber import Ambr

UPLINK, DOWNLINK = 1, 2
"""The ids of the two PDRs, and of their FARs."""
QER: Final = 1

_PRECEDENCE: Final = 255


def establishment(own: str, session: PduSession, request: N4Request) -> list[Tree]:
    """Those of a SESSION ESTABLISHMENT REQUEST (7.5.2) of the core, whose address is `own`."""
    n4 = session.n4
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
        {"Create FAR": [{"FAR ID": DOWNLINK}, *_downlink("Forwarding", request.downlink)]},
        {
            "Create QER": [
                {"QER ID": QER},
                *_qer(request.ambr or session.ambr),
                {"QFI": session.qfi},
            ]
        },
        {"PDN Type": _PDN_TYPES[session.type]},
    ]
    if session.uplink is not None and not n4.allocates:
        ies.append({"PFCPSEReq-Flags": ["RESTI"]})
    return ies


def _instance(dnn: str) -> str:
    """A DNN as a Network Instance has it (8.2.4, TS 23.003 9.1): labels behind their lengths."""
    return "".join(chr(len(label)) + label for label in dnn.split("."))


_PDN_TYPES: Final = {"IPV4": "IPv4", "IPV6": "IPv6", "IPV4V6": "IPv4v6"}


def _uplink_pdr(session: PduSession) -> list[Tree]:
    """The UPF chooses the F-TEID (5.5.1); one that it had chosen before is restored. One that
    does not choose is told it."""
    f_teid: Tree = {"choose": ["V4"]}
    removal = "GTP-U/UDP/IPv4"
    if session.uplink is not None:
        version = _version(session.uplink.address)
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


def modification(n4: N4Session, request: N4Request) -> list[Tree]:
    """Those of a SESSION MODIFICATION REQUEST (7.5.4): what changes, and nothing else (5.6.3)."""
    ies: list[Tree] = []
    if request.downlink != n4.downlink or n4.ambr is None:  # which says that nothing is known
        far = _downlink("Update Forwarding", request.downlink, end_marker=request.end_marker)
        ies.append({"Update FAR": [{"FAR ID": DOWNLINK}, *far]})
    if request.ambr is not None and request.ambr != n4.ambr:
        ies.append({"Update QER": [{"QER ID": QER}, *_qer(request.ambr)]})
    return ies


def _downlink(kind: str, tunnel: Tunnel | None, *, end_marker: bool = False) -> list[Tree]:
    """To the gNB, with the parameters of a `kind`, or into the buffer."""
    if tunnel is None:
        return [{"Apply Action": ["BUFF", "NOCP"]}]
    parameters = _to(tunnel)
    if end_marker:
        parameters.append({"PFCPSMReq-Flags": ["SNDEM"]})
    return [{"Apply Action": ["FORW"]}, {f"{kind} Parameters": parameters}]


def _version(address: str) -> int:
    """The IP version of a tunnel's address."""
    return 6 if ":" in address else 4


def _to(tunnel: Tunnel) -> list[Tree]:
    version = _version(tunnel.address)
    header = {
        "description": [f"GTP-U/UDP/IPv{version}"],
        "teid": tunnel.teid,
        f"ipv{version}": tunnel.address,
    }
    return [{"Destination Interface": "Access"}, {"Outer Header Creation": header}]


def created(tree: Tree) -> Tunnel | None:
    """The F-TEID that the UPF chose for the uplink PDR."""
    for item in tree["ies"]:
        parts = {k: v for part in item.get("Created PDR", ()) for k, v in part.items()}
        f_teid = parts.get("F-TEID", {})
        address = f_teid.get("ipv4") or f_teid.get("ipv6")
        if parts.get("PDR ID") == UPLINK and "teid" in f_teid and address:
            return Tunnel(f_teid["teid"], address)
    return None
