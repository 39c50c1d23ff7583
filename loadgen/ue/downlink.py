"""Who takes a downlink NAS message of a UE (TS 24.501 clause 7)."""

from typing import TYPE_CHECKING

from loadgen.ue import common_procedures, messages
from loadgen.ue import common_procedures as network_initiated
from loadgen.ue.model import Procedure, State
from loadgen.ue.nas_security import NEW_CONTEXT, Received
from loadgen.violation import Kind

if TYPE_CHECKING:
    from loadgen.ue.ue import Ue

_INCOMPATIBLE_WITH_STATE = 98
_TYPE_NON_EXISTENT = 97

_FAMILY = {
    "registration-accept": Procedure.REGISTER,
    "registration-reject": Procedure.REGISTER,
    "deregistration-accept-ue-originating": Procedure.DEREGISTER,
    "service-accept": Procedure.SERVICE,
    "service-reject": Procedure.SERVICE,
}


class Downlink:
    """Hands messages to what they are for, and remembers what the network answered."""

    __slots__ = ("_answers", "_ue")

    def __init__(self, ue: "Ue") -> None:
        """Of a UE that has heard nothing."""
        self._ue = ue
        self._answers: dict[Procedure, tuple[str, bytes]] = {}

    def opened(self) -> None:
        """A new connection: nothing was answered on it."""
        self._answers.clear()

    def requested(self, family: Procedure) -> None:
        """A request is sent: the network has not answered it yet."""
        self._answers.pop(family, None)

    def dispatch(self, pdu: bytes, received: Received, now: float) -> None:
        """Take a message that passed all checks; `pdu` is how it came."""
        ue, name = self._ue, str(received.tree.get("message-type"))
        if name == "security-mode-command":
            common_procedures.security_mode_command(ue, pdu, received)
        elif pdu[1] & 0x0F == NEW_CONTEXT:
            self._ue.violate(Kind.NAS_HEADER, f"{name} with security header type {NEW_CONTEXT}")
        elif name in _FAMILY or name == "authentication-reject":
            self._final(name, received, now)
        elif name == "dl-nas-transport":
            self._transport(name, received, now)
        elif name == "authentication-request":
            common_procedures.authentication_request(ue, received)
        elif name == "identity-request":
            common_procedures.identity_request(ue, received)
        elif name == "configuration-update-command":
            network_initiated.configuration_update(ue, received)
        elif name == "deregistration-request-ue-terminated":
            network_initiated.deregistered(ue, received, now)
        elif name == "5gmm-status":
            text = f"5GMM STATUS with {received.tree.get('5gmm-cause')}"
            ue.not_understood(text)
            ue.violate(Kind.NAS_STATUS, text)
        else:
            self.unexpected(name, _TYPE_NON_EXISTENT)

    def _transport(self, name: str, received: Received, now: float) -> None:
        updating = self._ue.state is State.REGISTERED_INITIATED and self._ue.updating
        if (self._ue.registered or updating) and self._ue.channel.secure:
            self._ue.sessions.receive(received, now)
        else:
            self.unexpected(name)

    def unexpected(self, name: str, cause: int = _INCOMPATIBLE_WITH_STATE) -> None:
        """A message that does not go with the state, or that a UE does not receive (7.4)."""
        self._ue.violate(Kind.NAS_UNEXPECTED, f"{name} in {self._ue.state}")
        self._ue.send(messages.gmm_status(cause))

    def _final(self, name: str, received: Received, now: float) -> None:
        """An answer that ends a procedure: it must be the only one, or the same again."""
        running = self._ue.running_procedure
        family = _FAMILY.get(name)
        if family is None:
            # AUTHENTICATION REJECT answers the request in progress, else belies the last answer.
            family = next(reversed(self._answers), Procedure.REGISTER)
            if running is not None and running.name is not Procedure.IDLE:
                family = running.family
        first = self._answers.get(family)
        if first is not None:
            self._answered_again(first, name, received)
        elif running is None or running.family is not family:
            self.unexpected(name)
        else:
            self._answers[family] = (name, received.plain)
            running.answered(name, received, now)

    def _answered_again(self, first: tuple[str, bytes], name: str, received: Received) -> None:
        if first != (name, received.plain):
            other = "another " if first[0] == name else ""
            self._ue.violate(Kind.NAS_CONTRADICTION, f"{other}{name} after {first[0]}")
        elif name == "registration-accept" and self._ue.state is State.REGISTERED:
            self._ue.repeat("T3550")
            self._ue.send(messages.REGISTRATION_COMPLETE)
