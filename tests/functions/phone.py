"""A minimal scripted UE with its gNB, which tests drive step by step.

It keeps its own keys and COUNTs, and checks MAC, AUTN and COUNTs like a real UE.
"""

from typing import Any

import wire
from schemas.identity import serving_network_name
from tests.functions.registration_requests import INITIAL, in_the_clear, registration_request
from tests.functions.world import ASSOCIATION, GNB, OPC, K, World


class Phone:
    """One UE at one gNB of a `World`."""

    def __init__(self, world: World, number: int = 1, tac: int = 1) -> None:
        self.world = world
        self.msin = f"{number:010d}"
        self.supi = f"imsi-00101{self.msin}"
        self.plmn, self.tac = "001-01", tac
        """The PLMN that the UE has chosen, and the TAC of its cell."""
        self.gnb, self.association = GNB, ASSOCIATION
        self.ran_id = number
        self.amf_id: int | None = None
        self.k, self.opc, self.sqn = K, OPC, 0
        self.security: wire.NasSecurity | None = None
        self.ngksi = 7
        self.kamf = b""
        self.guti: dict[str, Any] | None = None
        self.capability = {"octets": "e0e0"}
        self.requested: list[dict[str, Any]] | None = None
        self.security_key = b""

    @property
    def serving_network(self) -> str:
        """The serving network name of the PLMN that the UE has chosen (TS 33.501 6.1.1.4.2)."""
        return serving_network_name(self.plmn)

    # Messages of the UE

    def deregistration(self, *, switch_off: bool = False) -> dict[str, Any]:
        return {
            "message-type": "deregistration-request-ue-originating",
            "de-registration-type": {
                "switch-off": switch_off,
                "re-registration-required": False,
                "access-type": "3gpp-access",
            },
            "ngksi": {"native": self.ngksi} if self.ngksi < 7 else "no-key",
            "5gs-mobile-identity": self.identity(),
        }

    def synch_failure(self, challenge: dict[str, Any]) -> dict[str, Any]:
        """Return the response of a USIM with a higher SQN than the challenge's."""
        rand = bytes.fromhex(challenge["authentication-parameter-rand"]["octets"])
        auts = wire.auts(self.k, self.opc, rand, self.sqn)
        return {
            "message-type": "authentication-failure",
            "5gmm-cause": "synch-failure",
            "authentication-failure-parameter": {"octets": auts.hex()},
        }

    def request(self, kind: str = INITIAL, **more: Any) -> dict[str, Any]:
        """Return a REGISTRATION REQUEST with all the IEs of its procedure."""
        ngksi = {"native": self.ngksi} if self.ngksi < 7 else "no-key"
        tree = registration_request(kind, ngksi, self.identity(), self.capability, self.requested)
        return {**tree, **more}

    def identity(self, scheme: str | None = None) -> dict[str, Any]:
        if self.guti is not None and scheme is None:
            return {"guti": self.guti}
        key = {"A": bytes(range(1, 33)), "B": bytes(range(2, 34))}.get(scheme or "")
        if key is None:
            suci = wire.suci_conceal("001", "01", self.msin)
        else:
            public = wire.suci_public_key(scheme or "", key)
            suci = wire.suci_conceal(
                "001",
                "01",
                self.msin,
                profile=scheme,
                public_key=public,
                key_id=1 if scheme == "A" else 2,
            )
        return {"octets": suci.hex()}

    def initial(self, nas: bytes, **changes: Any) -> None:
        """Send an INITIAL UE MESSAGE on a new connection."""
        ies: dict[str, Any] = {
            "RAN-UE-NGAP-ID": self.ran_id,
            "NAS-PDU": nas.hex(),
            "UserLocationInformation": self.location(),
            "RRCEstablishmentCause": "mo-Signalling",
            "UEContextRequest": "requested",
            **changes,
        }
        tree = {
            "message": "InitialUEMessage",
            "ies": [{k: v} for k, v in ies.items() if v is not None],
        }
        self.amf_id = None
        self.world.uplink(tree, self.gnb, self.association)

    def location(self) -> dict[str, Any]:
        tai = {"pLMNIdentity": self.plmn, "tAC": self.tac}
        cgi = {"pLMNIdentity": self.plmn, "nRCellIdentity": 16}
        return {"userLocationInformationNR": {"nR-CGI": cgi, "tAI": tai}}

    def ngap(self, message: str, **ies: Any) -> None:
        found = [{"AMF-UE-NGAP-ID": self.amf_id}, {"RAN-UE-NGAP-ID": self.ran_id}]
        tree = {"message": message, "ies": [*found, *({k: v} for k, v in ies.items())]}
        self.world.uplink(tree, self.gnb, self.association)

    def uplink(self, nas: bytes) -> None:
        self.ngap(
            "UplinkNASTransport",
            **{"NAS-PDU": nas.hex(), "UserLocationInformation": self.location()},
        )

    def say(self, tree: dict[str, Any], header: int = 2) -> None:
        """Send a NAS message, protected if there is a context and `header` is not 0."""
        plain = wire.nas_encode(tree)
        if header and self.security is not None:
            plain = self.security.protect(plain, header, downlink=False)
        self.uplink(plain)

    def open_again(self, tree: dict[str, Any], ran_id: int = 9) -> None:
        """Send a message on a new connection, under the current context."""
        assert self.security is not None
        self.ran_id = ran_id
        self.initial(self.security.protect_initial(wire.nas_encode(tree)))

    # Messages to the UE

    def hear(self) -> list[dict[str, Any]]:
        """Return the received NAS messages, deciphered; keep the NGAP ids and keys."""
        heard: list[dict[str, Any]] = []
        for tree in self.world.sent():
            ies: dict[str, Any] = {}
            for item in tree["ies"]:
                ies.update(item)
            pair = ies.get("UE-NGAP-IDs", {}).get("uE-NGAP-ID-pair", {})
            if ies.get("RAN-UE-NGAP-ID", pair.get("rAN-UE-NGAP-ID")) == self.ran_id:
                self.amf_id = ies.get("AMF-UE-NGAP-ID", pair.get("aMF-UE-NGAP-ID"))
            if "SecurityKey" in ies:
                self.security_key = bytes.fromhex(ies["SecurityKey"])
            if "NAS-PDU" not in ies:
                heard.append({"message-type": tree["message"], **ies})
                continue
            heard.append(self._open(bytes.fromhex(ies["NAS-PDU"])) | {"ngap": tree["message"]})
        return heard

    def _open(self, nas: bytes) -> dict[str, Any]:
        header = nas[1] & 0x0F
        if header == 0:
            return {**wire.nas_decode(nas), "security": 0}
        if header == 3:
            inner = wire.nas_decode(nas[7:])
            chosen = inner["selected-nas-security-algorithms"]
            nia, nea = int(chosen["integrity"][3:]), int(chosen["ciphering"][3:])
            self.security = wire.NasSecurity(self.kamf, nia, nea)
            self.ngksi = inner["ngksi"]["native"]
        assert self.security is not None
        plain = self.security.unprotect(nas, downlink=True).plain
        return {**wire.nas_decode(plain), "security": header}

    # Complete procedures

    def register(self, scheme: str | None = None, **more: Any) -> dict[str, Any]:
        """Register without a context, and return the REGISTRATION ACCEPT."""
        tree = self.request(**more)
        if scheme is not None:
            tree["5gs-mobile-identity"] = self.identity(scheme)
        self.initial(wire.nas_encode(in_the_clear(tree)))
        self.authenticate()
        return self.secure(tree)

    def authenticate(self, header: int = 0) -> None:
        """Respond to the AUTHENTICATION REQUEST, which must be the last message."""
        self.say(self.answer(self.hear()[-1]), header)

    def answer(self, challenge: dict[str, Any]) -> dict[str, Any]:
        assert challenge["message-type"] == "authentication-request", challenge
        rand = bytes.fromhex(challenge["authentication-parameter-rand"]["octets"])
        autn = bytes.fromhex(challenge["authentication-parameter-autn"]["octets"])
        found = wire.usim_answer(self.k, self.opc, rand, autn, self.serving_network)
        assert found.sqn > self.sqn
        assert found.separation_bit
        self.sqn = found.sqn
        abba = bytes.fromhex(challenge["abba"]["octets"])
        self.kamf = wire.kamf(found.kseaf, self.supi, abba)
        return {
            "message-type": "authentication-response",
            "authentication-response-parameter": {"octets": found.res_star.hex()},
        }

    def secure(self, request: dict[str, Any]) -> dict[str, Any]:
        """Complete the SECURITY MODE COMMAND and the registration; return the accept."""
        command = self.hear()[-1]
        assert command["message-type"] == "security-mode-command", command
        complete = {
            "message-type": "security-mode-complete",
            "imeisv": {"imeisv": "4370816125816151"},
            "nas-message-container": dict(request),
        }
        self.say(complete, header=4)
        return self.finish()

    def finish(self) -> dict[str, Any]:
        """Complete the registration, and return the REGISTRATION ACCEPT."""
        accept = self.hear()[-1]
        assert accept["message-type"] == "registration-accept", accept
        return self.finish_accept(accept)

    def finish_accept(self, accept: dict[str, Any]) -> dict[str, Any]:
        """Complete the registration of a REGISTRATION ACCEPT."""
        self.guti = accept["5g-guti"]["guti"]
        if accept["ngap"] == "InitialContextSetupRequest":
            self.ngap("InitialContextSetupResponse")
        self.say({"message-type": "registration-complete"})
        return accept

    def update(self) -> dict[str, Any]:
        """Complete the CONFIGURATION UPDATE COMMAND, which must be the last message."""
        command = self.hear()[-1]
        assert command["message-type"] == "configuration-update-command", command
        self.guti = command.get("5g-guti", {}).get("guti", self.guti)
        if command.get("configuration-update-indication", {}).get("ack"):
            self.say({"message-type": "configuration-update-complete"})
        return command

    def leave(self) -> dict[str, Any]:
        """Accept the DEREGISTRATION REQUEST, which must be the last message."""
        request = self.hear()[-1]
        assert request["message-type"] == "deregistration-request-ue-terminated", request
        self.say({"message-type": "deregistration-accept-ue-terminated"})
        return request

    def s_tmsi(self) -> dict[str, Any]:
        assert self.guti is not None
        return {"s-tmsi": {"amf-set-id": 1, "amf-pointer": 0, "tmsi": self.guti["tmsi"]}}

    def service_request(self, kind: str = "signalling", **more: Any) -> dict[str, Any]:
        return {
            "message-type": "service-request",
            "ngksi": {"native": self.ngksi},
            "service-type": kind,
            "5g-s-tmsi": self.s_tmsi(),
            **more,
        }

    def idle(self) -> None:
        """Release the connection for inactivity, by the gNB."""
        self.ngap("UEContextReleaseRequest", Cause={"radioNetwork": "user-inactivity"})
        assert self.hear()[-1]["message-type"] == "UEContextReleaseCommand"
        self.ngap("UEContextReleaseComplete")
