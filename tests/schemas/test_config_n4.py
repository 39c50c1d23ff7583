"""The tables [n4], [[upf]] and [[data_network]]."""

import json
import re
from pathlib import Path

import msgspec
import pytest

from schemas.config import reading
from schemas.config.reading import Config, N4Config
from schemas.identity import SNssai
from schemas.network import DataNetwork, UpfNode, UpfPool, version_of
from tests.schemas.test_config import refused, write

WHOLE = """
[n4]
host = "0.0.0.0"
address = "192.0.2.1"
t1 = 0.5
n1 = 5
heartbeat = 2
max_requests = 16
[[upf]]
node_id = "10.0.0.1"
slices = ["1-0A0b0C"]
capacity = 7
n3_instance = "n3.example"
[[upf.dnn]]
name = "internet"
ipv4 = "10.45.0.0/16"
ipv6 = "2001:DB8:0::/48"
[[upf.dnn]]
name = "ims"
ipv4 = "10.45.0.0/16"
[[upf]]
node_id = "UPF-2.example.org."
host = "10.0.0.1"
port = 8806
n3 = "2001:DB8::0:3"
[[upf.dnn]]
name = "internet"
ipv4 = "10.46.0.0/16"
[[data_network]]
name = "internet"
dns = ["192.0.2.53", "2001:DB8::53"]
mtu = 1400
p_cscf = ["192.0.2.60", "2001:DB8::60"]
[[data_network]]
name = "ims"
[timers]
t3513 = 2
n4 = 9
"""


@pytest.mark.parametrize("way", ["toml", "json"])
def test_a_whole_file(tmp_path: Path, way: str) -> None:
    found = reading.load(write(tmp_path, WHOLE))
    if way == "json":
        # As the local core writes it for its processes.
        octets = msgspec.json.encode(found)
        found = reading.load(write(tmp_path, octets, "evcore.json"))
    network = reading.network_of(found, bytes(32))
    assert network.n4_address == "192.0.2.1"
    assert network.upfs == (
        UpfNode(
            "10.0.0.1",
            (
                UpfPool("internet", "10.45.0.0/16", "2001:db8::/48"),
                UpfPool("ims", "10.45.0.0/16"),
            ),
            (SNssai(1, "0a0b0c"),),
            7,
            n3_instance="n3.example",
        ),
        UpfNode("upf-2.example.org", (UpfPool("internet", "10.46.0.0/16"),), n3="2001:db8::3"),
    )
    assert network.data_networks == (
        DataNetwork(
            "internet",
            ("192.0.2.53", "2001:db8::53"),
            1400,
            ("192.0.2.60", "2001:db8::60"),
        ),
        DataNetwork("ims"),
    )
    assert (network.timers.t3513, network.timers.n4) == (2, 9)
    assert found.n4 == N4Config("0.0.0.0", 8805, "192.0.2.1", 0.5, 5, 2, 16)  # noqa: S104 - no socket


def test_without_upfs_the_network_is_what_it_was() -> None:
    network = reading.network_of(Config(n4=N4Config("10.1.1.1")), bytes(32))
    assert version_of(network) == version_of(reading.network_of(Config(), bytes(32)))
    assert network.n4_address == ""


def upf(dnn: str = "", *, node_id: str = "10.0.0.1", more: str = "") -> str:
    table = f"[[upf.dnn]]\nname = 'internet'\n{dnn}\n" if dnn else ""
    return f"[[upf]]\nnode_id = '{node_id}'\n{more}\n{table}"


def network(more: str) -> str:
    return f"[[data_network]]\nname = 'internet'\n{more}\n"


