"""Recorded messages of other gNBs, UEs and UPFs, played to a `World`.

A recorded message has identifiers and keys of the core that it was recorded with. `Conversation`
replaces them: NGAP and NAS identifiers, SEIDs and sequence numbers, RES*, and the protection of a
NAS message, whose deciphered octets are recorded too. All other octets are the peer's.
"""

from collections import deque
from typing import Any, Final

from msgspec.structs import replace

import wire
from schemas.network import UpfNode, UpfPool
from schemas.subscriber import Ambr, Dnn, PduSessionType, SubscribedSlice
from tests import corpus
from tests.corpus import Recorded
from tests.functions.phone import Phone
from tests.functions.world import N4_NETWORK, OTHER_SLICE, SLICE, World, subscriber

K: Final = bytes.fromhex("465b5ce8b199b49faa5f0a2ee238a6bc")
OPC: Final = bytes.fromhex("e8ed289deba952e4283b54e88e6183ca")
"""The keys of every recorded UE."""
GNB: Final = "001-01-gnb-32-1"
UPF: Final = "10.100.0.7"

_PLAIN: Final = "NAS of the UE, deciphered"
_CIPHERED: Final = 2
"""The security header type of most messages."""
_SENT: Final = "NAS of the UE, as sent"


class Conversation:
    """A core with one recorded UE, its gNB and its UPF."""

    def __init__(self, number: int = 1) -> None:
        ambr, names = Ambr(10_000_000, 20_000_000), ("internet", "ims")
        dnns = tuple(Dnn(name, (PduSessionType.IPV4V6,), ambr) for name in names)
        slices = (SubscribedSlice(SLICE, True, dnns), SubscribedSlice(OTHER_SLICE))
        one = replace(subscriber(number, slices=slices), k=K, opc=OPC)
        pools = UpfPool("internet", "10.45.0.0/24"), UpfPool("ims", "10.46.0.0/24")
        node = UpfNode(UPF, pools)
        self.world = World(one, network=replace(N4_NETWORK, upfs=(node,)))
        self.phone = Phone(self.world, number)
        self.phone.gnb, self.phone.k, self.phone.opc = GNB, K, OPC
        self.heard: list[dict[str, Any]] = []
        """The last messages to the UE and its gNB."""
        self._seids: dict[int, int] = {}
        """The SEIDs of today by the recorded ones."""
        self._waiting = 0
        """Requests to the UPF that have no response yet."""
        self._messages = {
            (peer, one.entry.name): one for peer in corpus.peers() for one in corpus.recorded(peer)
        }
        ueransim = corpus.recorded("ueransim")
        self._sent = {one.place: one.entry.octets for one in ueransim if one.section == _SENT}
        deciphered = [one for one in ueransim if one.section == _PLAIN]
        self._plain = {one.place: one.entry.octets for one in deciphered}
        self._same = {one.message: one.entry.octets for one in reversed(deciphered)}
        """Deciphered messages by name; each is recorded only once."""

    # Messages of the peers

    def gnb(self, name: str) -> list[str]:
        """Send a recorded NGAP message. Return the names of the core's messages after it."""
        told = self._messages["ueransim", name]
        tree = wire.ngap_decode(told.entry.octets)
        opening = tree["message"] == "InitialUEMessage"
        for ie in tree["ies"]:
            if "AMF-UE-NGAP-ID" in ie:
                ie["AMF-UE-NGAP-ID"] = self.phone.amf_id
            if "RAN-UE-NGAP-ID" in ie and opening:
                self.phone.ran_id = ie["RAN-UE-NGAP-ID"]
            elif "RAN-UE-NGAP-ID" in ie:
                ie["RAN-UE-NGAP-ID"] = self.phone.ran_id
            if "FiveG-S-TMSI" in ie:
                ie["FiveG-S-TMSI"]["fiveG-TMSI"] = self._tmsi()
            if "NAS-PDU" in ie:
                ie["NAS-PDU"] = self._protected(told, initial=opening).hex()
        self.world.uplink(tree, GNB)
        return self._answers()

    def upf(self, name: str) -> list[str]:
        """Answer the oldest request to the UPF with a recorded response, or send a recorded
        request. Return the names of the core's messages after it."""
        tree = wire.pfcp_decode(self._messages["open5gs-upf", name].entry.octets)
        if not tree["message"].endswith("Response"):
            if "seid" in tree:
                first = next(iter(self._seids.values()))
                tree["seid"] = self._seids.get(tree["seid"], first)
            self.world.answer_pfcp(tree, UPF)
            return self._answers()
        upf, key, number, pdu = self.world.pfcp.popleft()
        self._waiting -= 1
        if "seid" in tree:
            seid = int(key.removeprefix("seid-"), 16)
            tree["seid"] = self._seids[tree["seid"]] = seid
        asked = wire.pfcp_peek(pdu).message.removesuffix("Request")
        assert tree["message"].removesuffix("Response") == asked
        self.world.answer_pfcp(tree, upf, key, number)
        return self._answers()

    def expected(self, peer: str, name: str) -> list[str]:
        """Return the names of the messages that the core answered when it was recorded."""
        return sorted(_nas_name(one) for one in self._messages[peer, name].answers)

    def heard_nothing(self) -> None:
        """Ignore the messages of the core since the last call."""
        self._answers()

    # Replaced values

    def _tmsi(self) -> int:
        assert self.phone.guti is not None
        return self.phone.guti["tmsi"]

    def _protected(self, told: Recorded, *, initial: bool) -> bytes:
        """Return the NAS message of a PDU, with the identifiers and the protection of today."""
        name = _nas_name(told.message)
        sent = self._sent.get(told.place)
        header = _CIPHERED if sent is None else sent[1] & 0x0F
        plain = sent if sent is not None and header == 0 else None
        plain = plain or self._plain.get(told.place) or self._same[name]
        tree = wire.nas_decode(plain)
        if "authentication-response-parameter" in tree:
            return wire.nas_encode(self.phone.answer(self.heard[-1]))
        if "5g-s-tmsi" in tree:
            tree["5g-s-tmsi"]["s-tmsi"]["tmsi"] = self._tmsi()
        identity = tree.get("5gs-mobile-identity", {})
        if "guti" in identity:
            tree["5gs-mobile-identity"] = {"guti": self.phone.guti}
        plain, security = wire.nas_encode(tree), self.phone.security
        if header == 0 or security is None:
            return plain
        if initial:
            return security.protect_initial(plain)
        return security.protect(plain, header, downlink=False)

    # Messages of the core

    def _answers(self) -> list[str]:
        """Return the names of all messages since the last call, sorted."""
        self.heard = self.phone.hear()
        names = [tree["message-type"] for tree in self.heard]
        for tree in self.heard:
            if "5g-guti" in tree:
                self.phone.guti = tree["5g-guti"]["guti"]
        names += ["Paging"] * bool(self.world.pages)
        self.world.pages.clear()
        told = list(self.world.pfcp)[self._waiting :]
        self.world.pfcp = deque(one for one in self.world.pfcp if one[2] is not None)
        self._waiting = len(self.world.pfcp)
        return sorted([*names, *(wire.pfcp_peek(pdu).message for *_, pdu in told)])


def _nas_name(answer: str) -> str:
    """Return the name of a message as `Phone.hear` does: that of the NAS message if it has one."""
    return answer.partition(" [")[2].removesuffix("]") or answer
