"""The rules of a PDU session at the UPF, as IEs of PFCP session messages (TS 29.244 7.5).

There are two PDRs. Uplink packets in the UPF's tunnel are forwarded to the data network. Downlink
packets for the UE's address are forwarded to the gNB, or buffered while the gNB has no tunnel. One
QER enforces the session AMBR and marks the one QoS flow.
"""

from ipaddress import ip_address
from typing import Final

from functions.messages import bit_rates, pfcp
from functions.messages.trees import Tree
from schemas.gsm.state import N4Request, N4Session, PduSession, Tunnel
from schemas.subscriber import Ambr

UPLINK, DOWNLINK = 1, 2
"""The ids of the two PDRs and of their FARs."""
QER: Final = 1

_PRECEDENCE: Final = 255


N3: Final = "N3 3GPP Access"
N6: Final = "N6"
"""3GPP Interface Types (8.2.118). Open5GS' UPF forwards uplink packets only with both."""


def establishment(
    own: str, session: PduSession, request: N4Request, n3_instance: str = ""
) -> list[Tree]:
    """Return the IEs of a SESSION ESTABLISHMENT REQUEST (7.5.2).

    Args:
        own: the address of the core.
        session: the session.
        request: the request, with the downlink tunnel and the session AMBR.
        n3_instance: the Network Instance of the access side; empty for the DNN in the uplink PDR
            and none in the downlink FAR.
    """
    n4 = session.n4
    ies: list[Tree] = [
        {"Node ID": pfcp.node_id(own)},
        {"F-SEID": {"seid": n4.seid, **pfcp.node_id(own)}},
        {"Create PDR": _uplink_pdr(session, n3_instance)},
        {"Create PDR": _downlink_pdr(session)},
        {
            "Create FAR": [
                {"FAR ID": UPLINK},
                {"Apply Action": ["FORW"]},
                {
                    "Forwarding Parameters": [
                        {"Destination Interface": "Core"},
                        {"Network Instance": _instance(session.dnn)},
                        {"3GPP Interface Type": N6},
                    ]
                },
            ]
        },
        {
            "Create FAR": [
                {"FAR ID": DOWNLINK},
                *_downlink("Forwarding", request.downlink, n3_instance),
            ]
        },
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


def _instance(name: str) -> str:
    """Return a DNN or domain name as a Network Instance (8.2.4, TS 23.003 9.1): each label after
    its length."""
    return "".join(chr(len(label)) + label for label in name.split("."))


_PDN_TYPES: Final = {"IPV4": "IPv4", "IPV6": "IPv6", "IPV4V6": "IPv4v6"}


def _uplink_pdr(session: PduSession, n3_instance: str) -> list[Tree]:
    """Return the uplink PDR. The UPF chooses the F-TEID (5.5.1), except one that it had chosen
    before.

    If the UPF does not choose F-TEIDs, the F-TEID is the core's.
    """
    f_teid: Tree = {"choose": ["V4"]}
    removal = "GTP-U/UDP/IPv4"
    if session.uplink is not None:
        version = _version(session.uplink.address)
        f_teid = {"teid": session.uplink.teid, f"ipv{version}": session.uplink.address}
        removal = f"GTP-U/UDP/IPv{version}"
    pdi: list[Tree] = [
        {"Source Interface": "Access"},
        {"F-TEID": f_teid},
        {"Network Instance": _instance(n3_instance or session.dnn)},
        {"UE IP Address": _ue_address(session, destination=False)},
        {"QFI": session.qfi},
        {"3GPP Interface Type": N3},
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
        {"3GPP Interface Type": N6},
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
    """Return open gates and the session AMBR in kbit/s."""
    rates = {"uplink": bit_rates.pfcp(ambr.uplink), "downlink": bit_rates.pfcp(ambr.downlink)}
    return [{"Gate Status": {"uplink": "OPEN", "downlink": "OPEN"}}, {"MBR": rates}]


def modification(n4: N4Session, request: N4Request, n3_instance: str = "") -> list[Tree]:
    """Return the IEs of a SESSION MODIFICATION REQUEST (7.5.4): only the changes (5.6.3).

    `n3_instance` is as in `establishment`.
    """
    ies: list[Tree] = []
    unknown = n4.ambr is None
    if request.downlink != n4.downlink or unknown:
        far = _downlink(
            "Update Forwarding", request.downlink, n3_instance, end_marker=request.end_marker
        )
        ies.append({"Update FAR": [{"FAR ID": DOWNLINK}, *far]})
    if request.ambr is not None and request.ambr != n4.ambr:
        ies.append({"Update QER": [{"QER ID": QER}, *_qer(request.ambr)]})
    return ies


def _downlink(
    kind: str, tunnel: Tunnel | None, n3_instance: str, *, end_marker: bool = False
) -> list[Tree]:
    """Return the FAR parameters of a `kind`, to forward to the gNB or to buffer."""
    if tunnel is None:
        return [{"Apply Action": ["BUFF", "NOCP"]}]
    parameters = _to(tunnel, n3_instance)
    if end_marker:
        parameters.append({"PFCPSMReq-Flags": ["SNDEM"]})
    return [{"Apply Action": ["FORW"]}, {f"{kind} Parameters": parameters}]


def _version(address: str) -> int:
    """Return the IP version of a tunnel's address."""
    return 6 if ":" in address else 4


def _to(tunnel: Tunnel, n3_instance: str) -> list[Tree]:
    version = _version(tunnel.address)
    header = {
        "description": [f"GTP-U/UDP/IPv{version}"],
        "teid": tunnel.teid,
        f"ipv{version}": tunnel.address,
    }
    return [
        {"Destination Interface": "Access"},
        *([{"Network Instance": _instance(n3_instance)}] if n3_instance else []),
        {"Outer Header Creation": header},
        {"3GPP Interface Type": N3},
    ]


def reported(tree: Tree) -> set[int]:
    """Return the PDR IDs of the Downlink Data Reports of a SESSION REPORT REQUEST (7.5.8.2)."""
    return {
        part["PDR ID"]
        for item in tree["ies"]
        for part in item.get("Downlink Data Report", ())
        if "PDR ID" in part
    }


def created(tree: Tree) -> Tunnel | None:
    """Return the F-TEID that the UPF chose for the uplink PDR; None without one that a gNB can send
    to."""
    for item in tree["ies"]:
        parts = {k: v for part in item.get("Created PDR", ()) for k, v in part.items()}
        f_teid = parts.get("F-TEID", {})
        address = f_teid.get("ipv4") or f_teid.get("ipv6")
        if parts.get("PDR ID") == UPLINK and f_teid.get("teid") and _is_host(address):
            return Tunnel(f_teid["teid"], address)
    return None


def _is_host(address: str | None) -> bool:
    """Whether an address can be that of one host."""
    if not address:
        return False
    found = ip_address(address)
    return not (found.is_unspecified or found.is_multicast)
