"""Identification of a UE that registers (TS 24.501 5.4.3): its SUCI, and whose connection it is."""

import wire
from functions.decision.inputs import NasReceived
from functions.decision.ue_decision import UeDecision
from functions.gmm.authentication import aka
from schemas.aggregates import ue_aggregate
from schemas.cloudevents import EventType, Identified
from schemas.connection.events import ConnectionTransferred
from schemas.gmm.events import IdentityRequested
from schemas.gmm.state import Registration
from schemas.identity import index_ngap, slot_of, slot_of_amf_ue_ngap_id
from schemas.procedures import Procedure
from schemas.step import HandOff, encode


def request(d: UeDecision, count: int = 0) -> None:
    """Send IDENTITY REQUEST for the SUCI, and start T3570."""
    d.send_nas_best({"message-type": "identity-request", "identity-type": "suci"})
    if count == 0:
        d.emit(IdentityRequested())
    d.start_timer("T3570", d.env.network.timers.t3570, count)


def response(d: UeDecision, received: NasReceived) -> None:
    """Take an IDENTITY RESPONSE."""
    registration = d.ue.registration
    if registration is None or registration.stage != "identifying":
        d.note("an IDENTITY RESPONSE without a pending request")
        return
    peek = wire.nas_peek(received.nas.plain)
    if peek.suci is None:
        d.note("an IDENTITY RESPONSE without a SUCI")
        return
    d.stop_timer("T3570")
    if d.ue.supi:
        _confirmed(d, peek)
    else:
        _hand_over(d, registration, peek)


def _confirmed(d: UeDecision, peek: wire.NasPeek) -> None:
    """A UE known by its 5G-GUTI that failed to authenticate has told its SUCI (5.4.1.3.5).

    If it is the subscriber that the 5G-GUTI stands for, it had its chance; if not, the
    connection belongs to another.
    """
    registration = d.ue.registration
    if registration is None:
        return
    if peek.supi == d.ue.supi:
        aka.reject(d)
    else:
        _hand_over(d, registration, peek)


def _hand_over(d: UeDecision, registration: Registration, peek: wire.NasPeek) -> None:
    """Give the connection to the aggregate of the SUPI, by `identification` if concealed."""
    here = d.connection
    identified = Identified(
        gnb=here.gnb,
        association=here.association,
        ran_ue_ngap_id=here.ran_ue_ngap_id,
        amf_ue_ngap_id=here.amf_ue_ngap_id,
        sequence=here.sequence,
        tai=here.tai,
        cell=here.cell,
        establishment_cause=here.establishment_cause,
        context_requested=here.context_requested,
        order=here.order,
        position=here.position,
        request=registration.request,
        suci=peek.suci or b"",
    )
    data = encode(identified)
    if peek.supi is None:
        key, to = index_ngap(here.amf_ue_ngap_id), Procedure.IDENTIFICATION
        slot = slot_of_amf_ue_ngap_id(here.amf_ue_ngap_id)
    else:
        key, to = peek.supi, Procedure.REGISTRATION
        slot = slot_of(peek.supi)
    d.emit(ConnectionTransferred(ue_aggregate(peek.supi) if peek.supi else to))
    d.hand_off(HandOff(EventType.IDENTIFIED, to, key, data, slot))
