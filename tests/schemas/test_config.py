"""evcore.toml and the secrets: each error is one sentence that says where it is."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.config import reading
from schemas.config.reading import Config, ConfigError, Secrets
from schemas.identity import Guami, SNssai
from schemas.network import TrackingArea, version_of

WHOLE = """
[amf]
name = "amf-1"
plmn = "310-410"
region = 2
set = 3
pointer = 4
[[tracking_area]]
tac = 1
slices = ["1-010203", "2"]
[[tracking_area]]
tac = 1
plmn = "001-01"
slices = ["1-0A0b0C"]
ims_vops = false
[security]
integrity = [3, 1]
ciphering = [0]
[timers]
t3512 = 54000
t3550 = 2
[n2]
transport = "userspace-udp"
port = 1
[nats]
partitions = 1024
"""


def write(folder: Path, text: str | bytes, name: str = "evcore.toml") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_without_a_file_all_has_its_default(tmp_path: Path) -> None:
    assert reading.load(None) == Config() == reading.load(write(tmp_path, ""))


@pytest.mark.parametrize("name", ["evcore.toml", "evcore.json"])
def test_a_whole_file(tmp_path: Path, name: str) -> None:
    text = json.dumps(tomllib.loads(WHOLE)) if name.endswith("json") else WHOLE
    found = reading.load(write(tmp_path, text, name))
    network = reading.network_of(found, bytes(32))
    assert network.guami == Guami("310-410", 2, 3, 4)
    assert network.tracking_areas == (
        TrackingArea(1, "310-410", (SNssai(1, "010203"), SNssai(2))),
        TrackingArea(1, "001-01", (SNssai(1, "0a0b0c"),), ims_vops=False),
    )
    assert (network.timers.t3512, network.timers.t3560) == (54_000, 6)
    assert found.nats.partitions == 1024


def test_the_order_of_ies_by_gnb(tmp_path: Path) -> None:
    text = """
