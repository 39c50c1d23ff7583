"""An invalid load is refused in one sentence."""

from typing import Any

import msgspec
import pytest

from loadgen import ConfigError, LoadConfig, Population, Procedure


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"port": 0}, "port 0 and udp_port 9899 must be 1 to 65535"),
        ({"gnbs": 0}, "0 gNBs with IDs from 1 do not fit into 24 bits"),
        ({"first_gnb_id": (1 << 24) - 1, "gnbs": 2}, "do not fit into 24 bits"),
        ({"tac": 1 << 24}, "a TAC has 24 bits"),
        ({"slices": ()}, "a gNB must broadcast at least one"),
        ({"plmn": "20893"}, "plmn is '20893', not MCC-MNC such as '001-01'"),
        ({"plmns": ("001-01", "1")}, "plmns is '1', not MCC-MNC such as '001-01'"),
        ({"plmns": ("001-01", "001-01")}, "plmns is 001-01, 001-01, but needs 1 to 12 different"),
        ({"programme": ()}, "programme is empty"),
        ({"identities": ()}, "identities is empty"),
        ({"repeat": None}, "repeat or duration must be set"),
        ({"repeat": 0}, "repeat is 0, but must be at least 1"),
        ({"rate": 0.0}, "rate is 0.0"),
        ({"duration": -1.0}, "duration is -1.0, but must not be negative"),
        ({"think": -0.5}, "think is -0.5, but must not be negative"),
        ({"population": Population(count=0)}, "population.count is 0, but must be at least 1"),
    ],
)
def test_faults(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        LoadConfig(**changes).check()
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_default_is_a_load() -> None:
    LoadConfig().check()


def test_a_config_is_json_there_and_back() -> None:
    config = LoadConfig(rate=3.5, programme=(Procedure.REGISTER, Procedure.SWITCH_OFF))
    text = msgspec.json.encode(config)
    assert msgspec.json.decode(text, type=LoadConfig) == config
    with pytest.raises(msgspec.ValidationError, match="unknown field `uess`"):
        msgspec.json.decode(b'{"uess": 3}', type=LoadConfig)
