"""The leads to a UE: the entries of its state in the index of the store."""

from ipaddress import IPv4Address, IPv6Address

from schemas.identity import Lead, index_ngap, index_seid, index_tmsi
from schemas.ue.state import Ue, connections
from schemas.ue.waking import WAKE, wake_key


def leads(ue: Ue) -> list[Lead]:
    """Return the leads to this UE. Each key belongs to only one UE.

    A transferred connection leads to this UE until the successor has it.
    """
    tmsis = (ue.tmsi, ue.old_tmsi)
    found: list[Lead] = [("tmsi", index_tmsi, tmsi) for tmsi in tmsis if tmsi is not None]
    for c in connections(ue):
        found.append(("ngap", index_ngap, c.amf_ue_ngap_id))
        ids = (c.amf_ue_ngap_id, c.ran_ue_ngap_id)
        found.append(("gnb", _of_association, c.gnb, c.association, *ids))
    for session in ue.sessions:
        n4, address = session.n4, session.address
        found.append(("seid", index_seid, n4.seid))
        found.append(("upf", _of_upf, n4.upf, n4.seid))
        if n4.allocates and session.uplink is not None:
            found.append(("teid", _of_tunnel, n4.upf, session.uplink.teid))
        if address.ipv4:
            found.append(("address", address_index_key, session.dnn, address.ipv4))
        if address.ipv6:
            found.append(("address", address_index_key, session.dnn, address.ipv6))
    if _is_waiting(ue):
        found.append((WAKE, wake_key, ue.wake_at, ue.wake_for, ue.supi))
    return found


def _is_waiting(ue: Ue) -> bool:
    """Whether a wake-up must find the UE. A deregistered UE without connection and timers needs
    none."""
    here = ue.registered or ue.connection is not None or bool(ue.timers)
    return here and ue.wake_for != "" and ue.supi != ""


def address_index_key(dnn: str, address: str) -> str:
    """Return the key of an address of a data network. Adjacent addresses have adjacent keys.

    `address` is an IPv4 address or the IPv6 prefix of a UE.
    """
    kind = IPv6Address if ":" in address else IPv4Address
    return f"{dnn}/{kind(address).packed.hex()}"


def _of_association(gnb: str, association: str, amf_ue_ngap_id: int, ran_ue_ngap_id: int) -> str:
    return f"{gnb}/{association}/{amf_ue_ngap_id:010x}/{ran_ue_ngap_id:08x}"


def _of_upf(upf: str, seid: int) -> str:
    return f"{upf}/{seid:016x}"


def _of_tunnel(upf: str, teid: int) -> str:
    return f"{upf}/{teid:08x}"
