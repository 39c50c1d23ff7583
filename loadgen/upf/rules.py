"""The rules of a PFCP session, read from the IEs of the CP function (TS 29.244 7.5.2, 7.5.4)."""

import ipaddress
from typing import TypeAlias

from msgspec import Struct, structs

from loadgen.trees import Tree
from loadgen.upf.ies import (
    FTeid,
    Ies,
    every,
    first,
    flags_in,
    group,
    number_in,
    numbers_in,
    text_in,
    tree_in,
    words,
)

AddressKey: TypeAlias = tuple[str, str]
"""A network instance, and an IPv4 address or IPv6 prefix in it."""


class UeAddress(Struct, frozen=True):
    """The IE UE IP Address in a PDI (8.2.62)."""

    ipv4: str | None
    ipv6: str | None
    prefix_length: int
    destination: bool
    chosen_by_up: bool

    @classmethod
    def of(cls, tree: Tree) -> "UeAddress":
        """Read the IE; prefixes are /64 unless the IE has another length."""
        length = tree.get("ipv6_prefix_length")
        if not isinstance(length, int):
            delegated = tree.get("ipv6_prefix_delegation_bits")
            length = 64 - delegated if isinstance(delegated, int) else 64
        return cls(
            ipv4=tree.get("ipv4"),
            ipv6=tree.get("ipv6"),
            prefix_length=min(max(length, 0), 128),
            destination=bool(tree.get("destination")),
            chosen_by_up=bool(tree.get("choose")),
        )

    @property
    def keys(self) -> tuple[str, ...]:
        """The IPv4 address and the IPv6 prefix, as text."""
        found = [] if self.ipv4 is None else [self.ipv4]
        if self.ipv6 is not None:
            found.append(prefix_of(self.ipv6, self.prefix_length))
        return tuple(found)


def dnn_of(text: str) -> str:
    """Return the DNN of a Network Instance with encoded labels; empty for any other text."""
    octets, labels = text.encode(), list[str]()
    while octets:
        length = octets[0]
        label, octets = octets[1 : length + 1], octets[length + 1 :]
        if not length or len(label) < length:
            return ""
        labels.append(label.decode(errors="replace"))
    return ".".join(labels)


def prefix_of(address: str, length: int = 64) -> str:
    """Return the prefix of an IPv6 address."""
    return str(ipaddress.ip_network((address, length), strict=False))


class Pdi(Struct, frozen=True):
    """Packet Detection Information (table 7.5.2.2-2)."""

    source: str | int | None
    network_instance: str | None
    """The DNN; the text if it does not encode a DNN."""
    labels: bool
    """Whether it is encoded as a DNN (TS 23.003 9.1)."""
    f_teid: FTeid | None
    """The local F-TEID, given by the CP function or assigned by the UP function."""
    choose: frozenset[str]
    """``V4``, ``V6`` or both, for an F-TEID that the UP function must assign."""
    choose_id: int | None
    ue: tuple[UeAddress, ...]
    traffic_endpoint: bool
    interface_type: str | int | None
    """The Source Interface Type (8.2.118)."""

    @classmethod
    def of(cls, ies: Ies) -> "Pdi":
        """Read the members of the group."""
        f_teid = tree_in(ies, "F-TEID") or {}
        source = first(ies, "Source Interface")
        choose_id = f_teid.get("choose_id")
        instance = text_in(ies, "Network Instance")
        dnn = dnn_of(instance or "")
        return cls(
            source=source if isinstance(source, str | int) else None,
            network_instance=dnn or instance,
            labels=bool(dnn),
            f_teid=FTeid.of(f_teid),
            choose=words(f_teid.get("choose")),
            choose_id=choose_id if isinstance(choose_id, int) else None,
            ue=tuple(
                UeAddress.of(one) for one in every(ies, "UE IP Address") if "octets" not in one
            ),
            traffic_endpoint=bool(every(ies, "Traffic Endpoint ID")),
            interface_type=first(ies, "3GPP Interface Type"),
        )

    @property
    def uplink(self) -> bool:
        """Whether packets come from the access network (8.2.2)."""
        return self.source == "Access"

    @property
    def downlink(self) -> bool:
        """Whether packets come from the data network without a tunnel."""
        inner = self.source in ("Core", "SGi-LAN/N6-LAN")
        return inner and self.f_teid is None and not self.choose


class Pdr(Struct, frozen=True):
    """Packet Detection Rule (tables 7.5.2.2-1, 7.5.4.2-1)."""

    id: int
    precedence: int
    """The lowest value is applied first (8.2.11)."""
    pdi: Pdi
    removal: str | None
    """The description of the Outer Header Removal."""
    far: int | None
    qers: tuple[int, ...]
    urrs: tuple[int, ...]
    predefined: bool

    @classmethod
    def of(cls, number: int, ies: Ies, before: "Pdr | None" = None) -> "Pdr":
        """Read a Create PDR, or an Update PDR of the rule `before`."""
        precedence = number_in(ies, "Precedence")
        new = cls(
            id=number,
            precedence=0 if precedence is None else precedence,
            pdi=Pdi.of(group(ies, "PDI")),
            removal=_described(tree_in(ies, "Outer Header Removal")),
            far=number_in(ies, "FAR ID"),
            qers=numbers_in(ies, "QER ID"),
            urrs=numbers_in(ies, "URR ID"),
            predefined=bool(every(ies, "Activate Predefined Rules")),
        )
        if before is None:
            return new
        return cls(
            id=number,
            precedence=before.precedence if precedence is None else precedence,
            pdi=new.pdi if every(ies, "PDI") else before.pdi,
            removal=new.removal or before.removal,
            far=before.far if new.far is None else new.far,
            qers=new.qers or before.qers,
            urrs=new.urrs or before.urrs,
            predefined=new.predefined or before.predefined,
        )

    def assigned(self, f_teid: FTeid) -> "Pdr":
        """Return the rule with its assigned F-TEID."""
        pdi = structs.replace(self.pdi, f_teid=f_teid, choose=frozenset[str](), choose_id=None)
        return structs.replace(self, pdi=pdi)

    @property
    def keys(self) -> tuple[AddressKey, ...]:
        """The UE addresses of the downlink packets that match."""
        if not self.pdi.downlink:
            return ()
        instance = self.pdi.network_instance or ""
        return tuple((instance, key) for ue in self.pdi.ue for key in ue.keys)


