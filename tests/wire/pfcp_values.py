"""The value of every IE of N4 that pycrate handles correctly, in the form of `wire` and of
pycrate."""

from ipaddress import IPv4Address, IPv6Address
from typing import Any

from hypothesis import strategies as st

Both = tuple[Any, Any]
"""A value in a tree, and in pycrate's form."""


def bits(count: int) -> st.SearchStrategy[int]:
    edges = st.sampled_from([0, 1, 2**count - 1])
    return st.integers(0, 2**count - 1) | edges


names = st.text(
    st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="."),
    min_size=1,
    max_size=20,
)
octets = st.binary(max_size=40)
ipv4 = bits(32).map(IPv4Address)
ipv6 = bits(128).map(IPv6Address)


def number(count: int, name: str | None = "Val") -> st.SearchStrategy[Both]:
    """A number of `count` bits, which pycrate holds in a field or bare."""
    return bits(count).map(lambda n: (n, n if name is None else {name: n}))


def text() -> st.SearchStrategy[Both]:
    return st.text(min_size=1, max_size=20).map(lambda t: (t, t.encode()))


def flags(*known: str, octets: int = 1, fewest: int = 1) -> st.SearchStrategy[Both]:
    """A bit map in `octets` octets. `known` names its bits from bit 1 of the first octet; "" is
    spare."""

    def both(chosen: set[str]) -> Both:
        found: dict[str, dict[str, int]] = {f"Octet{i + 1}": {} for i in range(octets)}
        for place, name in enumerate(known):
            if name:
                found[f"Octet{place // 8 + 1}"][name] = int(name in chosen)
        value = [name for name in known if name in chosen]
        last = max([fewest, *(known.index(name) // 8 + 1 for name in chosen)])
        if octets == 1:
            return value, found["Octet1"]
        return value, {name: found[name] for name in list(found)[:last]}

    return st.sets(st.sampled_from([name for name in known if name])).map(both)


def words(name: str, *known: str, first: int = 0) -> st.SearchStrategy[Both]:
    """An enumeration, which pycrate holds in a field."""
    return st.sampled_from(list(enumerate(known, first))).map(lambda w: (w[1], {name: w[0]}))


def optional(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


def record(**parts: Any) -> dict[str, Any]:
    """Return the parts that are not None."""
    return {name: part for name, part in parts.items() if part is not None}


def _cause(code: int, word: str) -> Both:
    return word, code


CAUSES = st.sampled_from(
    [
        _cause(1, "Request accepted"),
        _cause(2, "More Usage Report to send"),
        _cause(3, "Request partially accepted"),
        _cause(64, "Request rejected (reason not specified)"),
        _cause(65, "Session context not found"),
        _cause(66, "Mandatory IE missing"),
        _cause(67, "Conditional IE missing"),
        _cause(68, "Invalid length"),
        _cause(69, "Mandatory IE incorrect"),
        _cause(72, "No established PFCP Association"),
        _cause(73, "Rule creation/modification Failure"),
        _cause(75, "No resources available"),
        _cause(79, "All dynamic addresses are occupied"),
        _cause(200, 200),  # pyright: ignore[reportArgumentType]
    ]
)


@st.composite
def addressed(draw: st.DrawFn, *, least: int = 1) -> tuple[Any, Any, dict[str, Any]]:
    """An IPv4 and an IPv6 address, and pycrate's flags and fields for them."""
    four, six = draw(optional(ipv4)), draw(optional(ipv6))
    if least and four is None and six is None:
        four = draw(ipv4)
    fields: dict[str, Any] = {"V4": int(four is not None), "V6": int(six is not None)}
    if four is not None:
        fields["IPv4Addr"] = four.packed
    if six is not None:
        fields["IPv6Addr"] = six.packed
    return four and str(four), six and str(six), fields


@st.composite
def f_seid(draw: st.DrawFn) -> Both:
    four, six, fields = draw(addressed())
    seid = draw(bits(64))
    return record(seid=seid, ipv4=four, ipv6=six), fields | {"SEID": seid}


@st.composite
def f_teid(draw: st.DrawFn) -> Both:
    if draw(st.booleans()):
        chosen = draw(st.sampled_from([["V4"], ["V6"], ["V4", "V6"]]))
        choose_id = draw(optional(bits(8)))
        fields: dict[str, Any] = {"CH": 1, "V4": int("V4" in chosen), "V6": int("V6" in chosen)}
        if choose_id is not None:
            fields |= {"CHID": 1, "CHOOSE_ID": choose_id}
        return record(choose=chosen, choose_id=choose_id), fields
    four, six, fields = draw(addressed())
    teid = draw(bits(32))
    return record(teid=teid, ipv4=four, ipv6=six), fields | {"TEID": teid}


@st.composite
def ue_ip_address(draw: st.DrawFn) -> Both:
    four, six, fields = draw(addressed(least=0))
    destination = draw(st.booleans())
    choose: list[str] = []
    if four is None and draw(st.booleans()):
        choose.append("V4")
    if six is None and draw(st.booleans()):
        choose.append("V6")
    delegated = length = None
    if six or "V6" in choose:
        delegated, length = draw(st.sampled_from([(None, None), (8, None), (None, 56)]))
    fields |= {"SD": int(destination), "CHV4": int("V4" in choose), "CHV6": int("V6" in choose)}
    if delegated is not None:
        fields |= {"IPv6D": 1, "IPv6PrefDeleg": delegated}
    if length is not None:
        fields |= {"IP6PL": 1, "IPv6PrefLen": length}
    value = record(
        ipv4=four,
        ipv6=six,
        destination=destination or None,
        choose=choose or None,
        ipv6_prefix_delegation_bits=delegated,
        ipv6_prefix_length=length,
    )
    return value, fields


@st.composite
def node_id(draw: st.DrawFn) -> Both:
    match draw(st.integers(0, 2)):
        case 0:
            address: Any = draw(ipv4)
            return {"ipv4": str(address)}, {"Type": 0, "Val": address.packed}
        case 1:
            address = draw(ipv6)
            return {"ipv6": str(address)}, {"Type": 1, "Val": address.packed}
        case _:
            labels = draw(st.lists(names, min_size=1, max_size=4))
            val = [{"Val": label.encode()} for label in labels]
            return {"fqdn": ".".join(labels)}, {"Type": 2, "Val": val}


@st.composite
def domain_name(draw: st.DrawFn) -> Both:
    labels = draw(st.lists(names, min_size=1, max_size=4))
    return ".".join(labels), [{"Val": label.encode()} for label in labels]


@st.composite
def smf_set_id(draw: st.DrawFn) -> Both:
    name, labels = draw(domain_name())
    return {"fqdn": name}, {"FQDN": labels}


@st.composite
def outer_header_creation(draw: st.DrawFn) -> Both:
    known = {
        "GTP-U/UDP/IPv4": "GTPU_UDP_IPv4",
        "GTP-U/UDP/IPv6": "GTPU_UDP_IPv6",
        "UDP/IPv4": "UDP_IPv4",
        "UDP/IPv6": "UDP_IPv6",
        "IPv4": "IPv4",
        "IPv6": "IPv6",
        "C-TAG": "CTAG",
        "S-TAG": "STAG",
        "N19 Indication": "N19",
        "N6 Indication": "N6",
    }
    chosen = draw(st.sets(st.sampled_from(list(known)), min_size=1))
    fields: dict[str, Any] = {known[name]: 1 for name in chosen}
    value: dict[str, Any] = {"description": [name for name in known if name in chosen]}
    if chosen & {"GTP-U/UDP/IPv4", "GTP-U/UDP/IPv6"}:
        value["teid"] = fields["TEID"] = draw(bits(32))
    if chosen & {"GTP-U/UDP/IPv4", "UDP/IPv4", "IPv4"}:
        address: Any = draw(ipv4)
        value["ipv4"], fields["IPv4Addr"] = str(address), address.packed
    if chosen & {"GTP-U/UDP/IPv6", "UDP/IPv6", "IPv6"}:
        address = draw(ipv6)
        value["ipv6"], fields["IPv6Addr"] = str(address), address.packed
    if chosen & {"UDP/IPv4", "UDP/IPv6"}:
        value["port"] = fields["Port"] = draw(bits(16))
    for name, part, field in ("C-TAG", "c_tag", "VLAN_CTAG"), ("S-TAG", "s_tag", "VLAN_STAG"):
        if name in chosen:
            tag = draw(st.binary(min_size=3, max_size=3))
            value[part], fields[field] = tag.hex(), tag
    return value, fields


@st.composite
def outer_header_removal(draw: st.DrawFn) -> Both:
    known = ["GTP-U/UDP/IPv4", "GTP-U/UDP/IPv6", "UDP/IPv4", "UDP/IPv6", "IPv4", "IPv6"]
    known += ["GTP-U/UDP/IP", "VLAN S-TAG", "S-TAG and C-TAG"]
    number_ = draw(st.integers(0, len(known) - 1))
    if number_ != 6:
        return {"description": known[number_]}, {"Desc": number_}
    container = draw(st.booleans())
    value = {"description": known[6], "pdu_session_container": container}
    return value, {"Desc": 6, "GTPUExtHdrDel": {"PDUSessionContainer": int(container)}}


@st.composite
def sdf_filter(draw: st.DrawFn) -> Both:
    """Without a flow label, because pycrate has no length for it."""
    description = draw(optional(st.text(min_size=1, max_size=60)))
    tos = draw(optional(st.binary(min_size=2, max_size=2)))
    spi = draw(optional(st.binary(min_size=4, max_size=4)))
    number_ = draw(optional(bits(32)))
    fields: dict[str, Any] = {}
    if description is not None:
        fields |= {"FD": 1, "FlowDesc": {"Val": description.encode()}}
    if tos is not None:
        fields |= {"TTC": 1, "ToSTrafficClass": tos}
    if spi is not None:
        fields |= {"SPI": 1, "SecurityParameterIndex": spi}
    if number_ is not None:
        fields |= {"BID": 1, "SDFFilterID": number_}
    value = record(
        flow_description=description,
        tos_traffic_class=tos and tos.hex(),
        security_parameter_index=spi and spi.hex(),
        filter_id=number_,
    )
    return value, fields


@st.composite
def gates(draw: st.DrawFn) -> Both:
    known = ["OPEN", "CLOSED"]
    up, down = draw(st.integers(0, 1)), draw(st.integers(0, 1))
    return {"uplink": known[up], "downlink": known[down]}, {"ULGate": up, "DLGate": down}


@st.composite
def rates(draw: st.DrawFn) -> Both:
    up, down = draw(bits(40)), draw(bits(40))
    return {"uplink": up, "downlink": down}, {"UL": up, "DL": down}


def present(**parts: tuple[str, str, int]) -> st.SearchStrategy[Both]:
    """Numbers, each with its flag: part=(flag, field, bits)."""

    @st.composite
    def both(draw: st.DrawFn) -> Both:
        value: dict[str, Any] = {}
        fields: dict[str, Any] = {}
        for name, (flag, field, count) in parts.items():
            drawn = draw(optional(bits(count)))
            fields[flag] = int(drawn is not None)
            if drawn is not None:
                value[name] = fields[field] = drawn
        return value, fields

    return both()


VOLUME = present(
    total=("TOVOL", "Total", 64),
    uplink=("ULVOL", "Uplink", 64),
    downlink=("DLVOL", "Downlink", 64),
)
VOLUME_MEASUREMENT = present(
    total=("TOVOL", "TotalVolume", 64),
    uplink=("ULVOL", "UplinkVolume", 64),
    downlink=("DLVOL", "DownlinkVolume", 64),
    total_packets=("TONOP", "TotalNumPackets", 64),
    uplink_packets=("ULNOP", "UplinkNumPackets", 64),
    downlink_packets=("DLNOP", "DownlinkNumPackets", 64),
)


@st.composite
def timer(draw: st.DrawFn) -> Both:
    units = {
        "2 seconds": 0,
        "1 minute": 1,
        "10 minutes": 2,
        "1 hour": 3,
        "10 hours": 4,
        5: 5,
        "infinite": 7,
    }
    unit, value = draw(st.sampled_from(list(units))), draw(bits(5))
    return {"unit": unit, "value": value}, {"TimerUnit": units[unit], "TimerVal": value}


@st.composite
def downlink_data_service_information(draw: st.DrawFn) -> Both:
    paging, qfi = draw(optional(bits(6))), draw(optional(bits(6)))
    fields: dict[str, Any] = {"PPI": int(paging is not None), "QFII": int(qfi is not None)}
    if paging is not None:
        fields["PagingPolicyInd"] = {"Val": paging}
    if qfi is not None:
        fields["QFI"] = {"Val": qfi}
    return record(paging_policy_indication=paging, qfi=qfi), fields


@st.composite
def failed_rule(draw: st.DrawFn) -> Both:
    sizes = {"PDR": 16, "FAR": 32, "QER": 32, "URR": 32, "BAR": 8, "MAR": 16, "SRR": 8}
    rule = draw(st.sampled_from(list(sizes)))
    number_ = draw(bits(sizes[rule]))
    fields = {"RuleIDType": list(sizes).index(rule), "RuleIDVal": number_}
    return {"rule": rule, "id": number_}, fields


@st.composite
def redirect_information(draw: st.DrawFn) -> Both:
    known = ["IPv4 address", "IPv6 address", "URL", "SIP URI", "IPv4 and IPv6 addresses"]
    kind = draw(st.integers(0, 4))
    address, other = draw(names), draw(names)
    value = {"type": known[kind], "address": address}
    fields = {"RedirectAccessType": kind, "RedirectServerAddr": {"Val": address}}
    if kind == 4:
        value["other_address"], fields["OtherRedirectServerAddr"] = other, {"Val": other}
    return value, fields


@st.composite
def flow_information(draw: st.DrawFn) -> Both:
    known = ["Unspecified", "Downlink", "Uplink", "Bidirectional"]
    direction, description = draw(st.integers(0, 3)), draw(st.text(max_size=60))
    value = {"direction": known[direction], "description": description}
    return value, {"FlowDir": direction, "FlowDesc": description.encode()}


@st.composite
def pfd_contents(draw: st.DrawFn) -> Both:
    single = {
        "flow_description": ("FD", "FlowDesc"),
        "url": ("U", "URL"),
        "domain_name": ("DN", "DomainName"),
        "custom": ("CP", "CustomPFDContent"),
        "domain_name_protocol": ("DNP", "DomainNameProtocol"),
    }
    lists = {
        "additional_flow_descriptions": ("AFD", "AdditionalFlowDesc"),
        "additional_urls": ("AU", "AdditionalURL"),
        "additional_domain_names_and_protocols": ("ADNP", "AdditionalDomainNameAndProtocol"),
    }
    value: dict[str, Any] = {}
    fields: dict[str, Any] = {}
    for part, (flag, field) in single.items():
        drawn = draw(optional(st.text(max_size=10)))
        if drawn is not None:
            value[part] = drawn
            fields |= {flag: 1, field: {"Val": drawn.encode()}}
    for part, (flag, field) in lists.items():
        entries = draw(optional(st.lists(st.text(max_size=10), max_size=3)))
        if entries is not None:
            value[part] = entries
            vals = [{"Val": entry.encode()} for entry in entries]
            fields |= {flag: 1, field: {"Vals": vals}}
    return value, fields


@st.composite
def remote_peer(draw: st.DrawFn) -> Both:
    four, six, fields = draw(addressed())
    interface, instance = draw(optional(octets)), draw(optional(st.text(max_size=20)))
    if interface is not None:
        fields |= {"DI": 1, "DestinationInterface": {"Val": interface}}
    if instance is not None:
        fields |= {"NI": 1, "NetworkInstance": {"Val": instance.encode()}}
    value = record(
        ipv4=four,
        ipv6=six,
        destination_interface=None if interface is None else interface.hex(),
        network_instance=instance,
    )
    return value, fields


@st.composite
def user_id(draw: st.DrawFn) -> Both:
    """The parts that pycrate knows. A later release added SUPI, GPSI and PEI."""
    value: dict[str, Any] = {}
    fields: dict[str, Any] = {}
    for part in ("imsi", "imei", "msisdn"):
        drawn = draw(optional(octets))
        if drawn is not None:
            value[part] = drawn.hex()
            fields |= {f"{part.upper()}F": 1, part.upper(): {"Val": drawn}}
    nai = draw(optional(st.text(max_size=20)))
    if nai is not None:
        value["nai"] = nai
        fields |= {"NAIF": 1, "NAI": {"Val": nai.encode()}}
    return value, fields


@st.composite
def mac_address(draw: st.DrawFn) -> Both:
    parts = {
        "source": ("SOUR", "SrcMACAddr"),
        "destination": ("DEST", "DstMACAddr"),
        "upper_source": ("USOU", "UpperSrcMACAddr"),
        "upper_destination": ("UDES", "UpperDstMACAddr"),
    }
    value: dict[str, Any] = {}
    fields: dict[str, Any] = {}
    for part, (flag, field) in parts.items():
        drawn = draw(optional(st.binary(min_size=6, max_size=6)))
        if drawn is not None:
            value[part] = drawn.hex()
            fields |= {flag: 1, field: drawn}
    return value, fields


@st.composite
def mac_addresses(draw: st.DrawFn) -> Both:
    """Without tags, because pycrate has only their octets."""
    drawn = draw(st.lists(st.binary(min_size=6, max_size=6), max_size=4))
    return {"addresses": [address.hex() for address in drawn]}, {"Addrs": drawn}


@st.composite
def packet_rate(draw: st.DrawFn) -> Both:
    units = ["minute", "6 minutes", "hour", "day", "week"]

    def limit() -> Both:
        unit, packets = draw(st.integers(0, 4)), draw(bits(16))
        return {"unit": units[unit], "packets": packets}, {"TimeUnit": unit, "PacketRate": packets}

    value: dict[str, Any] = {}
    up, down, more = draw(st.tuples(st.booleans(), st.booleans(), st.booleans()))
    more = more and (up or down)
    fields: dict[str, Any] = {"ULPR": int(up), "DLPR": int(down), "APRC": int(more)}
    for there, part, field in (
        (up, "uplink", "Uplink"),
        (down, "downlink", "Downlink"),
        (up and more, "additional_uplink", "AddUplink"),
        (down and more, "additional_downlink", "AddDownlink"),
    ):
        if there:
            value[part], fields[field] = limit()
    return value, fields


@st.composite
def entity_address(draw: st.DrawFn) -> Both:
    four, six, fields = draw(addressed())
    return record(ipv4=four, ipv6=six), fields


@st.composite
def identity(draw: st.DrawFn) -> Both:
    name = draw(st.text(max_size=20))
    return name, {"Val": name.encode()}


@st.composite
def policy(draw: st.DrawFn) -> Both:
    name = draw(st.text(max_size=40))
    return {"identifier": name}, {"ID": name.encode()}


@st.composite
def dropped(draw: st.DrawFn) -> Both:
    """With both parts, because pycrate requires them."""
    packets, octets_ = draw(bits(64)), draw(bits(64))
    value = {"packets": packets, "octets_of_data": octets_}
    return value, {"DLPA": 1, "DLBY": 1, "DLPackets": packets, "NumBytesDLData": octets_}


@st.composite
def s_nssai(draw: st.DrawFn) -> Both:
    sst, sd = draw(bits(8)), draw(bits(24))
    return {"sst": sst, "sd": f"{sd:06x}"}, {"SST": sst, "SD": sd}


def two(*fields: tuple[str, str, int]) -> st.SearchStrategy[Both]:
    """Numbers that are always present: (part, field, bits)."""
    drawn = st.tuples(*(bits(count) for _, _, count in fields))
    parts, names_ = [part for part, _, _ in fields], [field for _, field, _ in fields]
    return drawn.map(
        lambda found: (dict(zip(parts, found, strict=True)), dict(zip(names_, found, strict=True)))
    )


@st.composite
def usage_reports(draw: st.DrawFn) -> Both:
    auri, number_ = draw(st.booleans()), draw(bits(15))
    value = {"number": number_} | ({"auri": True} if auri else {})
    return value, {"AURI": int(auri), "Num": number_}


@st.composite
def time_quota(draw: st.DrawFn) -> Both:
    kind, interval = draw(st.integers(0, 1)), draw(bits(32))
    value = {"base_time_interval_type": ["CTP", "DTP"][kind], "base_time_interval": interval}
    return value, {"BTIT": kind, "BaseTimeInterval": interval}


@st.composite
def multiplier(draw: st.DrawFn) -> Both:
    digits, exponent = draw(st.integers(-(2**63), 2**63 - 1)), draw(st.integers(-9, 9))
    value = {"value_digits": digits, "exponent": exponent}
    return value, {"ValueDigits": digits, "Exponent": exponent}


@st.composite
def packet_rate_status(draw: st.DrawFn) -> Both:
    up, down, more = draw(st.tuples(st.booleans(), st.booleans(), st.booleans()))
    more = more and (up or down)
    value: dict[str, Any] = {}
    fields: dict[str, Any] = {"UL": int(up), "DL": int(down), "APR": int(more)}
    for there, part, field in (
        (up, "uplink", "NumRemainUplinkPacketsAllowed"),
        (up and more, "additional_uplink", "NumRemainAddUplinkPacketsAllowed"),
        (down, "downlink", "NumRemainDownlinkPacketsAllowed"),
        (down and more, "additional_downlink", "NumRemainAddDownlinkPacketsAllowed"),
    ):
        if there:
            value[part] = fields[field] = draw(bits(16))
    if up or down:
        time = draw(bits(64))
        value["validity_time"], fields["RateCtrlStatusValidityTime"] = f"{time:016x}", time
    return value, fields


@st.composite
def flow_marking(draw: st.DrawFn) -> Both:
    tos = draw(optional(st.binary(min_size=2, max_size=2)))
    service = draw(optional(st.binary(min_size=2, max_size=2)))
    fields: dict[str, Any] = {}
    if tos is not None:
        fields |= {"TTC": 1, "ToSTrafficClass": tos}
    if service is not None:
        fields |= {"SCI": 1, "ServiceClassInd": service}
    value = record(
        tos_traffic_class=tos and tos.hex(), service_class_indicator=service and service.hex()
    )
    return value, fields


@st.composite
def fq_csid(draw: st.DrawFn) -> Both:
    """With the node type that a later release added, because pycrate requires it."""
    csids = draw(st.lists(bits(16), max_size=15))
    node_type = draw(bits(4))
    match draw(st.integers(0, 2)):
        case 0:
            address: Any = draw(ipv4)
            where, packed = {"ipv4": str(address)}, address.packed
        case 1:
            address = draw(ipv6)
            where, packed = {"ipv6": str(address)}, address.packed
        case _:
            packed = draw(st.binary(min_size=4, max_size=4))
            where = {"mcc_mnc": packed.hex()}
    value = where | {"csids": csids, "node_type": node_type}
    kind = ["ipv4", "ipv6", "mcc_mnc"].index(next(iter(where)))
    fields = {"NodeIDType": kind, "NodeAddr": packed, "CSIDs": csids, "NodeType": node_type}
    return value, fields


@st.composite
def marking(draw: st.DrawFn) -> Both:
    found = draw(st.binary(min_size=2, max_size=2))
    return found.hex(), {"ToSTrafficClass": found}


@st.composite
def trace(draw: st.DrawFn) -> Both:
    number_, depth = draw(bits(24)), draw(bits(8))
    events, interfaces = draw(octets), draw(octets)
    entity = draw(st.binary(min_size=4, max_size=4))
    value = {
        "plmn": "00f110",
        "trace_id": f"{number_:06x}",
        "triggering_events": events.hex(),
        "depth": depth,
        "interfaces": interfaces.hex(),
        "collection_entity": entity.hex(),
    }
    fields = {
        "PLMN": "00101",
        "TraceID": number_,
        "TriggeringEvents": {"Val": events},
        "SessionTraceDepth": depth,
        "ListOfInterfaces": {"Val": interfaces},
        "IPAdressOfTraceCollectionEntity": {"Val": entity},
    }
    return value, fields


U32, SECONDS = number(32), number(32)
INTERFACES = ["S1-U", "S5/S8-U", "S4-U", "S11-U", "S12-U", "Gn/Gp-U", "S2a-U", "S2b-U"]

VALUES: dict[str, st.SearchStrategy[Both]] = {
    "Cause": CAUSES,
    "Source Interface": words(
        "If", "Access", "Core", "SGi-LAN/N6-LAN", "CP-function", "5G VN Internal"
    ),
    "F-TEID": f_teid(),
    "Network Instance": text(),
    "SDF Filter": sdf_filter(),
    "Application ID": text(),
    "Gate Status": gates(),
    "MBR": rates(),
    "GBR": rates(),
    "QER Correlation ID": U32,
    "Precedence": U32,
    "Transport Level Marking": marking(),
    "Volume Threshold": VOLUME,
    "Time Threshold": U32,
    "Monitoring Time": SECONDS,
    "Subsequent Volume Threshold": VOLUME,
    "Subsequent Time Threshold": U32,
    "Inactivity Detection Time": U32,
    "Reporting Triggers": flags(
        *("PERIO", "VOLTH", "TIMTH", "QUHTI", "START", "STOPT", "DROTH", "LIUSA"),
        *("VOLQU", "TIMQU", "ENVCL", "MACAR", "EVETH", "EVEQU", "IPMJL", "QUVTI", "REEMR"),
        octets=3,
        fewest=3,
    ),
    "Redirect Information": redirect_information(),
    "Report Type": flags("DLDR", "USAR", "ERIR", "UPIR", "TMIR", "SESR", "UISR"),
    "Offending IE": number(16, None),
    "Forwarding Policy": policy(),
    "Destination Interface": words(
        *("Val", "Access", "Core", "SGi-LAN/N6-LAN", "CP-function", "LI Function"),
        "5G VN Internal",
    ),
    "UP Function Features": flags(
        *("BUCP", "DDND", "DLBD", "TRST", "FTUP", "PFDM", "HEEU", "TREU"),
        *("EMPU", "PDIU", "UDBC", "QUOAC", "TRACE", "FRRT", "PFDE", "EPFAR"),
        *("DPDRA", "ADPDP", "UEIP", "SSET", "MNOP", "MTE", "BUNDL", "GCOM"),
        *("MPAS", "RTTL", "VTIME", "NORP", "IPTV", "IP6PL", "TSCU", "MPTCP"),
        *("ATSSS-LL", "QFQM", "GPQM", "MT-EDT", "CIOT", "ETHAR", "DDDS", "RDS"),
        *("RTTWP", "QUASF", "NSPOC"),
        octets=6,
        fewest=2,
    ),
    "Apply Action": flags(
        *("DROP", "FORW", "BUFF", "NOCP", "DUPL", "IPMA", "IPMD", "DFRT"),
        *("EDRT", "BDPN", "DDPN"),
        octets=2,
        fewest=2,
    ),
    "Downlink Data Service Information": downlink_data_service_information(),
    "Downlink Data Notification Delay": number(8),
    "DL Buffering Duration": timer(),
    "DL Buffering Suggested Packet Count": st.integers(1, 65535).map(lambda n: (n, n)),
    "PFCPSMReq-Flags": flags("DROBU", "SNDEM", "QAURR"),
    "PFCPSRRsp-Flags": flags("DROBU"),
    "Sequence Number": number(32, None),
    "Metric": number(8, None),
    "Timer": timer(),
    "PDR ID": number(16),
    "F-SEID": f_seid(),
    "Node ID": node_id(),
    "PFD contents": pfd_contents(),
    "Measurement Method": flags("DURAT", "VOLUM", "EVENT"),
    "Usage Report Trigger": flags(
        *("PERIO", "VOLTH", "TIMTH", "QUHTI", "START", "STOPT", "DROTH", "IMMER"),
        *("VOLQU", "TIMQU", "LIUSA", "TERMR", "MONIT", "ENVCL", "MACAR", "EVETH"),
        *("EVEQU", "TEBUR", "IPMJL", "QUVTI", "EMRRE"),
        octets=3,
        fewest=3,
    ),
    "Measurement Period": U32,
    "Volume Measurement": VOLUME_MEASUREMENT,
    "Duration Measurement": U32,
    "Time of First Packet": SECONDS,
    "Time of Last Packet": SECONDS,
    "Quota Holding Time": U32,
    "Dropped DL Traffic Threshold": dropped(),
    "Volume Quota": VOLUME,
    "Time Quota": U32,
    "Start Time": SECONDS,
    "End Time": SECONDS,
    "URR ID": U32,
    "Linked URR ID": U32,
    "Outer Header Creation": outer_header_creation(),
    "BAR ID": number(8),
    "CP Function Features": flags(
        *("LOAD", "OVRL", "EPFAR", "SSET", "BUNDL", "MPAS", "ARDR", "UIAUR", "PSUCC"),
        octets=2,
    ),
    "Usage Information": flags("BEF", "AFT", "UAE", "UBE"),
    "Application Instance ID": text(),
    "Flow Information": flow_information(),
    "UE IP Address": ue_ip_address(),
    "Packet Rate": packet_rate(),
    "Outer Header Removal": outer_header_removal(),
    "Recovery Time Stamp": SECONDS,
    "DL Flow Level Marking": flow_marking(),
    "Measurement Information": flags("MBQE", "INAM", "RADI", "ISTM", "MNOP", "SSPOC", "ASPOC"),
    "Node Report Type": flags("UPFR", "UPRR", "CKDR", "GPQR"),
    "Remote GTP-U Peer": remote_peer(),
    "UR-SEQN": number(32, None),
    "Activate Predefined Rules": text(),
    "Deactivate Predefined Rules": text(),
    "FAR ID": U32,
    "QER ID": U32,
    "OCI Flags": flags("AOCI"),
    "PFCP Association Release Request": flags("SARR", "URSS"),
    "Graceful Release Period": timer(),
    "PDN Type": words("Val", "IPv4", "IPv6", "IPv4v6", "Non-IP", "Ethernet", first=1),
    "Failed Rule ID": failed_rule(),
    "Time Quota Mechanism": time_quota(),
    "User Plane Inactivity Timer": U32,
    "Multiplier": multiplier(),
    "Aggregated URR ID": number(32, None),
    "Subsequent Volume Quota": VOLUME,
    "Subsequent Time Quota": U32,
    "RQI": flags("RQI"),
    "QFI": number(6, "QFI"),
    "Query URR Reference": U32,
    "Additional Usage Reports Information": usage_reports(),
    "Traffic Endpoint ID": number(8),
    "MAC address": mac_address(),
    "Ethertype": number(16),
    "Proxying": flags("ARP", "INS"),
    "Ethernet Filter ID": U32,
    "Ethernet Filter Properties": flags("BIDE"),
    "Suggested Buffering Packets Count": number(8),
    "User ID": user_id(),
    "Ethernet PDU Session Information": flags("ETHI"),
    "MAC Addresses Detected": mac_addresses(),
    "MAC Addresses Removed": mac_addresses(),
    "Ethernet Inactivity Timer": U32,
    "Event Quota": U32,
    "Event Threshold": U32,
    "Subsequent Event Quota": U32,
    "Subsequent Event Threshold": U32,
    "Trace Information": trace(),
    "Framed-Route": text(),
    "Framed-Routing": number(32, None),
    "Framed-IPv6-Route": text(),
    "Time Stamp": SECONDS,
    "Averaging Window": U32,
    "Paging Policy Indicator": number(3, "PPI"),
    "APN/DNN": domain_name(),
    "3GPP Interface Type": words("Val", *INTERFACES),
    "PFCPSRReq-Flags": flags("PSDBU"),
    "PFCPAUReq-Flags": flags("PARPS"),
    "Activation Time": SECONDS,
    "Deactivation Time": SECONDS,
    "UE IP address Pool Identity": identity(),
    "Alternative SMF IP Address": entity_address(),
    "Packet Replication and Detection Carry-On Information": flags(
        "PRIUEAI", "PRIN19I", "PRIN6I", "DCARONI"
    ),
    "SMF Set ID": smf_set_id(),
    "Quota Validity Time": U32,
    "Number of Reports": number(16, None),
    "PFCPASRsp-Flags": flags("PSREI", "UUPSI"),
    "CP PFCP Entity IP Address": entity_address(),
    "PFCPSEReq-Flags": flags("RESTI"),
    "Packet Rate Status": packet_rate_status(),
    "Data Network Access Identifier": text(),
    "Average Packet Delay": U32,
    "Minimum Packet Delay": U32,
    "Maximum Packet Delay": U32,
    "QoS Report Trigger": flags("PER", "THR", "IRE"),
    "GTP-U Path Interface Type": flags("N9", "N3"),
    "Requested QoS Monitoring": flags("DL", "UL", "RP", "GTPUPM"),
    "Reporting Frequency": flags("EVETT", "PERIO", "SESRL"),
    "Packet Delay Thresholds": present(
        downlink=("DL", "DownlinkPacketDelayThreshold", 32),
        uplink=("UL", "UplinkPacketDelayThreshold", 32),
        round_trip=("RP", "RoundTripPacketDelayThreshold", 32),
    ),
    "Minimum Wait Time": U32,
    "QoS Monitoring Measurement": present(
        downlink_delay=("DL", "DownlinkPacketDelay", 32),
        uplink_delay=("UL", "UplinkPacketDelay", 32),
        round_trip_delay=("RP", "RoundTripPacketDelay", 32),
    ),
    "MT-EDT Control Information": flags("RDSI"),
    "DL Data Packets Size": number(16),
    "QER Control Indications": flags("RCSR"),
    "NF Instance ID": st.binary(min_size=16, max_size=16).map(lambda o: (o.hex(), o)),
    "S-NSSAI": s_nssai(),
    "PFCPASReq-Flags": flags("UUPSI"),
    "Data Status": flags("DROP", "BUFF"),
    "Number of UE IP Addresses": present(
        ipv4=("IPv4", "NumOfUEIPv4Addrs", 32), ipv6=("IPv6", "NumOfUEIPv6Addrs", 32)
    ),
    "Validity Timer": number(16),
    "Offending IE Information": st.tuples(bits(16), octets).map(
        lambda p: ({"type": p[0], "value": p[1].hex()}, {"Type": p[0], "Val": p[1]})
    ),
    "SRR ID": number(8),
    "FQ-CSID": fq_csid(),
    # A group of a TSC feature, which is kept as octets: a TSN Time Domain Number.
    "Clock Drift Report": st.just(({"octets": "00ce000105"}, bytes.fromhex("00ce000105"))),
}
"""By the name of the IE in `wire`."""
