"""The requests of the core that its gNBs have not answered, by the messages alone.

NGAP has no transaction identifier: a gNB has at most one request of a kind about a UE.
"""

from typing import Any, Final

import wire
from schemas.cloudevents import EventType
from schemas.connection.events import ConnectionReleased
from schemas.mobility.events import PathSwitched
from schemas.step import SendNgap, Step

ANSWERS: Final = {
    "InitialContextSetupRequest": ("InitialContextSetupResponse", "InitialContextSetupFailure"),
    "UEContextModificationRequest": (
        "UEContextModificationResponse",
        "UEContextModificationFailure",
    ),
    "PDUSessionResourceSetupRequest": ("PDUSessionResourceSetupResponse",),
    "PDUSessionResourceModifyRequest": ("PDUSessionResourceModifyResponse",),
    "PDUSessionResourceReleaseCommand": ("PDUSessionResourceReleaseResponse",),
}
"""The answers to each request about a UE. A UE CONTEXT RELEASE COMMAND is repeated by a timer."""
_REQUEST: Final = {answer: name for name, answers in ANSWERS.items() for answer in answers}


class Outstanding:
    """The outstanding requests of each connection."""

    def __init__(self) -> None:
        self._asked: set[tuple[str, int | None, int | None, str]] = set()
        """Association, AMF-UE-NGAP-ID, RAN-UE-NGAP-ID, message."""

    def check(self, step: Step[Any]) -> None:
        """Check the requests of a step."""
        trigger = step.trigger
        if trigger.type == EventType.NGAP_UPLINK:
            self._answered(trigger.source.rpartition("/")[2], trigger.data)
        for event in step.events:
            if isinstance(event, ConnectionReleased):
                self._end(event.amf_ue_ngap_id)
            elif isinstance(event, PathSwitched):
                self._end(wire.ngap_peek(trigger.data).amf_ue_ngap_id)
        for output in step.outputs:
            if not isinstance(output, SendNgap):
                continue
            sent = wire.ngap_peek(output.pdu)
            if sent.message in ANSWERS:
                one = (output.association, sent.amf_ue_ngap_id, sent.ran_ue_ngap_id, sent.message)
                assert one not in self._asked, f"a second {sent.message} before the answer"
                self._asked.add(one)

    def _answered(self, association: str, octets: bytes) -> None:
        try:
            found = wire.ngap_peek(octets)
        except wire.WireError:
            return
        name = _REQUEST.get(found.message, "")
        self._asked.discard((association, found.amf_ue_ngap_id, found.ran_ue_ngap_id, name))

    def _end(self, amf_ue_ngap_id: int | None) -> None:
        self._asked = {one for one in self._asked if one[1] != amf_ue_ngap_id}
