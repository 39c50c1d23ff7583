"""The 5G-GUTI of a UE (TS 23.003 2.10, TS 33.501 6.12.3)."""

import wire
from functions.decision.ue_decision import UeDecision
from functions.messages.trees import Tree
from schemas.identity import Guti, make_tmsi_plaintext, slot_of


def new_tmsi(d: UeDecision) -> int:
    """A 5G-TMSI that shows nothing of the slot that it carries, and that the UE has not had.

    Another UE may have it: then the append fails, and this is decided again with other entropy.
    """
    cipher, slot = wire.TmsiCipher(d.env.network.tmsi_key), slot_of(d.ue.supi)
    made = d.ue.tmsi
    while made is None or made in (d.ue.tmsi, d.ue.old_tmsi):
        made = cipher.encrypt(make_tmsi_plaintext(slot, d.env.random_int(22)))
    return made


def mobile_identity(d: UeDecision, tmsi: int) -> Tree:
    """A 5GS mobile identity with a 5G-GUTI of this AMF, as NAS trees have it."""
    guti = Guti(d.env.network.guami, tmsi)
    return {
        "guti": {
            "plmn": guti.guami.plmn,
            "amf-region-id": guti.guami.region,
            "amf-set-id": guti.guami.set,
            "amf-pointer": guti.guami.pointer,
            "tmsi": guti.tmsi,
        }
    }
