"""Which packets pass between the interfaces N3 and N6 of a UPF (TS 29.244 8.2.4, 8.2.118)."""

from msgspec import Struct

from loadgen.upf.rules import Far, Pdr, RuleSet


class Interfaces(Struct, frozen=True):
    """The interfaces of a UPF, which the PDR and the FAR of a packet must match."""

    types: bool = False
    """Whether both need a 3GPP Interface Type (8.2.118)."""
    n3_instance: str | None = None
    """The Network Instance that those of the access side need (8.2.4); None for any."""

    def pass_uplink(self, pdr: Pdr, far: Far) -> bool:
        """Whether packets pass from N3 to N6."""
        typed = _is_n3(pdr.pdi.interface_type) and far.interface_type == "N6"
        return (typed or not self.types) and self._is_access(pdr.pdi.network_instance)

    def pass_downlink(self, pdr: Pdr, far: Far) -> bool:
        """Whether packets pass from N6 to N3."""
        typed = pdr.pdi.interface_type == "N6" and _is_n3(far.interface_type)
        return (typed or not self.types) and self._is_access(far.network_instance)

    def _is_access(self, instance: str | None) -> bool:
        return self.n3_instance is None or self.n3_instance == instance


def _is_n3(interface_type: str | int | None) -> bool:
    return isinstance(interface_type, str) and interface_type.startswith("N3 ")


ANY = Interfaces()
"""The interfaces of a UPF that asks for neither."""


def leaves(rules: RuleSet, interfaces: Interfaces = ANY) -> bool:
    """Whether an uplink packet of the UE of a session is forwarded."""
    uplink = [pdr for pdr in rules.pdrs.values() if pdr.pdi.uplink]
    pdr = min(uplink, key=lambda pdr: pdr.precedence, default=None)
    if pdr is None:
        return False
    far = rules.fars.get(pdr.far) if pdr.far is not None else None
    qers = [rules.qers[number] for number in pdr.qers if number in rules.qers]
    opened = all(qer.uplink_open for qer in qers)
    if far is None or not opened or "FORW" not in far.action or far.destination != "Core":
        return False
    return interfaces.pass_uplink(pdr, far)
