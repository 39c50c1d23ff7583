"""The UE's side of 5G-AKA and of EAP-AKA' (TS 24.501 5.4.1.3, 5.4.1.2)."""

from typing import NamedTuple

import wire
from loadgen import eap_aka, nas_ue
from loadgen.nas_security import NasChannel, native_ngksi
from loadgen.trees import Tree, octets
from loadgen.usim import MAC_FAILURE, SYNCH_FAILURE, Usim
from loadgen.violation import Kind, Report

NGKSI_IN_USE = 71

_KIND_OF_CAUSE = {20: Kind.AUTN_MAC, 26: Kind.AUTN_SEPARATION_BIT}


class Reply(NamedTuple):
    """What answers a challenge: the message, and the cause where it is a failure."""

    plain: bytes
    cause: int | None = None


class Authentication:
    """Answers challenges; leaves the new K_AMF in the channel for SECURITY MODE COMMAND."""

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

    def __init__(self, usim: Usim, supi: str, sn_name: str, report: Report) -> None:
        self.usim = usim
        self.supi = supi
        self.sn_name = sn_name
        self._report = report
        self._rand = self._res_star = self._packet = b""
        self._resynchronised = False

    def open_connection(self) -> None:
        """A new connection: a challenge may be stale once on it."""
        self._resynchronised = False

    def delete_response(self) -> None:
        """Delete the stored RAND and RES* (T3516 expired, or its reason to run is gone)."""
        self._rand = self._res_star = self._packet = b""

    def challenge(self, tree: Tree, channel: NasChannel) -> Reply | None:
        """Answer an AUTHENTICATION REQUEST; None where there is nothing to answer with."""
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
            # The network repeats its request (T3560): the stored answer holds (5.4.1.3.3).
            return Reply(nas_ue.authentication_response(self._res_star))
        ngksi = native_ngksi(tree)
        return self._in_use(ngksi, channel) or self._answer(rand, autn, abba, ngksi, channel)

    def _in_use(self, ngksi: int, channel: NasChannel) -> Reply | None:
        if channel.current is None or channel.current.ngksi != ngksi:
            return None
        self._report(Kind.NGKSI_IN_USE, f"ngKSI {ngksi} is that of the UE's current context")
        return Reply(nas_ue.authentication_failure(NGKSI_IN_USE, None), NGKSI_IN_USE)

    def _eap(self, packet: bytes, abba: bytes, ngksi: int, channel: NasChannel) -> Reply | None:
        """Answer an EAP-Request (5.4.1.2.4.3): with the same again, if it is the same again."""
        try:
            asked = eap_aka.read(packet)
        except eap_aka.MalformedError as err:
            self._report(Kind.EAP_UNSUPPORTED, f"a challenge by EAP that is none here: {err}")
            return None
        if packet == self._packet:
            return Reply(nas_ue.eap_response(self._res_star))
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
        return Reply(nas_ue.eap_response(said), challenged.cause)

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
            return Reply(nas_ue.eap_response(refused), MAC_FAILURE)
        kamf = wire.kamf(wire.kseaf(keys.kausf, self.sn_name), self.supi, abba)
        channel.partial = (ngksi, kamf)
        self._packet = asked.packet
        self._res_star = eap_aka.response(asked, res, keys.k_aut)
        return Reply(nas_ue.eap_response(self._res_star))

    def _answer(
        self, rand: bytes, autn: bytes, abba: bytes, ngksi: int, channel: NasChannel
    ) -> Reply:
        challenged = self.usim.challenge(rand, autn, self.sn_name)
        cause = challenged.cause
        if cause is None:
            kamf = wire.kamf(challenged.kseaf, self.supi, abba)
            channel.partial = (ngksi, kamf)
            self._rand, self._res_star = rand, challenged.res_star
            return Reply(nas_ue.authentication_response(challenged.res_star))
        self._judge(cause)
        self.delete_response()
        return Reply(nas_ue.authentication_failure(cause, challenged.auts), cause)

    def _judge(self, cause: int) -> None:
        """Report a challenge that no network should have made."""
        if cause in _KIND_OF_CAUSE:
            self._report(_KIND_OF_CAUSE[cause], f"the challenge fails with 5GMM cause #{cause}")
        elif cause == SYNCH_FAILURE:
            if self._resynchronised:
                self._report(Kind.AUTN_SQN, "the challenge after an AUTS is stale again")
            self._resynchronised = True
