"""The USIM, and the UE's side of 5G-AKA and EAP-AKA' (TS 24.501 5.4.1.3, 5.4.1.2)."""

from typing import NamedTuple

from msgspec import Struct

import wire
from loadgen.trees import Tree, octets
from loadgen.ue import eap_aka, messages
from loadgen.ue.nas_security import NasChannel, native_ngksi
from loadgen.violation import Kind, ReportViolation

IND_BITS = 5
DELTA = 1 << 28
"""The largest jump of SEQ that is accepted (TS 33.102 C.3.2)."""

MAC_FAILURE = 20
SYNCH_FAILURE = 21
NON_5G_UNACCEPTABLE = 26


class ChallengeResult(Struct, frozen=True):
    """The result of a challenge: keys, or the 5GMM cause of AUTHENTICATION FAILURE."""

    cause: int | None = None
    auts: bytes | None = None
    """14 octets with cause #21."""
    res_star: bytes = b""
    kseaf: bytes = b""


class Usim:
    """K, OPc and the accepted sequence numbers (TS 33.102 annex C).

    SQN is SEQ followed by five bits of IND; the highest SEQ is kept for each IND (C.1.2, C.2.2).
    """

    __slots__ = ("_k", "_opc", "_seq", "_sqn_ms")

    def __init__(self, k: bytes, opc: bytes, sqn: int = 0) -> None:
        """Create a USIM that accepted `sqn` last; `k` and `opc` have 16 octets."""
        self._k = k
        self._opc = opc
        self._sqn_ms = sqn
        self._seq: dict[int, int] = {sqn & ((1 << IND_BITS) - 1): sqn >> IND_BITS}

    @property
    def sqn_ms(self) -> int:
        """The highest accepted SQN, which AUTS conceals."""
        return self._sqn_ms

    def challenge(self, rand: bytes, autn: bytes, sn_name: str) -> ChallengeResult:
        """Answer a challenge (TS 33.501 6.1.3.2, TS 33.102 6.3.3).

        Check the MAC first, then the separation bit, then the freshness of SQN. Store a fresh SQN.
        """
        try:
            answer = wire.usim_answer(self._k, self._opc, rand, autn, sn_name)
        except wire.WireError:
            return ChallengeResult(MAC_FAILURE)
        if not answer.separation_bit:
            return ChallengeResult(NON_5G_UNACCEPTABLE)
        if not self._fresh(answer.sqn):
            return ChallengeResult(SYNCH_FAILURE, wire.auts(self._k, self._opc, rand, self._sqn_ms))
        self._seq[answer.sqn & ((1 << IND_BITS) - 1)] = answer.sqn >> IND_BITS
        self._sqn_ms = max(self._sqn_ms, answer.sqn)
        return ChallengeResult(res_star=answer.res_star, kseaf=answer.kseaf)

    def keys(self, rand: bytes) -> tuple[bytes, bytes, bytes]:
        """Return RES, CK and IK of a challenge for EAP-AKA' (TS 33.102 6.3.3)."""
        out = wire.milenage(self._k, self._opc, rand, 0, bytes(2))
        return out["f2"], out["f3"], out["f4"]

    def _fresh(self, sqn: int) -> bool:
        seq, ind = sqn >> IND_BITS, sqn & ((1 << IND_BITS) - 1)
        ahead = seq - (self._sqn_ms >> IND_BITS)
        return ahead <= DELTA and seq > self._seq.get(ind, 0)


NGKSI_IN_USE = 71

_KIND_OF_CAUSE = {20: Kind.AUTN_MAC, 26: Kind.AUTN_SEPARATION_BIT}


class Reply(NamedTuple):
    """The message that answers a challenge, and the cause of a failure."""

    plain: bytes
    cause: int | None = None