def _described(removal: Tree | None) -> str | None:
    return None if removal is None else str(removal.get("description"))


class Far(Struct, frozen=True):
    """Forwarding Action Rule (tables 7.5.2.3-1, 7.5.4.3-1)."""

    id: int
    action: frozenset[str]
    forwarding: bool
    """Whether it has Forwarding Parameters."""
    destination: str | int | None
    header: frozenset[str]
    """The description of the Outer Header Creation."""
    target: FTeid | None
    """The tunnel in the Outer Header Creation."""
    bar: int | None
    interface_type: str | int | None
    """The Destination Interface Type (8.2.118)."""
    network_instance: str | None
    """The DNN or domain name; the text if it encodes neither."""

    @classmethod
    def of(cls, number: int, ies: Ies, before: "Far | None" = None) -> "Far":
        """Read a Create FAR, or an Update FAR of the rule `before`."""
        name = "Forwarding Parameters" if before is None else "Update Forwarding Parameters"
        parameters = group(ies, name)
        header = tree_in(parameters, "Outer Header Creation")
        destination = first(parameters, "Destination Interface")
        action = flags_in(ies, "Apply Action")
        bar = number_in(ies, "BAR ID")
        instance = text_in(parameters, "Network Instance")
        new = cls(
            id=number,
            action=action,
            forwarding=bool(every(ies, name)),
            destination=destination if isinstance(destination, str | int) else None,
            header=words((header or {}).get("description")),
            target=FTeid.of(header),
            bar=bar,
            interface_type=first(parameters, "3GPP Interface Type"),
            network_instance=dnn_of(instance or "") or instance,
        )
        if before is None:
            return new
        same_interface = new.destination is None
        return cls(
            id=number,
            action=new.action if every(ies, "Apply Action") else before.action,
            forwarding=before.forwarding or new.forwarding,
            destination=before.destination if same_interface else new.destination,
            header=before.header if header is None else new.header,
            target=before.target if header is None else new.target,
            bar=before.bar if bar is None else bar,
            interface_type=before.interface_type if same_interface else new.interface_type,
            network_instance=before.network_instance if instance is None else new.network_instance,
        )

    @property
    def to_access(self) -> bool:
        """Whether it forwards to the access network."""
        return "FORW" in self.action and self.destination == "Access"


class Qer(Struct, frozen=True):
    """QoS Enforcement Rule (tables 7.5.2.5-1, 7.5.4.5-1)."""

    id: int
    gate: bool
    """Whether it has a Gate Status."""
    uplink_open: bool
    downlink_open: bool
    limited: bool
    """Whether it has an MBR."""
    qfi: int | None

    @classmethod
    def of(cls, number: int, ies: Ies, before: "Qer | None" = None) -> "Qer":
        """Read a Create QER, or an Update QER of the rule `before`."""
        gate = tree_in(ies, "Gate Status")
        qfi = number_in(ies, "QFI")
        limited = tree_in(ies, "MBR") is not None
        if before is not None:
            limited = limited or before.limited
            qfi = before.qfi if qfi is None else qfi
            if gate is None:
                return structs.replace(before, limited=limited, qfi=qfi)
        opened = gate or {}
        return cls(
            id=number,
            gate=gate is not None,
            uplink_open=opened.get("uplink") == "OPEN",
            downlink_open=opened.get("downlink") == "OPEN",
            limited=limited,
            qfi=qfi,
        )


class RuleSet(Struct):
    """The rules of one session by number."""

    pdrs: dict[int, Pdr]
    fars: dict[int, Far]
    qers: dict[int, Qer]
    urrs: set[int]
    bars: set[int]

    @classmethod
    def empty(cls) -> "RuleSet":
        """Return a set without rules."""
        return cls({}, {}, {}, set(), set())

    def copy(self) -> "RuleSet":
        """Return a copy with its own tables."""
        return RuleSet(
            self.pdrs.copy(),
            self.fars.copy(),
            self.qers.copy(),
            self.urrs.copy(),
            self.bars.copy(),
        )

    @property
    def count(self) -> int:
        """The number of PDRs, FARs, QERs and URRs."""
        return len(self.pdrs) + len(self.fars) + len(self.qers) + len(self.urrs)

    @property
    def keys(self) -> set[AddressKey]:
        """The UE's addresses."""
        return {key for pdr in self.pdrs.values() for key in pdr.keys}

    @property
    def teids(self) -> dict[int, FTeid]:
        """The local F-TEIDs, by TEID."""
        found = (pdr.pdi.f_teid for pdr in self.pdrs.values())
        return {f_teid.number: f_teid for f_teid in found if f_teid is not None}
