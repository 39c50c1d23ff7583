"""The 5G-GUTI of a UE (TS 23.003 2.10, TS 33.501 6.12.3)."""

import wire
from functions.decision.ue_decision import UeDecision
from functions.messages.trees import Tree
from schemas.identity import make_tmsi_plaintext, slot_of


def new_tmsi(d: UeDecision) -> int:
    """Return a new 5G-TMSI, which differs from the current and the old 5G-TMSI of the UE.

    The 5G-TMSI contains the slot in encrypted form. If another UE has the same 5G-TMSI, or had it
    until shortly before, the append fails and the event is decided again with new entropy.
    """
    cipher, slot = wire.TmsiCipher(d.env.network.tmsi_key), slot_of(d.ue.supi)
    tmsi = d.ue.tmsi
    while tmsi is None or tmsi in (d.ue.tmsi, d.ue.old_tmsi):
        tmsi = cipher.encrypt(make_tmsi_plaintext(slot, d.env.random_int(22)))
    return tmsi


def mobile_identity(d: UeDecision, tmsi: int) -> Tree:
    """Return a 5G-GUTI of this AMF in the PLMN that the UE has chosen, as a NAS tree (5GS mobile
    identity, TS 24.501 9.11.3.4)."""
    guami = d.guami
    return {
        "guti": {
            "plmn": guami.plmn,
            "amf-region-id": guami.region,
            "amf-set-id": guami.set,
            "amf-pointer": guami.pointer,
            "tmsi": tmsi,
        }
    }