class Authentication:
    """Answers challenges. It leaves the new K_AMF in the channel for SECURITY MODE COMMAND."""

    __slots__ = (
        "_packet",
        "_rand",
        "_report",
        "_res_star",
        "_resynchronised",
        "sn_name",
        "supi",
        "usim",
    )

    def __init__(self, usim: Usim, supi: str, sn_name: str, report: ReportViolation) -> None:
        self.usim = usim
        self.supi = supi
        self.sn_name = sn_name
        self._report = report
        self._rand = self._res_star = self._packet = b""
        self._resynchronised = False

    def open_connection(self) -> None:
        """Handle a new connection: one stale challenge is accepted on it."""
        self._resynchronised = False

    def delete_response(self) -> None:
        """Delete the stored RAND and RES*: T3516 expired or is not needed any more."""
        self._rand = self._res_star = self._packet = b""

    def challenge(self, tree: Tree, channel: NasChannel) -> Reply | None:
        """Answer an AUTHENTICATION REQUEST. Return None if the request is malformed."""
        rand = octets(tree, "authentication-parameter-rand")
        autn = octets(tree, "authentication-parameter-autn")
        abba = octets(tree, "abba")
        if "eap-message" in tree:
            return self._eap(octets(tree, "eap-message"), abba, native_ngksi(tree), channel)
        if len(rand) != 16 or len(autn) != 16 or len(abba) < 2:
            text = f"RAND of {len(rand)}, AUTN of {len(autn)}, ABBA of {len(abba)} octets"
            self._report(Kind.NAS_MALFORMED, f"authentication-request with {text}")
            return None
        if rand == self._rand and self._res_star:
            # The network repeats its request (T3560): send the stored answer (5.4.1.3.3).
            return Reply(messages.authentication_response(self._res_star))
        ngksi = native_ngksi(tree)
        return self._in_use(ngksi, channel) or self._answer(rand, autn, abba, ngksi, channel)

    def _in_use(self, ngksi: int, channel: NasChannel) -> Reply | None:
        if channel.current is None or channel.current.ngksi != ngksi:
            return None
        self._report(Kind.NGKSI_IN_USE, f"the UE's current context has ngKSI {ngksi} already")
        return Reply(messages.authentication_failure(NGKSI_IN_USE, None), NGKSI_IN_USE)

    def _eap(self, packet: bytes, abba: bytes, ngksi: int, channel: NasChannel) -> Reply | None:
        """Answer an EAP-Request (5.4.1.2.4.3). A repeated request gets the stored answer."""
        try:
            asked = eap_aka.read(packet)
        except eap_aka.MalformedError as err:
            self._report(Kind.EAP_UNSUPPORTED, f"an unsupported EAP challenge: {err}")
            return None
        if packet == self._packet:
            return Reply(messages.eap_response(self._res_star))
        in_use = self._in_use(ngksi, channel)
        if in_use is not None:
            return in_use
        self.delete_response()
        challenged = self.usim.challenge(asked.rand, asked.autn, self.sn_name)
        if challenged.cause is None:
            return self._eap_answer(asked, abba, ngksi, channel)
        self._judge(challenged.cause)
        if challenged.auts is not None:
            said = eap_aka.synchronization_failure(asked, challenged.auts)
        else:
            said = eap_aka.authentication_reject(asked)
        return Reply(messages.eap_response(said), challenged.cause)

    def _eap_answer(
        self, asked: eap_aka.Challenge, abba: bytes, ngksi: int, channel: NasChannel
    ) -> Reply:
        res, ck, ik = self.usim.keys(asked.rand)
        imsi = self.supi.removeprefix("imsi-")
        keys = eap_aka.keys(ck, ik, asked.network, asked.autn, imsi)
        if asked.network != self.sn_name or not asked.mac_is_right(keys.k_aut):
            text = f"AT_MAC or AT_KDF_INPUT ({asked.network!r}) of a challenge is wrong"
            self._report(Kind.AUTN_MAC, text)
            refused = eap_aka.authentication_reject(asked)
            return Reply(messages.eap_response(refused), MAC_FAILURE)
        kamf = wire.kamf(wire.kseaf(keys.kausf, self.sn_name), self.supi, abba)
        channel.partial = (ngksi, kamf)
        self._packet = asked.packet
        self._res_star = eap_aka.response(asked, res, keys.k_aut)
        return Reply(messages.eap_response(self._res_star))

    def _answer(
        self, rand: bytes, autn: bytes, abba: bytes, ngksi: int, channel: NasChannel
    ) -> Reply:
        challenged = self.usim.challenge(rand, autn, self.sn_name)
        cause = challenged.cause
        if cause is None:
            kamf = wire.kamf(challenged.kseaf, self.supi, abba)
            channel.partial = (ngksi, kamf)
            self._rand, self._res_star = rand, challenged.res_star
            return Reply(messages.authentication_response(challenged.res_star))
        self._judge(cause)
        self.delete_response()
        return Reply(messages.authentication_failure(cause, challenged.auts), cause)

    def _judge(self, cause: int) -> None:
        """Report a challenge that is a violation by the network."""
        if cause in _KIND_OF_CAUSE:
            self._report(_KIND_OF_CAUSE[cause], f"the challenge fails with 5GMM cause #{cause}")
        elif cause == SYNCH_FAILURE:
            if self._resynchronised:
                self._report(Kind.AUTN_SQN, "the challenge after an AUTS is stale again")
            self._resynchronised = True
