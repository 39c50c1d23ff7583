"""`evcore subscriber add`, `list`, `show` and `remove`."""

import asyncio
import json
from pathlib import Path

import pytest

from evcore.local.data import DEFAULT
from evcore.logs.access import opened
from schemas.identity import SNssai
from schemas.subscriber import Subscriber
from tests.evcore.shell import Shell
from tests.statestore.import_samples import OP, OPC, OPC_OF_OP, K

SUPI = "imsi-001010000000777"
KEYS = ("--k", K, "--opc", OPC)
OPC_OR_OP = "give OPc by --opc or a line opc=HEX, or OP by --op or a line op=HEX"


@pytest.fixture(autouse=True)
def keys_are_secret(evcore: Shell) -> None:
    evcore.keys |= {bytes.fromhex(key) for key in (K, OP, OPC, OPC_OF_OP)}


async def stored(supi: str) -> Subscriber:
    async with opened(DEFAULT, read_only=True) as access:
        found = await access.subscribers.get(supi)
    assert found is not None
    assert found.subscriber is not None
    return found.subscriber


def test_add_and_show(evcore: Shell) -> None:
    """The first command creates the data directory."""
    assert evcore.ok("subscriber", "add", SUPI, *KEYS).out == f"{SUPI}: version 1\n"
    shown = json.loads(evcore.ok("subscriber", "show", SUPI).out)
    assert shown == {
        "version": 1,
        "supi": SUPI,
        "k": "(secret)",
        "opc": "(secret)",
        "slices": [
            {
                "nssai": {"sst": 1, "sd": "010203"},
                "default": True,
                "dnns": [
                    {
                        "name": "internet",
                        "session_types": ["IPV4"],
                        "ambr": {"uplink": 1_000_000_000, "downlink": 1_000_000_000},
                        "five_qi": 9,
                        "arp_priority": 8,
                        "arp_preemption_capability": False,
                        "arp_preemption_vulnerability": False,
                    }
                ],
            }
        ],
        "amf": "8000",
        "sqn": 0,
        "ambr": {"uplink": 1_000_000_000, "downlink": 1_000_000_000},
        "barred": False,
        "forbidden_tacs": [],
        "rfsp": 0,
        "nr_allowed": True,
        "auth_method": "5G_AKA",
    }
    one = asyncio.run(stored(SUPI))
    assert (one.k.hex(), one.opc.hex(), one.sqn) == (K, OPC, 0)


def test_add_with_everything(evcore: Shell) -> None:
    more = ("--amf", "9001", "--sqn", 32, "--slices", "1-0A0B0C, 2", "--dnn", "ims.example")
    more = (*more, "--auth-method", "EAP_AKA_PRIME")
    evcore.ok("subscriber", "add", SUPI.removeprefix("imsi-"), "--k", K, "--op", OP, *more)
    one = asyncio.run(stored(SUPI))
    assert (one.opc.hex(), one.amf.hex(), one.sqn) == (OPC_OF_OP, "9001", 32)
    assert one.auth_method == "EAP_AKA_PRIME"
    assert [(s.nssai, s.default, s.dnns[0].name) for s in one.slices] == [
        (SNssai(1, "0a0b0c"), True, "ims.example"),
        (SNssai(2), False, "ims.example"),
    ]


def test_a_subscription_that_changes_has_a_new_version(evcore: Shell) -> None:
    evcore.ok("subscriber", "add", SUPI, *KEYS)
    assert evcore.ok("subscriber", "add", SUPI, *KEYS).out == f"{SUPI}: version 1\n"
    said = evcore.ok("subscriber", "add", SUPI, *KEYS, "--slices", "3")
    assert said.out == f"{SUPI}: version 2\n"


def test_list(evcore: Shell) -> None:
    for number in (3, 1, 2):
        evcore.ok("subscriber", "add", f"00101000000000{number}", *KEYS)
    heading, *rows = evcore.ok("subscriber", "list").lines
    assert heading.split() == ["SUPI", "version", "slices"]
    assert [row.split() for row in rows] == [
        [f"imsi-00101000000000{number}", "1", "1-010203"] for number in (1, 2, 3)
    ]
    first, *_ = evcore.ok("subscriber", "list", "--json").documents
    assert first == {"supi": "imsi-001010000000001", "version": 1, "slices": ["1-010203"]}


def test_remove(evcore: Shell) -> None:
    evcore.ok("subscriber", "add", SUPI, *KEYS)
    assert evcore.ok("subscriber", "remove", SUPI).out == f"{SUPI}: removed\n"
    assert evcore.ok("subscriber", "list", "--json").lines == []
    for command in ("show", "remove"):
        sentence = evcore.refused("subscriber", command, SUPI)
        assert sentence.startswith(f"there is no subscriber {SUPI}")
    assert evcore.ok("subscriber", "add", SUPI, *KEYS).out == f"{SUPI}: version 3\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((SUPI, "--k", K), OPC_OR_OP),
        ((SUPI, *KEYS, "--op", OP), OPC_OR_OP),
        (("imsi-12345", *KEYS), "'imsi-12345' is not a SUPI: imsi- and 6 to 15 digits"),
        ((K, *KEYS), "'(secret)' is not a SUPI: imsi- and 6 to 15 digits"),
        ((SUPI, "--k", K[:-1], "--opc", OPC), "k is not a string of 32 hexadecimal digits"),
        ((SUPI, "--k", K, "--opc", OPC + "00"), "opc is not a string of 32 hexadecimal digits"),
        (
            (SUPI, *KEYS, "--amf", "0000"),
            "amf is 0000, without the separation bit that 5G requires",
        ),
        ((SUPI, *KEYS, "--sqn", "-1"), "sqn is -1, not a number from 0 to 281474976710655"),
        (
            (SUPI, *KEYS, "--slices", "256"),
            "--slices: '256' is not a slice: SST 0 to 255, SD of six hexadecimal digits",
        ),
        ((SUPI, *KEYS, "--slices", "1,1"), "slices has the S-NSSAI 1 twice"),
        (
            (SUPI, *KEYS, "--dnn", "a b"),
            "slices[0].dnns[0].name is not a data network name",
        ),
        ((SUPI,), "give K by --key-file: FILE, or - for standard input"),
        ((SUPI, "--opc", OPC), "give K by --key-file: FILE, or - for standard input"),
    ],
)
def test_add_refuses(evcore: Shell, home: Path, arguments: tuple[str, ...], sentence: str) -> None:
    assert evcore.refused("subscriber", "add", *arguments, status=2) == sentence
    assert list(home.iterdir()) == [], "nothing is made before it is needed"


def test_home_keys_are_the_public_ones(evcore: Shell) -> None:
    assert evcore.refused("subscriber", "home-keys").startswith("there are no keys in .evcore")
    evcore.ok("subscriber", "add", SUPI, *KEYS)
    secrets = json.loads((DEFAULT / "secrets.json").read_text())
    evcore.keys |= {bytes.fromhex(key["private_key"]) for key in secrets["home_network_keys"]}
    a, b = evcore.ok("subscriber", "home-keys", "--json").documents
    assert (a["id"], a["profile"], len(a["public_key"])) == (1, "A", 64)
    assert (b["id"], b["profile"], len(b["public_key"])) == (2, "B", 66)
    assert a["public_key"] in evcore.ok("subscriber", "home-keys").out


def test_no_subscribers_yet(evcore: Shell) -> None:
    for command in (["list"], ["show", SUPI], ["remove", SUPI]):
        sentence = evcore.refused("subscriber", *command)
        assert sentence.startswith("there is no evcore data in .evcore")
