"""The PDU session resources of a gNB: setup, modification and release (TS 38.413 8.2, 8.3.1)."""

from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec import structs

from loadgen.gnb.context import UeContext
from loadgen.gnb.transfers import (
    SetUp,
    ambr_of,
    flows_of,
    setup_response,
    transfer_ies,
    unsuccessful,
)
from loadgen.session_model import Resource, Tunnel
from loadgen.trees import Tree, items, number, part
from loadgen.ue.checks import check_resource
from loadgen.ue.ue import Ue
from loadgen.violation import Kind

UNKNOWN_SESSION = "unknown-PDU-session-ID"
MULTIPLE = "multiple-PDU-session-ID-instances"
UNSPECIFIED = "unspecified"


class SetupNames(NamedTuple):
    """The names of the lists in a setup message and in its answer."""

    request: str
    nas: str
    done: str
    failed: str


IN_SETUP = SetupNames(
    "PDUSessionResourceSetupListSUReq",
    "pDUSessionNAS-PDU",
    "PDUSessionResourceSetupListSURes",
    "PDUSessionResourceFailedToSetupListSURes",
)
IN_CONTEXT = SetupNames(
    "PDUSessionResourceSetupListCxtReq",
    "nAS-PDU",
    "PDUSessionResourceSetupListCxtRes",
    "PDUSessionResourceFailedToSetupListCxtRes",
)


class ResourceAnswer(NamedTuple):
    """The IEs of a gNB's answer, and the NAS messages for the UE."""

    ies: list[Tree]
    nas: list[bytes]


