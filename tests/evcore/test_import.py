"""`evcore subscriber import` of every format."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.evcore.shell import Shell
from tests.statestore import import_samples as samples

FILES: dict[str, tuple[str, str, list[str]]] = {
    "json": ("sims.json", json.dumps([samples.OWN]), ["imsi-001010000000001"]),
    "csv": ("sims.csv", samples.CSV, ["imsi-001010000000001", "imsi-001010000000002"]),
    "open5gs": (
        "export",  # as mongoexport writes it: one document a line
        "\n".join(json.dumps(samples.open5gs(f"99970000000000{n}")) for n in (1, 2)),
        ["imsi-999700000000001", "imsi-999700000000002"],
    ),
    "free5gc": (
        "collections.json",
        json.dumps(samples.free5gc_collections()),
        ["imsi-208930000000003"],
    ),
}


@pytest.fixture(autouse=True)
def keys_are_secret(evcore: Shell) -> None:
    keys = (samples.K, samples.OP, samples.OPC, samples.OPC_OF_OP)
    evcore.keys |= {bytes.fromhex(key) for key in keys}


def listed(evcore: Shell) -> list[str]:
    return [one["supi"] for one in evcore.ok("subscriber", "list", "--json").documents]


@pytest.mark.parametrize("form", FILES)
@pytest.mark.parametrize("told", [True, False])
def test_a_file_of_each_format(evcore: Shell, home: Path, form: str, told: bool) -> None:
    name, text, supis = FILES[form]
    (home / name).write_text(text)
    said = evcore.ok("subscriber", "import", name, *(["--format", form] if told else []))
    some = "1 subscriber" if len(supis) == 1 else f"{len(supis)} subscribers"
    assert said.out == f"imported {some} (format {form})\n"
    assert listed(evcore) == supis


def test_standard_input(evcore: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(FILES["csv"][1].encode())))
    assert evcore.ok("subscriber", "import", "-").out == "imported 2 subscribers (format csv)\n"


def test_the_same_file_again_changes_nothing(evcore: Shell, home: Path) -> None:
    (home / "sims.csv").write_text(samples.CSV)
    for _ in range(2):
        evcore.ok("subscriber", "import", "sims.csv")
    versions = [one["version"] for one in evcore.ok("subscriber", "list", "--json").documents]
    assert versions == [1, 1]


def test_what_is_not_supported_is_named_once(evcore: Shell, home: Path) -> None:
    documents = [samples.open5gs(f"9997000000000{n:02}", msisdn=["1"]) for n in range(30)]
    (home / "export").write_text(json.dumps(documents))
    said = evcore.ok("subscriber", "import", "export")
    (note,) = [line for line in said.err.splitlines() if "msisdn" in line]
    assert note.endswith("msisdn is not supported and was left out (and 29 more)")


def test_all_problems_of_a_file_and_nothing_stored(evcore: Shell, home: Path) -> None:
    lines = ["supi,k,opc,sst", f"00101000000000x,{samples.K},{samples.OPC},1"]
    lines += [f"0010100000000{n:02},{samples.K[:-1]},{samples.OPC},1" for n in range(30)]
    lines += [f"001010000000099,{samples.K},{samples.OPC},1"]
    (home / "sims.csv").write_text("\n".join(lines))
    said = evcore("subscriber", "import", "sims.csv")
    assert (said.status, said.out) == (1, "")
    first, second, *_, last = said.err.splitlines()
    assert first == "evcore: sims.csv: line 2: supi is not an IMSI of 6 to 15 digits"
    assert second == (
        "evcore: sims.csv: line 3 (imsi-001010000000000): "
        "k is not a string of 32 hexadecimal digits"
    )
    assert last == "evcore: and 11 more problems"
    assert list(home.iterdir()) == [home / "sims.csv"], "nothing is stored"


@pytest.mark.parametrize(
    ("octets", "sentence"),
    [
        (b"", "line 1: the column 'supi' or 'imsi' is missing"),
        (b"[]", "the file holds no subscribers"),
        (b"[{]", "line 1, column 3: this is not JSON"),
        (b"[[1]]", "record 1: it is not an object"),
        (b"\xff\xfe", "the file is not UTF-8 text: octet 0 is wrong"),
        (b"supi,k,opc,sst,colour\n", "'colour'"),
        (b"supi,k,opc\n\0", "the column 'sst' is missing"),
    ],
)
def test_a_file_that_is_nothing(evcore: Shell, home: Path, octets: bytes, sentence: str) -> None:
    (home / "sims").write_bytes(octets)
    said = evcore.refused("subscriber", "import", "sims")
    assert said.startswith("sims: ")
    assert sentence in said


def test_a_key_in_the_wrong_place_is_not_told(evcore: Shell, home: Path) -> None:
    wrong: list[Any] = [
        {**samples.OWN, "supi": samples.K},
        {**samples.OWN, "k": [samples.K]},
        {**samples.OWN, samples.K: 1},
        {**samples.OWN, "sqn": samples.K},
        {**samples.OWN, "slices": [{"sst": samples.K}]},
        {**samples.OWN, "slices": [{"sst": 1, "dnns": [{"name": f"{samples.K} {samples.OPC}"}]}]},
    ]
    for document in wrong:
        (home / "sims.json").write_text(json.dumps(document))
        assert evcore("subscriber", "import", "sims.json").status == 1
    columns = ("supi", "k", "opc", "sst", "sd", "dnns", "sqn", "amf", "uplink", "barred")
    for column in columns:
        row = {"supi": "001010000000001", "k": samples.K, "opc": samples.OPC, "sst": "1"}
        row[column] = f"{samples.K}{samples.OPC}"
        (home / "sims.csv").write_text(f"{','.join(row)}\n{','.join(row.values())}\n")
        assert evcore("subscriber", "import", "sims.csv").status == 1


def test_files_that_cannot_be_read(evcore: Shell, home: Path) -> None:
    assert evcore.refused("subscriber", "import", "none") == "none: No such file or directory"
    assert evcore.refused("subscriber", "import", home) == f"{home}: Is a directory"
    sentence = evcore.refused("subscriber", "import", "x", "--format", "xml", status=2)
    assert sentence.startswith("invalid value for '--format': 'xml' is not one of 'json', 'csv'")
