"""The NG interface of a gNB: NG SETUP, configuration, reset and overload (TS 38.413 8.7)."""

from collections.abc import Callable
from math import inf

from msgspec import Struct

from loadgen.gnb import messages
from loadgen.gnb.cell import Cell
from loadgen.gnb.messages import GnbConfig
from loadgen.identity import Guami, nssai_of_ngap
from loadgen.trees import Tree, items, part
from loadgen.violation import Kind

NON_UE_STREAM = 0
_TIME_TO_WAIT = {"v1s": 1.0, "v2s": 2.0, "v5s": 5.0, "v10s": 10.0, "v20s": 20.0, "v60s": 60.0}


class InterfaceCounts(Struct):
    """Counters of an NG interface."""

    setups: int = 0
    """NG SETUP RESPONSEs."""
    setup_failures: int = 0
    resets_received: int = 0
    overload_starts: int = 0
    overload_stops: int = 0
    reconfigured: int = 0
    """AMF CONFIGURATION UPDATEs."""


class NgInterface:
    """The interface management procedures of one gNB."""

    def __init__(self, cell: Cell, touch: Callable[[], None]) -> None:
        """Create an interface that is down; `touch` is called when `setup_at` changes."""
        self.counts = InterfaceCounts()
        self.setup_at = inf
        """When NG SETUP REQUEST is repeated, inf for never."""
        self.refused: str | None = None
        """The cause of the last NG SETUP FAILURE without a time to wait."""
        self.retry_cause = ""
        """The cause of the last NG SETUP FAILURE with a time to wait; empty for none."""
        self.handlers: dict[str, Callable[[Tree, float], None]] = {
            "NGSetupResponse": self._set_up,
            "NGSetupFailure": self._set_up_failed,
            "OverloadStart": self._overload_start,
            "OverloadStop": self._overload_stop,
            "NGReset": self._reset_by_amf,
            "NGResetAcknowledge": self._reset_acknowledged,
            "AMFConfigurationUpdate": self._reconfigured,
            "RANConfigurationUpdateFailure": self._not_updated,
        }
        """By message of the AMF; they take its IEs and the time."""
        self._cell = cell
        self._touch = touch
        self._reset: list[Tree] | None = None

    def down(self) -> None:
        """Handle the loss of the association."""
        self.setup_at = inf
        self._cell.admission.interface_up = False
        self._cell.admission.overload_stop()

    # actions of the gNB

    def setup(self, now: float) -> None:
        """Send NG SETUP REQUEST (8.7.1), and repeat it until the AMF answers."""
        self._send(messages.ng_setup_request(self._cell.config))
        self.setup_at = now + self._cell.timers.ng_setup
        self._touch()

    def reset(self, pairs: list[tuple[int | None, int]] | None, now: float) -> None:
        """Send NG RESET (8.7.4), and release the UEs; see `Gnb.reset`."""
        some = [] if pairs is None else messages.connections(pairs)
        self._reset = some
        self._send(messages.ng_reset(pairs, {"misc": "om-intervention"}))
        if pairs is None:
            self._cell.lose_all(now)
        else:
            self._cell.lose_some(some, now)

    def update_configuration(self, config: GnbConfig) -> None:
        """Send RAN CONFIGURATION UPDATE (8.7.2)."""
        self._cell.config = config
        self._send(messages.ran_configuration_update(config))

    # messages of the AMF

    def _set_up(self, ies: Tree, now: float) -> None:
        if self.setup_at == inf:
            self._violate(Kind.NGAP_UNEXPECTED, "NG SETUP RESPONSE without a request")
            return
        self.setup_at = inf
        self.refused = None
        self.counts.setups += 1
        self._served(ies)
        self._cell.admission.overload_stop()
        self._cell.admission.interface_up = True
        self._cell.resume(now)

    def _served(self, ies: Tree) -> None:
        """Check and store the served GUAMIs and PLMNs of a response or an update."""
        if "ServedGUAMIList" in ies:
            served = [Guami.of_ngap(item.get("gUAMI")) for item in items(ies, "ServedGUAMIList")]
            self._cell.guamis = frozenset(guami for guami in served if guami is not None)
        if "PLMNSupportList" not in ies:
            return
        support = {
            str(item.get("pLMNIdentity")): nssai_of_ngap(item.get("sliceSupportList"))
            for item in items(ies, "PLMNSupportList")
        }
        slices = frozenset(self._cell.config.slices)
        for plmn in self._cell.config.broadcast:
            own = support.get(plmn)
            if own is None:
                text = f"PLMN {plmn} is not supported; supported: {', '.join(support)}"
                self._violate(Kind.SETUP_PLMN, text)
            elif not own & slices:
                text = f"none of the gNB's slices is supported in PLMN {plmn}"
                self._violate(Kind.SETUP_SLICES, text)
            elif all(guami.plmn != plmn for guami in self._cell.guamis):
                self._violate(Kind.SETUP_PLMN, f"PLMN {plmn} is supported, but has no GUAMI")

    def _set_up_failed(self, ies: Tree, now: float) -> None:
        if self.setup_at == inf:
            self._violate(Kind.NGAP_UNEXPECTED, "NG SETUP FAILURE without a request")
            return
        self.counts.setup_failures += 1
        wait = _TIME_TO_WAIT.get(str(ies.get("TimeToWait")))
        self.refused = str(ies.get("Cause")) if wait is None else None
        self.retry_cause = str(ies.get("Cause")) if wait is not None else ""
        self.setup_at = now + (self._cell.timers.ng_setup if wait is None else wait)
        self._touch()

    def _overload_start(self, ies: Tree, _: float) -> None:
        self.counts.overload_starts += 1
        self._cell.admission.overload_start(ies)

    def _overload_stop(self, _: Tree, __: float) -> None:
        self.counts.overload_stops += 1
        self._cell.admission.overload_stop()

    def _reset_by_amf(self, ies: Tree, now: float) -> None:
        self.counts.resets_received += 1
        some = items(part(ies, "ResetType"), "partOfNG-Interface")
        self._send(messages.ng_reset_acknowledge(some))
        if some:
            self._cell.lose_some(some, now)
        else:
            self._cell.lose_all(now)

    def _reset_acknowledged(self, ies: Tree, _: float) -> None:
        if self._reset is None:
            self._violate(Kind.NGAP_RESET, "NG RESET ACKNOWLEDGE without a reset")
            return
        asked, self._reset = self._reset, None
        done = items(ies, "UE-associatedLogicalNG-connectionList")
        if asked and done != asked:
            text = f"a reset of {len(asked)} connections is acknowledged with {len(done)}"
            self._violate(Kind.NGAP_RESET, text)

    def _reconfigured(self, ies: Tree, _: float) -> None:
        """Handle AMF CONFIGURATION UPDATE (8.7.3): store the served GUAMIs and PLMNs."""
        self.counts.reconfigured += 1
        self._served(ies)
        self._send(messages.encode("AMFConfigurationUpdateAcknowledge"))

    def _not_updated(self, ies: Tree, _: float) -> None:
        text = f"RAN CONFIGURATION UPDATE FAILURE: {ies.get('Cause')}"
        self._violate(Kind.NGAP_UNEXPECTED, text)

    def _send(self, pdu: bytes) -> None:
        self._cell.send(NON_UE_STREAM, pdu)

    def _violate(self, kind: Kind, text: str) -> None:
        self._cell.violate(kind, text)
