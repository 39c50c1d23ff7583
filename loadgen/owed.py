"""What a UE has to do that is no part of its programme (TS 24.501 5.4.4.3, 5.5.1.3.2, 5.5.2.3)."""

from typing import TYPE_CHECKING

from loadgen.mobility import RegistrationUpdate
from loadgen.registration import Registration
from loadgen.ue_model import Connection, Procedure, Running

if TYPE_CHECKING:
    from loadgen.ue import Ue


class Owed:
    """A registration or an update that the network, or a move, has made necessary."""

    __slots__ = ("_procedure", "_ue")

    def __init__(self, ue: "Ue") -> None:
        self._ue = ue
        self._procedure: Procedure | None = None

    def note(self, procedure: Procedure) -> None:
        """It is to be done as soon as it can."""
        self._procedure = procedure

    def settle(self) -> None:
        """It is done, or not necessary any more."""
        self._procedure = None

    def next(self) -> Running | None:
        """What is to be begun now by a UE that has nothing else to do; None for nothing.

        A registration that the network asks for waits for the release of the connection
        (5.4.4.3), an update for another registration area does not.
        """
        ue, owed = self._ue, self._procedure
        idle = ue.connection is Connection.IDLE
        outside = bool(ue.areas) and ue.tai not in ue.areas
        if owed is None or not (idle or (outside and owed is not Procedure.REGISTER)):
            return None
        self._procedure = None
        if owed is Procedure.REGISTER:
            again = Registration(ue)
            again.unsolicited = again.reported = True
            return again
        return RegistrationUpdate(ue, owed, unsolicited=True) if ue.registered else None
