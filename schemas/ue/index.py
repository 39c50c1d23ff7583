"""The leads to a UE: the entries of its state in the index of the store."""

from ipaddress import IPv4Address, IPv6Address
from typing import Final

from schemas.identity import Lead, index_ngap, index_seid, index_tmsi
from schemas.stranger import STRANGER, stranger_key
from schemas.ue.state import Ue, connections
from schemas.ue.waking import WAKE, wake_key

QUARANTINED: Final = frozenset({"address", "teid", "seid", "tmsi"})
"""The indexes of what the core allocates. A key that a UE has given up is in quarantine for a
while: messages and packets for that UE may still be on their way (docs/decisions/0009)."""


def leads(ue: Ue) -> list[Lead]:
    """Return the leads to this UE. Each key belongs to only one UE.

    A transferred connection leads to this UE until the successor has it. A released connection
    does, so that a copy of its message is recognised.
    """
    tmsis = (ue.tmsi, ue.old_tmsi)
    found: list[Lead] = [("tmsi", index_tmsi, tmsi) for tmsi in tmsis if tmsi is not None]
    for c in connections(ue):
        found.append(("ngap", index_ngap, c.amf_ue_ngap_id))
        ids = (c.amf_ue_ngap_id, c.ran_ue_ngap_id)
        found.append(("gnb", _of_association, c.gnb, c.association, *ids))
    found += [("ngap", index_ngap, amf_ue_ngap_id) for amf_ue_ngap_id in ue.released]
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
    if ue.stranger is not None:
        at = ue.stranger
        found.append((STRANGER, stranger_key, at.since, at.slot, at.number))
    if ue.timers and ue.wake_for:
        # A UE without a SUPI has timers only while it has a connection.
        identity = ue.supi or next((index_ngap(c.amf_ue_ngap_id) for c in connections(ue)), "")
        if identity:
            found.append((WAKE, wake_key, ue.wake_at, ue.wake_for, identity))
    return found


def address_index_key(dnn: str, address: str) -> str:
    """Return the key of an address of a data network. Adjacent addresses have adjacent keys.

    `address` is an IPv4 address or the IPv6 prefix of a UE. Upper and lower case of DNNs are equal:
    that of a session comes from its subscription, that of a pool from the configuration.
    """
    kind = IPv6Address if ":" in address else IPv4Address
    return f"{dnn.lower()}/{kind(address).packed.hex()}"


def _of_association(gnb: str, association: str, amf_ue_ngap_id: int, ran_ue_ngap_id: int) -> str:
    return f"{gnb}/{association}/{amf_ue_ngap_id:010x}/{ran_ue_ngap_id:08x}"


def _of_upf(upf: str, seid: int) -> str:
    return f"{upf}/{seid:016x}"


def _of_tunnel(upf: str, teid: int) -> str:
    return f"{upf}/{teid:08x}"
