"""Dispatch of the downlink NAS messages of a UE to their handlers (TS 24.501 clause 7)."""

from loadgen.ue import common_procedures, messages
from loadgen.ue.base import UeBase
from loadgen.ue.deregistration import deregistered
from loadgen.ue.model import Procedure, State
from loadgen.ue.nas_security import NEW_CONTEXT, Received
from loadgen.ue.registration import RegistrationUpdate
from loadgen.ue.session_management import SessionMessages
from loadgen.violation import Kind

_TYPE_NON_EXISTENT = 97

_FAMILY = {
    "registration-accept": Procedure.REGISTER,
    "registration-reject": Procedure.REGISTER,
    "deregistration-accept-ue-originating": Procedure.DEREGISTER,
    "service-accept": Procedure.SERVICE,
    "service-reject": Procedure.SERVICE,
}


class Downlink:
    """Dispatches downlink messages that passed the security checks."""

    __slots__ = ("_session_messages", "_ue")

    def __init__(self, ue: UeBase) -> None:
        self._ue = ue
        self._session_messages = SessionMessages(ue)

    def dispatch(self, pdu: bytes, received: Received, now: float) -> None:
        """Handle a message; `pdu` is the message as received, still protected."""
        ue, name = self._ue, str(received.tree.get("message-type"))
        if name == "security-mode-command":
            common_procedures.security_mode_command(ue, pdu, received)
        elif pdu[1] & 0x0F == NEW_CONTEXT:
            ue.violate(Kind.NAS_HEADER, f"{name} with security header type {NEW_CONTEXT}")
        elif name in _FAMILY or name == "authentication-reject":
            self._final(name, received, now)
        elif name == "dl-nas-transport":
            self._transport(name, received, now)
        elif name == "authentication-request":
            common_procedures.authentication_request(ue, received)
        elif name == "identity-request":
            common_procedures.identity_request(ue, received)
        elif name == "configuration-update-command":
            common_procedures.configuration_update(ue, received)
        elif name == "deregistration-request-ue-terminated":
            deregistered(ue, received, now)
        elif name == "5gmm-status":
            text = f"5GMM STATUS with {received.tree.get('5gmm-cause')}"
            ue.count_status(text)
            ue.violate(Kind.NAS_STATUS, text)
        else:
            ue.unexpected(name, _TYPE_NON_EXISTENT)

    def _transport(self, name: str, received: Received, now: float) -> None:
        ue = self._ue
        # A UE stays registered during a registration update.
        updating = ue.state is State.REGISTERED_INITIATED and isinstance(
            ue.running_procedure, RegistrationUpdate
        )
        if (ue.registered or updating) and ue.channel.secure:
            self._session_messages.receive(received, now)
        else:
            ue.unexpected(name)

    def _final(self, name: str, received: Received, now: float) -> None:
        """Handle a final answer: there must be no other one, except an exact repetition."""
        ue = self._ue
        running = ue.running_procedure
        family = _FAMILY.get(name)
        if family is None:
            # AUTHENTICATION REJECT answers the running request, or contradicts the last answer.
            family = next(reversed(ue.answers), Procedure.REGISTER)
            if running is not None and running.name is not Procedure.IDLE:
                family = running.family
        first = ue.answers.get(family)
        if first is not None:
            self._answered_again(first, name, received)
        elif running is None or running.family is not family:
            ue.unexpected(name)
        else:
            ue.answers[family] = (name, received.plain)
            running.answered(name, received, now)

    def _answered_again(self, first: tuple[str, bytes], name: str, received: Received) -> None:
        ue = self._ue
        if first != (name, received.plain):
            other = "another " if first[0] == name else ""
            ue.violate(Kind.NAS_CONTRADICTION, f"{other}{name} after {first[0]}")
        elif name == "registration-accept" and ue.state is State.REGISTERED:
            ue.repeat("T3550")
            ue.send(messages.REGISTRATION_COMPLETE)