class Resources:
    """The tunnels of one gNB. Each UE context has its own resources, by PSI."""

    __slots__ = ("_address", "_last", "_peers")

    def __init__(self, address: str) -> None:
        """Create the resources of a gNB with this N3 address."""
        self._address = address
        self._last = 0
        self._peers: dict[Tunnel, str] = {}
        """The SUPI and PSI by the UPF's tunnel."""

    def set_up(
        self, ue: Ue, own: dict[int, Resource], ies: Tree, names: SetupNames, *, again: bool
    ) -> ResourceAnswer:
        """Set up the sessions of a request.

        Args:
            ue: the UE.
            own: the resources of its context.
            ies: the request.
            names: the names of the request's lists.
            again: whether the same octets were received before: then the answer is the same.
        """
        done: list[Tree] = []
        failed: list[Tree] = []
        nas: list[bytes] = []
        for item in items(ies, names.request):
            psi = number(item, "pDUSessionID") or 0
            known = own.get(psi)
            cause = None if again and known is not None else self._set_up(ue, own, psi, item)
            if cause is not None:
                transfer = "pDUSessionResourceSetupUnsuccessfulTransfer"
                failed.append({"pDUSessionID": psi, transfer: unsuccessful(cause)})
                continue
            one = own[psi]
            transfer = "pDUSessionResourceSetupResponseTransfer"
            answer = setup_response(one.dl, list(one.flows), one.security)
            done.append({"pDUSessionID": psi, transfer: answer})
            nas += _nas_of(item, names.nas)
        return ResourceAnswer(_lists((names.done, done), (names.failed, failed)), nas)

    def _set_up(
        self,
        ue: Ue,
        own: dict[int, Resource],
        psi: int,
        item: Tree,
        transfer: str = "pDUSessionResourceSetupRequestTransfer",
    ) -> str | None:
        """Set up a session. Return the cause if the setup fails."""
        if psi in own:
            text = f"PDU session {psi} is set up a second time"
            ue.violate(Kind.RESOURCE_SESSION, text)
            return MULTIPLE
        if not ue.sessions.expects(psi):
            text = f"setup of PDU session {psi}; the UE has {[*ue.sessions.live]}"
            ue.violate(Kind.RESOURCE_SESSION, text)
        found = SetUp(item, _complaint(ue, f"setup of PDU session {psi}"), transfer)
        _check_slice(ue, psi, item)
        if not found.possible or found.ul is None:
            return UNSPECIFIED
        self._claim(ue, psi, found.ul)
        self._last += 1
        dl = Tunnel(self._address, self._last)
        problem = found.security_problem()
        if problem is not None:
            ue.violate(Kind.RESOURCE_SECURITY, f"PDU session {psi}: {problem}")
        own[psi] = one = Resource(
            psi, found.ul, dl, found.session_type, found.flows, found.ambr, found.security
        )
        session = ue.sessions.live.get(psi)
        if session is not None:
            check_resource(ue, session, one)
        return None

    def admit(self, ue: Ue, own: dict[int, Resource], item: Tree) -> str | None:
        """Set up a session of a HANDOVER REQUEST. Return the cause if the setup fails (8.4.2)."""
        psi = number(item, "pDUSessionID") or 0
        return self._set_up(ue, own, psi, item, "handoverRequestTransfer")

    def reserve(self, own: dict[int, Resource], item: Tree) -> None:
        """Set up a session of a HANDOVER REQUEST for a UE that will not arrive."""
        found = SetUp(item, _nothing, "handoverRequestTransfer")
        if found.possible and found.ul is not None:
            psi = number(item, "pDUSessionID") or 0
            self._last += 1
            dl = Tunnel(self._address, self._last)
            kind, flows = found.session_type, found.flows
            own[psi] = Resource(psi, found.ul, dl, kind, flows, found.ambr)

    def take_over(self, ue: Ue, source: Resource, own: dict[int, Resource]) -> None:
        """Set up a session with the parameters of the source gNB (TS 38.423 8.2.1)."""
        self._claim(ue, source.psi, source.ul)
        self._last += 1
        dl = Tunnel(self._address, self._last)
        own[source.psi] = structs.replace(source, dl=dl, flows=dict(source.flows))

    def _claim(self, ue: Ue, psi: int, ul: Tunnel) -> None:
        """Register the UPF's tunnel of a session; no other session may have it."""
        who = f"{ue.profile.supi} PDU session {psi}"
        holder = self._peers.setdefault(ul, who)
        if holder != who:
            ue.violate(Kind.RESOURCE_TUNNEL, f"UL tunnel {ul} for {who}, which {holder} has")

    def forget(self, own: dict[int, Resource]) -> None:
        """Release all resources of a closed context."""
        for one in own.values():
            self._peers.pop(one.ul, None)

    def drop(self, own: dict[int, Resource], psi: int) -> None:
        """Release the resources of a session."""
        one = own.pop(psi, None)
        if one is not None:
            self._peers.pop(one.ul, None)

    def modify(self, ue: Ue, own: dict[int, Resource], ies: Tree) -> ResourceAnswer:
        """Handle PDU SESSION RESOURCE MODIFY REQUEST (8.2.3)."""
        done: list[Tree] = []
        failed: list[Tree] = []
        nas: list[bytes] = []
        for item in items(ies, "PDUSessionResourceModifyListModReq"):
            psi = number(item, "pDUSessionID") or 0
            one = own.get(psi)
            if one is None:
                text = f"modification of PDU session {psi}, which is not set up"
                ue.violate(Kind.RESOURCE_SESSION, text)
                transfer = "pDUSessionResourceModifyUnsuccessfulTransfer"
                failed.append({"pDUSessionID": psi, transfer: unsuccessful(UNKNOWN_SESSION)})
                continue
            changed = self._modify(ue, one, item)
            flows = [{"qosFlowIdentifier": qfi} for qfi in changed]
            answer = {"qosFlowAddOrModifyResponseList": flows} if flows else {}
            transfer = "pDUSessionResourceModifyResponseTransfer"
            done.append({"pDUSessionID": psi, transfer: answer})
            nas += _nas_of(item, "nAS-PDU")
        done_name = "PDUSessionResourceModifyListModRes"
        failed_name = "PDUSessionResourceFailedToModifyListModRes"
        return ResourceAnswer(_lists((done_name, done), (failed_name, failed)), nas)

    def _modify(self, ue: Ue, one: Resource, item: Tree) -> list[int]:
        """Modify a session. Return the QFIs of the added or changed flows."""
        complain = _complaint(ue, f"modification of PDU session {one.psi}")
        ies = transfer_ies(item, "pDUSessionResourceModifyRequestTransfer")
        if not ies:
            complain("no known IE")
        one.ambr = ambr_of(ies) or one.ambr
        changed = flows_of(ies, "QosFlowAddOrModifyRequestList", complain)
        for qfi, five_qi in changed.items():
            one.flows[qfi] = five_qi if five_qi is not None else one.flows.get(qfi)
        for flow in items(ies, "QosFlowToReleaseList"):
            if one.flows.pop(number(flow, "qosFlowIdentifier") or 0, self) is self:
                complain(f"release of QFI {flow.get('qosFlowIdentifier')}, which does not exist")
        for tunnels in items(ies, "UL-NGU-UP-TNLModifyList"):
            ul = Tunnel.of_ngap(tunnels.get("uL-NGU-UP-TNLInformation"))
            if ul is not None:
                self._peers.pop(one.ul, None)
                self._claim(ue, one.psi, ul)
                one.ul = ul
        return list(changed)

    def release(self, ue: Ue | None, own: dict[int, Resource], ies: Tree) -> list[Tree]:
        """Handle PDU SESSION RESOURCE RELEASE COMMAND (8.2.2). Return the list for the response."""
        done: list[Tree] = []
        for item in items(ies, "PDUSessionResourceToReleaseListRelCmd"):
            psi = number(item, "pDUSessionID") or 0
            one = own.pop(psi, None)
            if one is not None:
                self._peers.pop(one.ul, None)
            elif ue is not None and not ue.sessions.was_released(psi):
                # The response has no failure list, so the session is reported as released.
                text = f"release of PDU session {psi}, which has no resources"
                ue.violate(Kind.RESOURCE_SESSION, text)
            transfer = "pDUSessionResourceReleaseResponseTransfer"
            done.append({"pDUSessionID": psi, transfer: {}})
        return [{"PDUSessionResourceReleasedListRelRes": done}]


