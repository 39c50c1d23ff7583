"""The procedures of a UE by their names."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from loadgen.deregistration import Deregistration, Idle
from loadgen.handover_procedures import HandoverProcedure
from loadgen.mobility import RegistrationUpdate
from loadgen.registration import Registration
from loadgen.service_request import DataRequest, Page, ServiceRequest
from loadgen.session_procedures import Establishment, SessionRelease
from loadgen.ue_model import HANDOVERS, Procedure, Running

if TYPE_CHECKING:
    from loadgen.ue import Ue

Maker: TypeAlias = Callable[["Ue"], Running]

_UPDATES = Procedure.PERIODIC_UPDATE, Procedure.MOBILITY_UPDATE
_LEAVING = Procedure.DEREGISTER, Procedure.SWITCH_OFF
PROCEDURES: dict[Procedure, Maker] = {
    Procedure.REGISTER: Registration,
    Procedure.IDLE: Idle,
    Procedure.SERVICE: ServiceRequest,
    Procedure.SESSION: Establishment,
    Procedure.SERVICE_REQUEST: DataRequest,
    Procedure.PAGE: Page,
    Procedure.RELEASE_SESSION: SessionRelease,
    **{name: partial(HandoverProcedure, name=name) for name in HANDOVERS},
    **{name: partial(RegistrationUpdate, name=name) for name in _UPDATES},
    **{name: partial(Deregistration, name=name) for name in _LEAVING},
}
