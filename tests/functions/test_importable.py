"""No subscription that can be imported, and no configuration that can be read, makes a decision
raise or leave an output out."""

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from schemas.aggregates import ue_aggregate
from schemas.config import reading
from schemas.network import Network, UpfPool
from schemas.subscriber import GBR_5QIS, MAX_RATE, PduSessionType, Subscriber
from statestore.importers import Format, read_subscribers
from tests.functions.site import MESSAGE, Site
from tests.functions.world import N4_NETWORK, OPC, OTHER_SLICE, SLICE, K

LONGEST = "a" * 63 + "." + "b" * 35
NAMES = ("internet", "ims", "x", "A-1.b-2", LONGEST)
POOLS = tuple(
    UpfPool(name, f"10.{50 + index}.0.0/24", f"2001:db8:{index}::/56")
    for index, name in enumerate(NAMES)
)
SERVED = replace(N4_NETWORK, upfs=tuple(replace(upf, pools=POOLS) for upf in N4_NETWORK.upfs[:1]))

RATES = st.one_of(
    st.integers(1, MAX_RATE),
    st.sampled_from([1, 999, 65_535_001, 66_001_000, 1_073_741_824, MAX_RATE - 1, MAX_RATE]),
    st.integers(1, 4_000_000).map(lambda tenths: f"{tenths / 10} Mbps"),
)
AMBRS = st.fixed_dictionaries({"uplink": RATES, "downlink": RATES})
DNNS = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(NAMES)},
        optional={
            "session_types": st.lists(st.sampled_from([*PduSessionType]), unique=True),
            "ambr": AMBRS,
            "five_qi": st.integers(1, 254).filter(lambda number: number not in GBR_5QIS),
            "arp_priority": st.integers(1, 15),
            "arp_preemption_capability": st.booleans(),
            "arp_preemption_vulnerability": st.booleans(),
        },
    ),
    max_size=4,
    unique_by=lambda dnn: str(dnn["name"]),
)
_OTHERS = st.tuples(st.integers(0, 255), st.none() | st.binary(min_size=3, max_size=3))
_KNOWN = st.sampled_from([(SLICE.sst, bytes.fromhex(SLICE.sd or "")), (OTHER_SLICE.sst, None)])
SLICES = st.lists(
    st.tuples(st.one_of(_KNOWN, _KNOWN, _OTHERS), st.booleans(), DNNS),
    min_size=1,
    max_size=12,
    unique_by=lambda one: (one[0][0], one[0][1] if one[0][1] != b"\xff\xff\xff" else None),
)
RECORDS = st.fixed_dictionaries(
    {"slices": SLICES},
    optional={
        "ambr": AMBRS,
        "sqn": st.integers(0, 2**48 - 1),
        "amf": st.sampled_from(["8000", "ffff"]),
        "forbidden_tacs": st.lists(st.integers(3, 2**24 - 1), max_size=20),
    },
)


def imported(record: dict[str, Any]) -> Subscriber:
    slices = [
        {
            "sst": sst,
            **({"sd": sd.hex()} if sd is not None else {}),
            "default": default,
            "dnns": dnns,
        }
        for (sst, sd), default, dnns in record["slices"]
    ]
    known = {"supi": "imsi-001010000000001", "k": K.hex(), "opc": OPC.hex()}
    octets = json.dumps({**record, **known, "slices": slices}).encode()
    (found,) = read_subscribers(octets, Format.JSON).subscribers
    return found


def live(site: Site) -> None:
    """Let the UE request each DNN, become idle, come back and be paged."""
    names = {dnn.name for one in site.world.subscribers[site.phone.supi].slices for dnn in one.dnns}
    psi = 0
    for name in sorted(names):
        for kind in ("ipv4", "ipv4v6", "ethernet"):
            psi = psi % 15 + 1
            site.ask(psi, psi, {"dnn": name}, **{"pdu-session-type": kind, **OPTIONS})
            setup = site.hear()[-1]
            if setup[MESSAGE] == "PDUSessionResourceSetupRequest":
                site.set_up("PDUSessionResourceSetup", psi)
    have = [one.id for one in site.world.ue().sessions]
    site.idle()
    site.service_request(**{"uplink-data-status": have} if have else {})
    site.set_up("InitialContextSetup", *(have or [1]))
    site.phone.say(site.phone.deregistration())
    site.phone.hear()
    site.phone.ngap("UEContextReleaseComplete")
    site.upfs.serve()