[n2]
ie_order = "strict"
[[gnb]]
id = "001-01-gnb-22-3fffff"
ie_order = "lenient"
[[gnb]]
id = "310-410-ngenb-20-0"
"""
    network = reading.network_of(reading.load(write(tmp_path, text)), bytes(32))
    names = ("001-01-gnb-22-3fffff", "310-410-ngenb-20-0", "001-01-gnb-24-1")
    assert [network.ie_order_of(name) for name in names] == ["lenient", "strict", "strict"]
    assert reading.network_of(Config(), bytes(32)).ie_order_of("001-01-gnb-24-1") == "lenient"


WRONG: dict[str, str] = {
    "[amf": r"Expected '\]' at the end of a table declaration",
    "x = 1": "Object contains unknown field `x`",
    "[amf]\nnaem = 'x'": r"Object contains unknown field `naem` - at `\$\.amf`",
    "[amf]\nregion = 'x'": r"Expected `int`, got `str` - at `\$\.amf\.region`",
    "[amf]\nregion = 256": r"Expected `int` <= 255 - at `\$\.amf\.region`",
    "[amf]\nset = -1": r"Expected `int` >= 0 - at `\$\.amf\.set`",
    "[amf]\npointer = 64": r"Expected `int` <= 63 - at `\$\.amf\.pointer`",
    "[amf]\nrelative_capacity = 256": r"`\$\.amf\.relative_capacity`",
    "[amf]\nplmn = '00101'": "plmn '00101' is not written as \"001-01\"",
    "[amf]\nplmn = '001-1'": "plmn '001-1' is not written as",
    "[amf]\nplmn = '\u0661\u0661\u0661-01'": "is not written as",
    "tracking_area = []": r"Expected `array` of length >= 1 - at `\$\.tracking_area`",
    "[[tracking_area]]\ntac = 16777216\nslices = []": r"`\$\.tracking_area\[0\]\.tac`",
    "[[tracking_area]]\ntac = 1\nslices = ['1']\n" * 2: "tracking area 1 is configured twice",
    "".join(
        f"[[tracking_area]]\ntac = 1\nslices = ['1']\nplmn = '00{n}-01'\n" for n in range(2, 10)
    )
    + "".join(
        f"[[tracking_area]]\ntac = 1\nslices = ['1']\nplmn = '01{n}-01'\n" for n in range(4)
    ): "13 PLMNs, but an AMF serves at most 12",
    "[amf]\nequivalent_plmns = ['001-1']": "equivalent_plmns: '001-1' is not written as",
    "[amf]\nequivalent_plmns = ['001-02', '001-02']": "has amf.plmn, or a PLMN twice",
    "[amf]\nequivalent_plmns = ['001-01']": "amf.equivalent_plmns has amf.plmn",
    f"[amf]\nequivalent_plmns = {[f'310-{n:02}' for n in range(16)]}": "16 PLMNs, but UEs store at",
    "[[tracking_area]]\ntac = 1\nslices = ['256']": "'256' is not a slice: SST 0 to 255",
    "[[tracking_area]]\ntac = 1\nslices = ['\u00b2']": "is not a slice",
    "[[tracking_area]]\ntac = 1\nslices = ['1-01']": "'1-01' is not a slice",
    "[[tracking_area]]\ntac = 1": "Object missing required field `slices`",
    "[security]\nintegrity = [0]": "NIA0",
    "[security]\nintegrity = []": r"length >= 1 - at `\$\.security\.integrity`",
    "[security]\nciphering = [4]": r"<= 3 - at `\$\.security\.ciphering\[0\]`",
    "[congestion]\nt3346_min = 90\nt3346_max = 60": "t3346_min is more than congestion.t3346_max",
    "[causes]\nunknown_subscriber = 22": "subscriber is 22, but must be one of 3, 7, 11, 12, 13",
    "[causes]\nunknown_tracking_area = 3": "area is 3, but must be one of 11, 12, 13, 15",
    "[causes]\nundecipherable_suci = 0": "causes.undecipherable_suci is 0, but must be one of",
    "[causes]\nremoved_subscriber = 96": "causes.removed_subscriber is 96, but must be one of",
    "[causes]\nunknown = 3": r"Object contains unknown field `unknown` - at `\$\.causes`",
    "[congestion]\nafter = -1": r">= 0.0 - at `\$\.congestion\.after`",
    "[congestion]\nafter = 15.5": r"<= 15.0 - at `\$\.congestion\.after`",
    "[timers]\nt3512 = 63": "timers.t3512 is 63 s, and must be up to 31 times",
    "[timers]\nt3512 = -60": r">= 1 - at `\$\.timers\.t3512`",
    "[timers]\nt3550 = 0": r">= 1 - at `\$\.timers\.t3550`",
    "[n2]\nport = 65536": r"<= 65535 - at `\$\.n2\.port`",
    "[n2]\nudp_port = -1": r"`\$\.n2\.udp_port`",
    "[n2]\nie_order = 'any'": r"Invalid enum value 'any' - at `\$\.n2\.ie_order`",
    "[[gnb]]\nie_order = 'strict'": "Object missing required field `id`",
    "[[gnb]]\nid = '001-01-gnb-24-1'\nweight = 0": r">= 0.01 - at `\$\.gnb\[0\]\.weight`",
    "[[gnb]]\nid = '001-01-gnb-24-1'\nname = 'x'": "unknown field `name`",
    "[[gnb]]\nid = '001-01-gnb-24-1'\n" * 2: "gnb 001-01-gnb-24-1 is configured twice",
    **{
        f"[[gnb]]\nid = '{text}'": f"gnb.id '{text}' is not written as \"001-01-gnb-24-1f\""
        for text in (
            "gnb-1",
            "001-1-gnb-24-1",
            "001-01-gnb-21-1",
            "001-01-gnb-33-1",
            "001-01-gnb-22-400000",
            "001-01-gnb-24-01",
            "001-01-gnb-24-1F",
            "001-01-ngenb-19-1",
            "001-01-n3iwf-16-1",
        )
    },
    "[n2]\nmax_under_way = 0": r"`\$\.n2\.max_under_way`",
    "[n2]\nmax_associations = 0": r"`\$\.n2\.max_associations`",
    "[n2]\nmax_per_address = 70000": r"`\$\.n2\.max_per_address`",
    '[[gnb]]\nid = "001-01-gnb-24-1"\naddresses = ["10.0.0.1/8"]': "the network is 10.0.0.0/8",
    '[[gnb]]\nid = "001-01-gnb-24-1"\naddresses = ["gnb"]': "neither an address nor a network",
    "[n2]\nsetup_within = 0.1": r"`\$\.n2\.setup_within`",
    "[nats]\npartitions = 0": r">= 1 - at `\$\.nats\.partitions`",
    "[nats]\npartitions = 1025": r"<= 1024 - at `\$\.nats\.partitions`",
    "[nats]\nreplicas = 0": r"`\$\.nats\.replicas`",
    "[nats]\nmax_bytes = 0": r"`\$\.nats\.max_bytes`",
}


def refused(path: Path) -> str:
    """Return the error message for a file."""
    with pytest.raises(ConfigError) as error:
        reading.load(path)
    sentence = str(error.value)
    assert sentence.startswith(f"{path}: ")
    assert "\n" not in sentence
    return sentence.removeprefix(f"{path}: ")


@pytest.mark.parametrize("text", list(WRONG), ids=lambda text: ascii(text)[:40])
def test_what_is_wrong_is_told_in_a_sentence(tmp_path: Path, text: str) -> None:
    assert re.search(WRONG[text], refused(write(tmp_path, text)))


def test_what_cannot_be_read(tmp_path: Path) -> None:
    assert refused(tmp_path / "none.toml") == "No such file or directory"
    assert refused(tmp_path) == "Is a directory"
    assert refused(write(tmp_path, b"\xff\xfe")) == "the file is not UTF-8 text"
    assert refused(write(tmp_path, b"\xff", "x.json"))
    assert refused(write(tmp_path, "{", "x.json"))


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode), st.booleans())
def test_no_file_does_anything_else(tmp_path: Path, octets: bytes, is_json: bool) -> None:
    path = write(tmp_path, octets, "f.json" if is_json else "f.toml")
    try:
        reading.load_secrets(path, {})
        reading.load(path)
    except ConfigError as err:
        assert str(err).startswith(f"{path}: ")


KEY = "ab" * 32


def test_secrets_come_from_the_file_and_before_it_from_the_environment(tmp_path: Path) -> None:
    path = write(tmp_path, f'master_key = "{KEY}"\ntmsi_key = "x"')
    found = reading.load_secrets(path, {"EVCORE_TMSI_KEY": KEY})
    assert (found.master_key, found.tmsi_key) == (KEY, KEY)
    assert reading.load_secrets(None, {}) == Secrets()
    assert reading.key_of(KEY, "master_key") == bytes.fromhex(KEY)


@pytest.mark.parametrize("text", ["", "ab", "x" * 64, "ab" * 33, "\u0661" * 64])
def test_a_key_that_is_none_is_not_repeated(text: str) -> None:
    with pytest.raises(ConfigError) as error:
        reading.key_of(text, "master_key")
    sentence = str(error.value)
    assert "master_key" in sentence
    assert not text or text not in sentence.replace("hexadecimal", "").replace("master_key", "")


@pytest.mark.parametrize(
    "keys",
    [
        [{"id": 1, "profile": "C", "private_key": KEY}],
        [{"id": 256, "profile": "A", "private_key": KEY}],
        [{"id": 1, "profile": "A", "private_key": KEY}] * 2,
    ],
)
def test_home_network_keys_that_cannot_be_used(tmp_path: Path, keys: list[Any]) -> None:
    path = write(tmp_path, json.dumps({"home_network_keys": keys}), "secrets.json")
    with pytest.raises(ConfigError) as error:
        reading.load_secrets(path, {})
    assert str(error.value).startswith(f"{path}: ")
    assert KEY not in str(error.value)


def test_the_version_of_a_network_is_that_of_its_values() -> None:
    one = reading.network_of(Config(), bytes(32))
    assert version_of(one) == version_of(reading.network_of(Config(), bytes(32)))
    assert version_of(one) != version_of(reading.network_of(Config(), bytes(31) + b"\x01"))
