"""A UE with PDU sessions, its gNB and its UPFs, for tests of sessions."""

from typing import Any

from msgspec.structs import replace

import wire
from schemas.cloudevents import (
    MSGPACK_MEDIA_TYPE,
    CloudEvent,
    EventType,
    SessionLost,
    SessionRelease,
)
from schemas.identity import index_seid, slot_of
from schemas.network import Network
from schemas.procedures import Procedure
from schemas.step import encode
from schemas.subscriber import Ambr, Dnn, PduSessionType, SubscribedSlice, Subscriber
from tests.functions.gnb import ng_setup
from tests.functions.phone import Phone
from tests.functions.upfs import Upfs
from tests.functions.world import N4_NETWORK, OTHER_SLICE, SLICE, UPF, World, subscriber

MESSAGE = "message-type"
TUNNEL = {"gTPTunnel": {"transportLayerAddress": {"value": "0a040001", "length": 32}}}


_LISTS = (
    "PDUSessionResourceSetupListSUReq",
    "PDUSessionResourceSetupListCxtReq",
    "PDUSessionResourceModifyListModReq",
)


class Site:
    """A UE that is registered at a gNB, and UPFs."""

    def __init__(
        self,
        *,
        types: tuple[PduSessionType, ...] = (PduSessionType.IPV4V6,),
        slices: tuple[SubscribedSlice, ...] = (),
        tac: int = 1,
        requested: list[dict[str, Any]] | None = None,
        world: type[World] = World,
        features: tuple[str, ...] = (),
        ftup: bool = True,
        network: Network = N4_NETWORK,
        dnns: tuple[Dnn, ...] = (),
        about: Subscriber | None = None,
    ) -> None:
        dnns = dnns or (Dnn("internet", types, Ambr(10_000_000, 20_000_000)),)
        slices = slices or (SubscribedSlice(SLICE, True, dnns), SubscribedSlice(OTHER_SLICE))
        nodes = tuple(
            upf if ftup else replace(upf, n3=f"10.3.0.{index}")
            for index, upf in enumerate(network.upfs, 1)
        )
        one = about or subscriber(slices=slices)
        self.world = world(one, network=replace(network, upfs=nodes))
        self.world.features = features
        ng_setup(self.world)
        self.world.associate(features=("FTUP",) if ftup else ())
        self.world.pfcp.clear()
        self.upfs = Upfs(self.world, ftup=ftup)
        self.phone = Phone(self.world, tac=tac)
        self.phone.requested = requested
        self.phone.register()
        self.phone.hear()
        self.teid = 100

    def ask(self, psi: int = 1, pti: int = 1, transport: Any = None, **request: Any) -> None:
        """Send a PDU SESSION ESTABLISHMENT REQUEST, and let the UPF respond.

        `transport` has IEs of its UL NAS TRANSPORT; None for no IE.
        """
        message = {
            MESSAGE: "pdu-session-establishment-request",
            "pdu-session-identity": psi,
            "procedure-transaction-identity": pti,
            "integrity-protection-maximum-data-rate": {"ul": "full-rate", "dl": "full-rate"},
            "pdu-session-type": "ipv4",
            **request,
        }
        about = {"request-type": "initial-request", "dnn": "internet", **(transport or {})}
        self.say(psi, message, **{name: value for name, value in about.items() if value})

    def say(self, psi: int, message: dict[str, Any], **about: Any) -> None:
        tree = {
            MESSAGE: "ul-nas-transport",
            "payload-container-type": "n1-sm-information",
            "payload-container": message,
            "pdu-session-id": psi,
            **about,
        }
        self.phone.say(tree)
        self.upfs.serve()

    def hear(self) -> list[dict[str, Any]]:
        """Return the messages to the UE and its gNB; NAS messages of sessions are under `nas`."""
        found: list[dict[str, Any]] = []
        for tree in self.phone.hear():
            for name in _LISTS:
                for item in tree.get(name, ()):
                    sealed = item.get("pDUSessionNAS-PDU") or item.get("nAS-PDU")
                    if sealed:
                        assert self.phone.security is not None
                        opened = self.phone.security.unprotect(bytes.fromhex(sealed), downlink=True)
                        item["nas"] = wire.nas_decode(opened.plain)["payload-container"]
            found.append(tree)
        return found

    def set_up(self, message: str = "PDUSessionResourceSetup", *ids: int) -> None:
        """Respond that the gNB has set up sessions."""
        suffix = "SURes" if message == "PDUSessionResourceSetup" else "CxtRes"
        items: list[dict[str, Any]] = []
        for psi in ids or (1,):
            self.teid += 1
            tunnel = {"gTPTunnel": {**TUNNEL["gTPTunnel"], "gTP-TEID": self.teid}}
            flows = [{"qosFlowIdentifier": 1}]
            information = {"uPTransportLayerInformation": tunnel, "associatedQosFlowList": flows}
            transfer = {"dLQosFlowPerTNLInformation": information}
            items.append({"pDUSessionID": psi, "pDUSessionResourceSetupResponseTransfer": transfer})
        name = f"{message}Response"
        self.phone.ngap(name, **{f"PDUSessionResourceSetupList{suffix}": items})
        self.upfs.serve()

    def set_up_fails(self, message: str, psi: int = 1) -> None:
        """Respond that the gNB has no resources for a session."""
        transfer = {"cause": {"radioNetwork": "radio-resources-not-available"}}
        name = "pDUSessionResourceSetupUnsuccessfulTransfer"
        items = [{"pDUSessionID": psi, name: transfer}]
        suffix = "SURes" if message == "PDUSessionResourceSetup" else "CxtRes"
        lists = {f"PDUSessionResourceFailedToSetupList{suffix}": items}
        self.phone.ngap(f"{message}Response", **lists)
        self.upfs.serve()

    def released(self, psi: int = 1) -> None:
        """Respond that the gNB has released the resources of a session."""
        item = {"pDUSessionID": psi, "pDUSessionResourceReleaseResponseTransfer": {}}
        name = "PDUSessionResourceReleaseResponse"
        self.phone.ngap(name, PDUSessionResourceReleasedListRelRes=[item])
        self.upfs.serve()

    def lose(self, seid: int, at: int, *, kept: bool = False) -> None:
        """Report that the UPF of a session restarted, or was associated again, at a time."""
        self.world.count += 1
        (upf,) = {s.n4.upf for s in self.world.ue().sessions if s.n4.seid == seid} or {UPF}
        stamp = self.world.upf(upf).recovery_time_stamp
        self.world.deliver(
            CloudEvent(
                f"t-{self.world.count}",
                "/upf",
                EventType.SESSION_LOST,
                index_seid(seid),
                encode(SessionLost(seid, stamp, at, kept)),
                MSGPACK_MEDIA_TYPE,
                Procedure.SESSION,
                slot_of(self.phone.supi),
            )
        )

    def restore_twice(self, address: str) -> None:
        """Let a UPF lose a session, and request it twice before the UPF responds; it does not
        respond."""
        name, _ = self.upfs.session(address)
        seid = self.session().n4.seid
        self.upfs.tables[name].clear()
        self.upfs.silent = True
        self.lose(seid, self.world.now)
        self.world.advance(1)
        self.lose(seid, self.world.now)

    def establish(self, psi: int = 1, **request: Any) -> str:
        """Establish a session completely, and return the UE's address."""
        self.ask(psi, **request)
        setup = self.hear()[-1]
        assert setup[MESSAGE] == "PDUSessionResourceSetupRequest"
        self.set_up("PDUSessionResourceSetup", psi)
        address: str = setup["PDUSessionResourceSetupListSUReq"][0]["nas"]["pdu-address"]["ipv4"]
        return address

    def idle(self) -> None:
        self.phone.idle()
        self.upfs.serve()

    def service_request(self, kind: str = "data", /, **more: Any) -> list[dict[str, Any]]:
        guti = self.phone.guti
        assert guti is not None
        s_tmsi = {"amf-set-id": 1, "amf-pointer": 0, "tmsi": guti["tmsi"]}
        tree = {
            MESSAGE: "service-request",
            "ngksi": {"native": self.phone.ngksi},
            "service-type": kind,
            "5g-s-tmsi": {"s-tmsi": s_tmsi},
            **more,
        }
        self.phone.open_again(tree, ran_id=self.phone.ran_id + 1)
        self.upfs.serve()
        return self.hear()

    def release(self, psi: int) -> None:
        """Release a session, by the operator."""
        self.world.count += 1
        self.world.deliver(
            CloudEvent(
                f"t-{self.world.count}",
                "/evcore/operator",
                EventType.SESSION_RELEASE,
                self.phone.supi,
                encode(SessionRelease(psi)),
                MSGPACK_MEDIA_TYPE,
                Procedure.SESSION,
                slot_of(self.phone.supi),
            )
        )

    def subscribe(self, ambr: Ambr) -> None:
        """Change the session AMBR of the subscription."""
        one = self.world.subscribers[self.phone.supi]
        dnn = replace(one.slices[0].dnns[0], ambr=ambr)
        slices = (replace(one.slices[0], dnns=(dnn,)), *one.slices[1:])
        self.world.subscribers[self.phone.supi] = replace(one, slices=slices)

    def session(self, psi: int = 1) -> Any:
        return next(s for s in self.world.ue().sessions if s.id == psi)
