"""A small correct AMF, the counterpart of the emulators: real crypto, no timers, one process.

A test makes it misbehave: `trees` changes the tree of a NAS message before protection, `octets` a
NAS PDU before it is sent, `pdus` the tree of an NGAP message, `plain` names messages to send
unprotected, and `headers` names messages to send with another security header type.
"""

from collections.abc import Callable, Iterable
from typing import Any

import wire
from loadgen.identity import SNssai, serving_network_name
from loadgen.load.subscribers import Population
from tests.loadgen.mobility import Mobility, algorithms_of
from tests.loadgen.smf import Smf

Tree = dict[str, Any]
PLMN = "001-01"
GUAMI = {"pLMNIdentity": PLMN, "aMFRegionID": 2, "aMFSetID": 3, "aMFPointer": 4}
PRIVATE_KEYS = {"A": bytes(range(1, 33)), "B": bytes(range(101, 133))}


class Subscriber:
    """A subscription and its current SQN."""

    def __init__(self, supi: str, k: bytes, opc: bytes) -> None:
        self.supi = supi
        self.k = k
        self.opc = opc
        self.sqn = 0

    def next_sqn(self) -> int:
        self.sqn += 32
        return self.sqn


class Registered:
    """The AMF's context of a UE."""

    def __init__(self, supi: str) -> None:
        self.supi = supi
        self.ngksi = 0
        self.kamf = b""
        self.nas: wire.NasSecurity | None = None
        self.capability: Tree = {}
        self.tmsi = 0
        self.state = "deregistered"


class Connection:
    """One UE-associated logical NG-connection."""

    def __init__(self, gnb: str, stream: int, ran: int, amf: int) -> None:
        self.gnb = gnb
        self.stream = stream
        self.ran = ran
        self.amf = amf
        self.ue: Registered | None = None
        self.request: Tree = {}
        self.secure = False
        self.verified = False
        """Whether the initial message was protected and its MAC was correct."""
        self.unverified = False
        """Whether the initial message was protected with a context that the AMF does not have."""
        self.count = 0
        self.vector: wire.AkaVector | None = None
        self.kamf = b""
        self.ngksi = 0
        self.switch_off = False
        self.connected = False
        """Whether the gNB has a context of the UE."""
        self.ncc = 0
        self.nh = b""
        self.target: Connection | None = None
        self.source: Connection | None = None