WRONG: dict[str, str] = {
    "[n4]\nport = 0": r"`\$\.n4\.port`",
    "[n4]\nt1 = 0": r"`\$\.n4\.t1`",
    "[n4]\nn1 = -1": r"`\$\.n4\.n1`",
    "[n4]\nheartbeat = 0": r"`\$\.n4\.heartbeat`",
    "[n4]\nmax_requests = 0": r"`\$\.n4\.max_requests`",
    "[n4]\naddress = 'core'": "n4.address 'core' is not an IP address",
    "[n4]\nhost = '0.0.0.0'\n" + upf(): "n4.address must be set.*n4.host, which is '0.0.0.0'",
    "[n4]\nhost = 'core'\n" + upf(): "n4.address must be set",
    "[n4]\naddress = '::'\n" + upf(): "n4.address must be set",
    "[[upf]]\nhost = 'x'": "missing required field `node_id`",
    upf(node_id=""): r"length >= 1 - at `\$\.upf\[0\]\.node_id`",
    upf(node_id="a b"): "upf.node_id 'a b' is neither an IP address nor a domain name",
    upf(node_id="a_b"): "neither an IP address nor a domain name",
    upf(node_id="-a"): "neither an IP address nor a domain name",
    upf(node_id="a..b"): "neither an IP address nor a domain name",
    upf() + upf(more="port = 1"): "two UPFs have the node_id 10.0.0.1",
    upf(node_id="::1") + upf(node_id="0:0::1"): "two UPFs have the node_id 0:0::1",
    upf(node_id="UPF") + upf(node_id="upf."): "two UPFs have the node_id upf.",
    upf() + upf(node_id="b", more="host = '10.0.0.1'"): (
        "the UPFs 10.0.0.1 and b are both at 10.0.0.1, port 8805"
    ),
    upf(more="slices = ['256']"): "'256' is not a slice",
    upf(more="n3 = 'n3.example'"): "upf 10.0.0.1: n3 'n3.example' is not an IP address",
    upf(more="n3 = '0.0.0.0'"): "upf 10.0.0.1: n3 '0.0.0.0' is not an IP address of a host",
    upf(more="addresses = ['gw.example']"): (
        "upf 10.0.0.1: addresses has 'gw.example', which is neither an address nor a network"
    ),
    upf(more="addresses = ['fe80::1%eth0']"): "'fe80::1%eth0', which is neither an address nor a",
    upf(more="addresses = ['10.1.0.0/33']"): "'10.1.0.0/33', which is neither an address nor a",
    upf(more="addresses = ['10.1.0.7/16']"): (
        "addresses has 10.1.0.7/16, which has host bits set; the network is 10.1.0.0/16"
    ),
    upf(more="addresses = ['0.0.0.0/0']"): "addresses has 0.0.0.0/0, which is every address",
    upf(more="capacity = -1"): r"`\$\.upf\[0\]\.capacity`",
    upf("ipv4 = '10.0.0.0/33'"): (
        "upf 10.0.0.1, dnn internet: ipv4 '10.0.0.0/33' is not a network such as \"10.45.0.0/16\""
    ),
    upf("ipv4 = '10.0.0.0'"): "ipv4 '10.0.0.0' is not a network",
    upf("ipv4 = '10.0.0.0/255.0.0.0'"): "is not a network",
    upf("ipv4 = '2001:db8::/48'"): "is not a network",
    upf("ipv6 = '10.0.0.0/16'"): "ipv6 '10.0.0.0/16' is not a network such as \"2001:db8::/48\"",
    upf("ipv4 = '10.45.0.1/16'"): "10.45.0.1/16 has host bits set; the network is 10.45.0.0/16",
    upf("ipv6 = '2001:db8::1/48'"): "has host bits set; the network is 2001:db8::/48",
    upf("ipv6 = '2001:db8::/65'"): "2001:db8::/65 is too small for a /64",
    upf("\n"): "upf 10.0.0.1, dnn internet has neither ipv4 nor ipv6",
    upf("ipv4 = '10.0.0.0/8'\n[[upf.dnn]]\nname = 'internet'\nipv4 = '11.0.0.0/8'"): (
        "upf 10.0.0.1, dnn internet is configured twice"
    ),
    "[[upf]]\nnode_id = 'a'\n[[upf.dnn]]\nname = 'a b'\nipv4 = '10.0.0.0/8'": (
        "upf a: 'a b' is not a DNN"
    ),
    upf("ipv4 = '10.0.0.0/8'") + upf("ipv4 = '10.45.0.0/16'", node_id="b"): (
        "10.45.0.0/16 of internet at upf b overlaps 10.0.0.0/8 at 10.0.0.1"
    ),
    upf("ipv6 = '2001:db8::/48'") + upf("ipv6 = '2001:db8::/64'", node_id="b"): "overlaps",
    network("dns = ['dns']"): "data_network internet: dns 'dns' is not an IP address",
    network("dns = ['fe80::1%eth0']"): "internet: dns 'fe80::1%eth0' is not an IP address",
    network("p_cscf = ['ims.example']"): "internet: p_cscf 'ims.example' is not an IP address",
    network(f"p_cscf = {['192.0.2.1'] * 9}"): r"length <= 8 - at `\$\.data_network\[0\]\.p_cscf`",
    upf(more="n3_instance = 'a b'"): (
        "upf 10.0.0.1: n3_instance 'a b' is neither a domain name nor a DNN"
    ),
    "[timers]\nt3396 = 3601": r"<= 3600 - at `\$\.timers\.t3396`",
    network("mtu = 1279"): r">= 1280 - at `\$\.data_network\[0\]\.mtu`",
    network("mtu = 65536"): r"<= 65535 - at `\$\.data_network\[0\]\.mtu`",
    network("") + network(""): "data_network internet is configured twice",
    network("")
    + "[[data_network]]\nname = 'INTERNET'": "data_network INTERNET is configured twice",
    "[[data_network]]\nname = '-'": "data_network.name '-' is not a DNN",
    "[timers]\nt3513 = 0": r"`\$\.timers\.t3513`",
}


@pytest.mark.parametrize("text", list(WRONG), ids=lambda text: json.dumps(text)[:60])
def test_what_is_wrong_is_told_in_a_sentence(tmp_path: Path, text: str) -> None:
    assert re.search(WRONG[text], refused(write(tmp_path, text)))


def test_other_dnns_may_have_the_same_addresses(tmp_path: Path) -> None:
    other = "[[upf.dnn]]\nname = 'ims'\nipv4 = '10.0.0.0/8'"
    path = write(tmp_path, upf("ipv4 = '10.0.0.0/8'\n" + other))
    assert len(reading.load(path).upf[0].dnn) == 2
