"""The table [emergency]: what is announced works (TS 23.501 5.16.4.1)."""

from pathlib import Path

import pytest

from schemas.config import reading
from schemas.config.reading import ConfigError
from schemas.identity import SNssai
from schemas.network import EmergencyServices

AREA = "[[tracking_area]]\ntac = {}\nslices = {}\n"
UPF = '[[upf]]\nnode_id = "10.0.0.1"\n[[upf.dnn]]\nname = "sos"\nipv4 = "10.99.0.0/24"\n'
N4 = '[n4]\naddress = "10.0.0.254"\n'
ON = "[amf]\nemergency = true\n"
DNN = '[emergency]\ndnn = "sos"\n'


def services(folder: Path, text: str) -> EmergencyServices | None:
    path = folder / "evcore.toml"
    path.write_text(text)
    return reading.network_of(reading.load(path), bytes(32)).emergency_services


def test_none_by_default(tmp_path: Path) -> None:
    assert services(tmp_path, "") is None
    assert services(tmp_path, DNN + N4 + UPF) is None


def test_the_slice_is_the_first_one_by_default(tmp_path: Path) -> None:
    found = services(tmp_path, ON + DNN + N4 + UPF)
    assert found == EmergencyServices("sos", SNssai(1, "010203"), 5, 1)


def test_all_set(tmp_path: Path) -> None:
    more = 'slice = "2"\nfive_qi = 8\narp_priority = 2\n'
    area = AREA.format(1, '["1", "2"]')
    found = services(tmp_path, ON + DNN + more + N4 + UPF + area)
    assert found == EmergencyServices("sos", SNssai(2), 8, 2)


WRONG = {
    ON: "amf.emergency is true, but emergency.dnn is not set",
    ON + DNN: "no upf has a dnn sos in slice 1-010203, for",
    ON + DNN.replace("sos", "ims") + N4 + UPF: "no upf has a dnn ims",
    ON + DNN.replace("sos", "a b") + N4 + UPF: "emergency.dnn 'a b' is not a DNN",
    ON + DNN + 'slice = "x"\n' + N4 + UPF: "'x' is not a slice",
    DNN.replace("sos", "a b"): "emergency.dnn 'a b' is not a DNN",
    DNN + 'slice = "x"\n': "'x' is not a slice",
    ON + DNN + N4 + UPF + AREA.format(1, '["1"]') + AREA.format(2, '["2"]'): (
        "tracking area 2 of 001-01 does not have 1, the slice of"
    ),
    ON + DNN + N4 + UPF.replace("[[upf.dnn]]", 'slices = ["7"]\n[[upf.dnn]]'): (
        "no upf has a dnn sos in slice 1-010203"
    ),
    ON + DNN + "five_qi = 1\n" + N4 + UPF: r"Expected `int` >= 5 - at `\$\.emergency\.five_qi`",
    ON + DNN + "arp_priority = 16\n" + N4 + UPF: r"<= 15 - at `\$\.emergency\.arp_priority`",
}


@pytest.mark.parametrize(("text", "message"), WRONG.items())
def test_what_would_not_work_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        services(tmp_path, text)