class Amf:
    """The AMF. `out` has the messages to send: gNB, stream and PDU."""

    def __init__(self, population: Population, slices: Iterable[SNssai] = ()) -> None:
        self.out: list[tuple[str, int, bytes]] = []
        self.subscribers = {p.supi: Subscriber(p.supi, p.k, p.opc) for p in population}
        self.slices = tuple(slices) or population.slices
        self.connections: dict[int, Connection] = {}
        self.by_tmsi: dict[int, Registered] = {}
        self.by_supi: dict[str, Registered] = {}
        self.received: list[str] = []
        """The received NGAP and NAS messages, by name."""
        self.uplink: list[Tree] = []
        """The received NAS messages, deciphered."""
        self.trees: dict[str, Callable[[Tree], Tree | None]] = {}
        self.octets: dict[str, Callable[[bytes], bytes]] = {}
        self.pdus: dict[str, Callable[[Tree], Tree | None]] = {}
        self.plain: set[str] = set()
        self.headers: dict[str, int] = {}
        self.reuse_context = True
        self.reject: Tree | None = None
        """If set, the REGISTRATION REJECT that answers every request."""
        self.time_to_wait: str | None = None
        self.refuse_setup = False
        self.discarded = 0
        self.faulty = False
        """Whether faults are injected. If so, invalid messages are ignored, and the sender's timer
        repeats
        them.
        """
        self.resynchronises = True
        self.sn_name = serving_network_name(PLMN)
        self.last_id = 0
        self.smf = Smf(self)
        self.mobility = Mobility(self)
        self.tacs = [1]
        self.guami = GUAMI
        self.gnbs: set[str] = set()
        self.paged_areas: list[Tree] = [{"tAI": {"pLMNIdentity": PLMN, "tAC": 1}}]

    # NGAP

    def receive(self, gnb: str, stream: int, pdu: bytes) -> None:
        tree = wire.ngap_decode(pdu)
        assert wire.ngap_check(pdu) is None, tree
        name = tree["message"]
        self.received.append(name)
        ies = {k: v for ie in tree["ies"] for k, v in ie.items() if k != "criticality"}
        handler = getattr(self, f"_on_{name}", None) or getattr(self.mobility, f"on_{name}", None)
        if handler is None:
            return
        try:
            handler(gnb, stream, ies)
        except (wire.WireError, LookupError, AssertionError):
            if not self.faulty:
                raise
            self.discarded += 1

    def send(self, gnb: str, stream: int, message: str, *ies: Tree) -> None:
        tree: Tree | None = {"message": message, "ies": list(ies)}
        if message in self.pdus:
            tree = self.pdus[message](tree)
        if tree is not None:
            self.out.append((gnb, stream, wire.ngap_encode(tree)))

    def send_ue(self, to: Connection, message: str, *ies: Tree) -> None:
        ids = {"AMF-UE-NGAP-ID": to.amf}, {"RAN-UE-NGAP-ID": to.ran}
        self.send(to.gnb, to.stream, message, *ids, *ies)

    def release(self, to: Connection, cause: Tree) -> None:
        pair: Tree = {"uE-NGAP-ID-pair": {"aMF-UE-NGAP-ID": to.amf, "rAN-UE-NGAP-ID": to.ran}}
        if not to.ran:
            pair = {"aMF-UE-NGAP-ID": to.amf}
        ies: tuple[Tree, Tree] = ({"UE-NGAP-IDs": pair}, {"Cause": cause})
        self.send(to.gnb, to.stream, "UEContextReleaseCommand", *ies)

    def _on_NGSetupRequest(self, gnb: str, _: int, ies: Tree) -> None:
        assert ies["RANNodeName"].startswith("gnb-")
        self.gnbs.add(gnb)
        if self.refuse_setup:
            wait = [] if self.time_to_wait is None else [{"TimeToWait": self.time_to_wait}]
            cause = {"Cause": {"misc": "unknown-PLMN-or-SNPN"}}
            self.send(gnb, 0, "NGSetupFailure", cause, *wait)
            return
        support = {
            "pLMNIdentity": PLMN,
            "sliceSupportList": [s.ngap() for s in self.slices],
        }
        self.send(
            gnb,
            0,
            "NGSetupResponse",
            {"AMFName": "amf"},
            {"ServedGUAMIList": [{"gUAMI": GUAMI}]},
            {"RelativeAMFCapacity": 255},
            {"PLMNSupportList": [support]},
        )

    def _on_RANConfigurationUpdate(self, gnb: str, _: int, __: Tree) -> None:
        self.send(gnb, 0, "RANConfigurationUpdateAcknowledge")

    def _on_NGReset(self, gnb: str, _: int, ies: Tree) -> None:
        items = ies["ResetType"].get("partOfNG-Interface")
        self.connections.clear()
        done = [] if items is None else [{"UE-associatedLogicalNG-connectionList": items}]
        self.send(gnb, 0, "NGResetAcknowledge", *done)

    def _on_UEContextReleaseRequest(self, _: str, __: int, ies: Tree) -> None:
        to = self.connections.get(ies["AMF-UE-NGAP-ID"])
        if to is not None:
            self.release(to, ies["Cause"])

    def _on_UEContextReleaseComplete(self, _: str, __: int, ies: Tree) -> None:
        to = self.connections.pop(ies["AMF-UE-NGAP-ID"], None)
        if to is not None and to.ue is not None:
            self.smf.released(to.ue.supi)

    def _on_InitialContextSetupResponse(self, _: str, __: int, ies: Tree) -> None:
        self._set_up(ies, "PDUSessionResourceSetupListCxtRes")

    def _on_PDUSessionResourceSetupResponse(self, _: str, __: int, ies: Tree) -> None:
        self._set_up(ies, "PDUSessionResourceSetupListSURes")

    def _set_up(self, ies: Tree, name: str) -> None:
        to = self.connections.get(ies["AMF-UE-NGAP-ID"])
        if to is not None:
            to.connected = True
            self.smf.set_up_done(to, ies.get(name, []))

    def connection_of(self, supi: str) -> Connection | None:
        found = (c for c in self.connections.values() if c.ue is not None and c.ue.supi == supi)
        return next(found, None)

    def page(self, supi: str) -> None:
        """Send PAGING to every gNB."""
        tmsi = self.by_supi[supi].tmsi
        for gnb in self.gnbs:
            self.send(
                gnb,
                0,
                "Paging",
                {
                    "UEPagingIdentity": {
                        "fiveG-S-TMSI": {"aMFSetID": 3, "aMFPointer": 4, "fiveG-TMSI": tmsi}
                    }
                },
                {"TAIListForPaging": self.paged_areas},
            )

    def _on_ErrorIndication(self, _: str, __: int, ies: Tree) -> None:
        self.connections.pop(ies.get("AMF-UE-NGAP-ID", -1), None)

    def _on_InitialUEMessage(self, gnb: str, stream: int, ies: Tree) -> None:
        self.last_id += 1
        to = Connection(gnb, stream, ies["RAN-UE-NGAP-ID"], self.last_id)
        self.connections[to.amf] = to
        self._initial(to, bytes.fromhex(ies["NAS-PDU"]))

    def _on_UplinkNASTransport(self, _: str, __: int, ies: Tree) -> None:
        to = self.connections.get(ies["AMF-UE-NGAP-ID"])
        if to is not None:
            assert ies["RAN-UE-NGAP-ID"] == to.ran
            self._nas(to, bytes.fromhex(ies["NAS-PDU"]))

    # NAS, uplink

    def _initial(self, to: Connection, pdu: bytes) -> None:
        peek = wire.nas_peek(pdu)
        tree = wire.nas_decode(pdu)
        known = None if peek.guti is None else self.by_tmsi.get(peek.guti[5])
        if peek.s_tmsi is not None:
            known = self.by_tmsi.get(peek.s_tmsi[2])
        if peek.security_header and known is not None and known.nas is not None:
            try:
                verified = known.nas.unprotect(pdu, downlink=False)
            except wire.WireError:
                known = None
            else:
                to.ue, to.count = known, verified.count
                to.secure = to.verified = True
                tree = wire.nas_decode(verified.plain)
        to.unverified = bool(peek.security_header) and not to.secure
        self._arrived(tree)
        to.request = tree
        match tree["message-type"]:
            case "registration-request":
                self._register(to, peek)
            case "service-request" if to.secure:
                self.smf.serve(to, tree)
            case "deregistration-request-ue-originating":
                self._deregister(to, tree)
            case "service-request":
                cause = "ue-identity-cannot-be-derived-by-the-network"
                self.down(to, {"message-type": "service-reject", "5gmm-cause": cause})
                self.release(to, {"nas": "normal-release"})
            case other:
                raise AssertionError(other)

    def _arrived(self, tree: Tree) -> None:
        self.uplink.append(tree)
        self.received.append(tree["message-type"])

    def _register(self, to: Connection, peek: wire.NasPeek) -> None:
        if self.reject is not None:
            self.down(to, self.reject)
            return
        if to.secure and self.reuse_context:
            self.accept(to)
        elif to.ue is not None:
            self.challenge(to)
        elif peek.suci is not None:
            self._identify(to, peek.suci)
        else:
            self.down(to, {"message-type": "identity-request", "identity-type": "suci"})

    def _identify(self, to: Connection, suci: bytes) -> None:
        scheme, _ = wire.suci_scheme(suci)
        profile = {0: None, 1: "A", 2: "B"}[scheme]
        key = None if profile is None else PRIVATE_KEYS[profile]
        supi = wire.suci_deconceal(suci, profile, key)
        to.ue = self.by_supi.setdefault(supi, Registered(supi))
        self.challenge(to)

    def challenge(self, to: Connection, ngksi: int | None = None) -> None:
        assert to.ue is not None
        subscriber = self.subscribers[to.ue.supi]
        to.ngksi = (to.ue.ngksi + 1) % 7 if ngksi is None else ngksi
        to.vector = wire.aka_vector(
            subscriber.k,
            subscriber.opc,
            bytes([subscriber.sqn // 32 % 256]) * 16,
            subscriber.next_sqn(),
            b"\x80\x00",
            self.sn_name,
        )
        self.down(to, self.authentication_request(to))

    def authentication_request(self, to: Connection) -> Tree:
        assert to.vector is not None
        return {
            "message-type": "authentication-request",
            "ngksi": {"native": to.ngksi},
            "abba": {"octets": "0000"},
            "authentication-parameter-rand": {"octets": to.vector.rand.hex()},
            "authentication-parameter-autn": {"octets": to.vector.autn.hex()},
        }

    def _nas(self, to: Connection, pdu: bytes) -> None:
        ue, count = to.ue, to.count
        if pdu[1] & 0x0F:
            assert ue is not None
            assert ue.nas is not None
            try:
                verified = ue.nas.unprotect(pdu, downlink=False)
            except wire.WireError:
                # For example a message of a UE's former connection, which overtook the new one.
                self.discarded += 1
                return
            to.secure = True
            pdu, count = verified.plain, verified.count
        tree = wire.nas_decode(pdu)
        if tree["message-type"] in {"service-request", "registration-request"}:
            to.count = count  # the COUNT for the K_gNB of the answer
        self._arrived(tree)
        match tree["message-type"]:
            case "identity-response":
                suci = wire.nas_peek(pdu).suci
                if suci is not None:
                    self._identify(to, suci)
            case "authentication-response":
                self._authenticated(to, tree)
            case "authentication-failure":
                self._authentication_failed(to, tree)
            case "security-mode-complete":
                self._mode_complete(to, tree)
            case "registration-complete":
                assert ue is not None
                ue.state = "registered"
            case name:
                self._request(to, name, tree)

    def _request(self, to: Connection, name: str, tree: Tree) -> None:
        """Handle a request on a connection that is already secure."""
        match name:
            case "deregistration-request-ue-originating":
                self._deregister(to, tree)
            case "ul-nas-transport":
                self.smf.uplink(to, tree)
            case "service-request":
                self.smf.serve(to, tree)
            case "registration-request":
                self.mobility.update(to, tree)
            case _:
                pass

    def _authenticated(self, to: Connection, tree: Tree) -> None:
        assert to.vector is not None
        assert to.ue is not None
        res = bytes.fromhex(tree["authentication-response-parameter"]["octets"])
        if res != to.vector.xres_star:
            self.down(to, {"message-type": "authentication-reject"})
            return
        to.kamf = wire.kamf(to.vector.kseaf, to.ue.supi, b"\0\0")
        if self.faulty:
            to.vector = None  # a copy of the answer would restart the NAS COUNTs
        self.command(to)

    def _authentication_failed(self, to: Connection, tree: Tree) -> None:
        assert to.ue is not None
        assert to.vector is not None
        match tree["5gmm-cause"]:
            case "synch-failure":
                subscriber = self.subscribers[to.ue.supi]
                auts = bytes.fromhex(tree["authentication-failure-parameter"]["octets"])
                rand = to.vector.rand
                sqn_ms = wire.verify_auts(subscriber.k, subscriber.opc, rand, auts)
                if self.resynchronises:
                    subscriber.sqn = sqn_ms
                self.challenge(to, to.ngksi)
            case "ng-ksi-already-in-use":
                self.challenge(to, (to.ngksi + 1) % 7)
            case _:
                self.down(to, {"message-type": "authentication-reject"})

    def command(self, to: Connection, *, rinmr: bool = False) -> None:
        """Send SECURITY MODE COMMAND with the last algorithms that the UE offers."""
        assert to.ue is not None
        capability = to.request.get("ue-security-capability", to.ue.capability)
        nea, nia = capability["ea"][-1], capability["ia"][-1]
        assert nia, "with NIA0 any octets would be the UE's"
        to.ue.capability = capability
        to.ue.kamf, to.ue.ngksi = to.kamf, to.ngksi
        to.ue.nas = wire.NasSecurity(to.kamf, nia, nea)
        to.secure = True
        tree: Tree = {
            "message-type": "security-mode-command",
            "selected-nas-security-algorithms": {
                "ciphering": f"nea{nea}",
                "integrity": f"nia{nia}",
            },
            "ngksi": {"native": to.ngksi},
            "replayed-ue-security-capabilities": capability,
            "imeisv-request": "requested",
        }
        if rinmr or to.unverified:
            tree["additional-5g-security-information"] = {"rinmr": True, "hdp": False}
        self.down(to, tree, 3)

    def _mode_complete(self, to: Connection, tree: Tree) -> None:
        assert to.ue is not None
        assert to.ue.nas is not None
        assert to.ue.nas.uplink is not None
        to.count = to.ue.nas.uplink - 1
        assert len(tree["imeisv"]["imeisv"]) == 16
        if not to.verified:
            container = tree["nas-message-container"]
            assert container["message-type"] == "registration-request"
            assert container["requested-nssai"]
        self.accept(to)

    def accept(self, to: Connection) -> None:
        """Send REGISTRATION ACCEPT with a new 5G-GUTI, in INITIAL CONTEXT SETUP REQUEST."""
        ue = to.ue
        assert ue is not None
        self.by_tmsi.pop(ue.tmsi, None)
        self.last_id += 1
        ue.tmsi = 0xC0000000 + self.last_id
        self.by_tmsi[ue.tmsi] = ue
        accept = self.registration_accept(to)
        if "pdu-session-status" in to.request:
            accept["pdu-session-status"] = sorted(self.smf.of(ue.supi))
        self.context_setup(to, accept)

    def registration_accept(self, to: Connection) -> Tree:
        assert to.ue is not None
        guti = {
            "plmn": PLMN,
            "amf-region-id": 2,
            "amf-set-id": 3,
            "amf-pointer": 4,
            "tmsi": to.ue.tmsi,
        }
        return {
            "message-type": "registration-accept",
            "5gs-registration-result": {
                "result": "3gpp-access",
                "sms-allowed": False,
                "nssaa-performed": False,
                "emergency-registered": False,
                "disaster-roaming": False,
            },
            "5g-guti": {"guti": guti},
            "tai-list": [{"one-plmn-non-consecutive": {"plmn": PLMN, "tacs": self.tacs}}],
            "allowed-nssai": [s.nas() for s in self.slices],
            "configured-nssai": [s.nas() for s in self.slices],
            "t3512-value": 3600,
            "t3502-value": 600,
        }

    def _deregister(self, to: Connection, tree: Tree) -> None:
        assert to.ue is not None
        to.ue.state = "deregistered"
        for psi in self.smf.of(to.ue.supi):
            del self.smf.sessions[to.ue.supi, psi]
        if not tree["de-registration-type"]["switch-off"]:
            self.down(to, {"message-type": "deregistration-accept-ue-originating"})
        self.release(to, {"nas": "deregister"})

    # NAS, downlink

    def protect(self, to: Connection, tree: Tree, header: int = 2) -> bytes | None:
        """Return the NAS PDU of a message, changed as the test wants."""
        name = tree["message-type"]
        changed = self.trees[name](tree) if name in self.trees else tree
        if changed is None:
            return None
        plain = wire.nas_encode(changed)
        header = self.headers.get(name, header)
        pdu = plain
        if to.secure and name not in self.plain and to.ue is not None and to.ue.nas is not None:
            pdu = to.ue.nas.protect(plain, header, downlink=True)
        return self.octets[name](pdu) if name in self.octets else pdu

    def down(self, to: Connection, tree: Tree, header: int = 2) -> None:
        pdu = self.protect(to, tree, header)
        if pdu is not None:
            self.send_ue(to, "DownlinkNASTransport", {"NAS-PDU": pdu.hex()})

    def context_setup(self, to: Connection, nas: Tree, sessions: list[Tree] | None = None) -> None:
        ue = to.ue
        assert ue is not None
        if ue.nas is not None and ue.kamf == b"":
            raise AssertionError("no K_AMF")
        pdu = self.protect(to, nas)
        if pdu is None:
            return
        capability = ue.capability
        algorithms = algorithms_of(capability)
        to.ncc, to.nh = 1, wire.nh(ue.kamf, wire.kgnb(ue.kamf, to.count))
        rate = "uEAggregateMaximumBitRate"
        more: list[Tree] = []
        if sessions:
            more = [
                {"UEAggregateMaximumBitRate": {rate + "DL": 10**9, rate + "UL": 10**9}},
                {"GUAMI": GUAMI},
                {"PDUSessionResourceSetupListCxtReq": sessions},
            ]
        self.send_ue(
            to,
            "InitialContextSetupRequest",
            *(more or [{"GUAMI": GUAMI}]),
            {"AllowedNSSAI": [s.ngap() for s in self.slices]},
            {"UESecurityCapabilities": algorithms},
            {"SecurityKey": wire.kgnb(ue.kamf, to.count).hex()},
            {"NAS-PDU": pdu.hex()},
        )