def refused(ies: Tree, names: SetupNames, cause: str) -> list[Tree]:
    """Return the answer to a setup that failed for all sessions."""
    transfer = "pDUSessionResourceSetupUnsuccessfulTransfer"
    psis = [number(item, "pDUSessionID") or 0 for item in items(ies, names.request)]
    failed = [{"pDUSessionID": psi, transfer: unsuccessful(cause)} for psi in psis]
    return _lists((names.failed, failed))


def not_modified(ies: Tree, cause: str) -> list[Tree]:
    """Return the answer to a modification that failed for all sessions."""
    transfer = "pDUSessionResourceModifyUnsuccessfulTransfer"
    found = items(ies, "PDUSessionResourceModifyListModReq")
    psis = [number(item, "pDUSessionID") or 0 for item in found]
    failed = [{"pDUSessionID": psi, transfer: unsuccessful(cause)} for psi in psis]
    return _lists(("PDUSessionResourceFailedToModifyListModRes", failed))


def _nothing(text: str) -> None:
    del text


def _lists(*named: tuple[str, list[Tree]]) -> list[Tree]:
    """Return the IEs of the lists that are not empty."""
    return [{name: entries} for name, entries in named if entries]


def _nas_of(item: Tree, name: str) -> list[bytes]:
    nas: Any = item.get(name)
    return [bytes.fromhex(nas)] if isinstance(nas, str) else []


def _complaint(ue: Ue, what: str) -> Callable[[str], None]:
    return lambda text: ue.violate(Kind.RESOURCE_TRANSFER, f"{what}: {text}")


def _check_slice(ue: Ue, psi: int, item: Tree) -> None:
    told = part(item, "s-NSSAI")
    own = {(one.sst, one.sd) for one in ue.profile.slices}
    session = ue.sessions.live.get(psi)
    if session is not None and session.s_nssai is not None:
        own = {(session.s_nssai.sst, session.s_nssai.sd)}
    if (told.get("sST"), told.get("sD")) not in own:
        ue.violate(Kind.SESSION_SLICE, f"PDU session {psi} has slice {told} for the gNB")


def handle(
    message: str, resources: Resources, context: UeContext, ies: Tree, *, again: bool
) -> tuple[str, ResourceAnswer]:
    """Handle a PDU session resource message (8.2). Return the name and content of the answer.

    Args:
        message: the name of the message.
        resources: the resources of the gNB.
        context: the context; without a UE all setups fail.
        ies: the IEs of the message.
        again: whether the same octets were received before.
    """
    match message:
        case "PDUSessionResourceSetupRequest":
            answer = _set_up(resources, context, ies, again=again)
            return "PDUSessionResourceSetupResponse", answer
        case "PDUSessionResourceModifyRequest":
            return "PDUSessionResourceModifyResponse", _modify(resources, context, ies)
        case _:
            ue = None if context.camped is None else context.camped.ue
            released = resources.release(ue, context.resources, ies)
            return "PDUSessionResourceReleaseResponse", ResourceAnswer(released, _nas_pdu(ies))


def _set_up(resources: Resources, context: UeContext, ies: Tree, *, again: bool) -> ResourceAnswer:
    if context.camped is None:
        return ResourceAnswer(refused(ies, IN_SETUP, context.lost_cause), [])
    done = resources.set_up(context.camped.ue, context.resources, ies, IN_SETUP, again=again)
    return ResourceAnswer(done.ies, done.nas + _nas_pdu(ies))


def _modify(resources: Resources, context: UeContext, ies: Tree) -> ResourceAnswer:
    if context.camped is None:
        return ResourceAnswer(not_modified(ies, context.lost_cause), [])
    return resources.modify(context.camped.ue, context.resources, ies)


def _nas_pdu(ies: Tree) -> list[bytes]:
    nas = ies.get("NAS-PDU")
    return [bytes.fromhex(nas)] if isinstance(nas, str) else []
