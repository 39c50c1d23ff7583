"""The types of values that leave a process, each with the type it is decoded as."""

from typing import Any, Final, get_args

from msgspec import Struct

from schemas import aggregates, cloudevents, identity, network, ran, step, subscriber, upf
from schemas.cloudevents import CloudEvent
from schemas.config import reading
from schemas.gsm import state as indication
from schemas.network import Network
from schemas.ran import Gnb, GnbEvent
from schemas.step import Output, Step
from schemas.subscriber import Subscriber
from schemas.ue import events as ue_events
from schemas.ue import state as ue
from schemas.ue.events import UeEvent
from schemas.ue.state import Ue
from schemas.upf import Upf, UpfEvent

DECODED_AS: Final[dict[str, tuple[Any, Any]]] = {
    **{f"ue {kind.__name__}": (kind, UeEvent) for kind in get_args(UeEvent)},
    **{f"gnb {kind.__name__}": (kind, GnbEvent) for kind in get_args(GnbEvent)},
    **{f"upf {kind.__name__}": (kind, UpfEvent) for kind in get_args(UpfEvent)},
    **{f"output {kind.__name__}": (kind, Output) for kind in get_args(Output)},
    "ue step": (Step[UeEvent], Step[UeEvent]),
    "gnb step": (Step[GnbEvent], Step[GnbEvent]),
    "upf step": (Step[UpfEvent], Step[UpfEvent]),
    **{
        kind.__name__: (kind, kind)
        for kind in (
            Ue,
            Gnb,
            Upf,
            Network,
            Subscriber,
            CloudEvent,
            cloudevents.AssociationLost,
            cloudevents.ConnectionLost,
            cloudevents.Identified,
            cloudevents.Unidentified,
            cloudevents.UpfPath,
            cloudevents.SessionLost,
        )
    },
}


def all_structs() -> list[type[Struct]]:
    """Return every Struct of the modules with stored or printed values."""
    modules = (
        aggregates,
        cloudevents,
        reading,
        ran,
        identity,
        indication,
        network,
        step,
        subscriber,
        ue,
        ue_events,
        upf,
    )
    found = [value for module in modules for value in vars(module).values()]
    kinds = {v for v in found if isinstance(v, type) and issubclass(v, Struct) and v is not Struct}
    return sorted(kinds, key=lambda kind: kind.__name__)