OPTIONS: dict[str, Any] = {
    "extended-protocol-configuration-options": [
        "dns-server-ipv4-address-request",
        "dns-server-ipv6-address-request",
        "p-cscf-ipv4-address-request",
        "p-cscf-ipv6-address-request",
        "ipv4-link-mtu-request",
    ]
}


def left_out(site: Site) -> list[str]:
    """Return the notes about outputs that could not be encoded."""
    return [
        str(event.text)
        for step in site.world.steps[ue_aggregate(site.phone.supi)]
        for event in step.events
        if "left out" in getattr(event, "text", "")
    ]


_SLOW = settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@_SLOW
@given(RECORDS)
@example(
    {
        "slices": [
            (
                (SLICE.sst, bytes.fromhex(SLICE.sd or "")),
                True,
                [{"name": LONGEST, "ambr": {"uplink": "300.3 Mbps", "downlink": "66.001 Mbps"}}],
            )
        ],
        "sqn": 2**48 - 1,
    }
)
def test_no_importable_subscription_makes_a_decision_raise(record: dict[str, Any]) -> None:
    subscriber = imported(record)
    allowed = {one.nssai for one in subscriber.slices} & {SLICE, OTHER_SLICE}
    if not allowed or subscriber.sqn > 2**48 - 2**6:
        subscriber = replace(subscriber, sqn=0)
    if not allowed:
        return
    requested = [{"sst": one.sst, **({"sd": one.sd} if one.sd else {})} for one in sorted(allowed)]
    site = Site(tac=2, requested=requested, network=SERVED, about=subscriber)
    live(site)
    assert left_out(site) == []
    assert not any(step.poisoned for step in site.world.steps[ue_aggregate(site.phone.supi)])


# Configurations

_PRINTABLE = st.text(st.characters(max_codepoint=0xFFFF, categories=["L", "N", "P", "S"]))
ADDRESSES = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)).map(str)
FILES = st.fixed_dictionaries(
    {
        "amf": st.fixed_dictionaries(
            {},
            optional={
                "full_name": _PRINTABLE.map(lambda text: text[:63]),
                "short_name": _PRINTABLE.map(lambda text: text[:63]),
                "time_zone": st.sampled_from(["", "Europe/Berlin", "Asia/Kolkata", "Etc/GMT+12"]),
                "relative_capacity": st.integers(0, 255),
            },
        ),
        "data_network": st.lists(
            st.fixed_dictionaries(
                {"name": st.sampled_from(NAMES)},
                optional={
                    "dns": st.lists(ADDRESSES, max_size=8),
                    "p_cscf": st.lists(ADDRESSES, max_size=8),
                    "mtu": st.integers(1280, 65_535),
                },
            ),
            max_size=5,
            unique_by=lambda one: str(one["name"]).lower(),
        ),
        "timers": st.fixed_dictionaries(
            {},
            optional={
                "t3396": st.integers(0, 3600),
                "t3512": st.sampled_from([2, 62, 930, 1860, 18_600, 111_600, 1_116_000]),
            },
        ),
        "n3_instance": st.sampled_from(["", "n3", LONGEST]),
    }
)


def read(file: dict[str, Any]) -> Network:
    """Return the network of a configuration file, with the UPFs of `SERVED`."""
    instance = file["n3_instance"]
    tables = {name: table for name, table in file.items() if name != "n3_instance"}
    tables["upf"] = [{"node_id": SERVED.upfs[0].node_id, "n3_instance": instance}]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "evcore.json"
        path.write_text(json.dumps(tables))
        found = reading.network_of(reading.load(path), bytes(32))
    upfs = tuple(replace(upf, n3_instance=found.upfs[0].n3_instance) for upf in SERVED.upfs)
    return replace(
        SERVED,
        nitz=found.nitz,
        relative_capacity=found.relative_capacity,
        timers=found.timers,
        data_networks=found.data_networks,
        upfs=upfs,
    )


@_SLOW
@given(FILES)
def test_no_readable_configuration_makes_a_decision_raise(file: dict[str, Any]) -> None:
    names = [{"name": name} for name in ("internet", LONGEST)]
    subscriber = imported({"slices": [((SLICE.sst, bytes.fromhex(SLICE.sd or "")), True, names)]})
    site = Site(network=read(file), about=subscriber)
    live(site)
    assert left_out(site) == []
