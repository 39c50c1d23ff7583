"""`evcore log list`, `show` and `state` of a recorded log."""

import json

import pytest

from tests.evcore.recording import OTHER_UE, RAN, SUPI, UE, Recorded
from tests.evcore.shell import Shell


def test_the_recording_holds_keys(recorded: Recorded) -> None:
    """Otherwise no test could find a printed key."""
    assert len(recorded.keys) > 30
    assert {len(key) for key in recorded.keys} == {16, 32}


def test_list_shows_what_has_a_log(evcore: Shell, recorded: Recorded) -> None:
    said = evcore.ok("log", "list")
    heading, *rows = said.lines
    assert heading.split() == ["aggregate", "steps", "state"]
    assert {row.split()[0]: int(row.split()[1]) for row in rows} == recorded.heads
    assert "rm=DEREGISTERED cm=IDLE" in rows[1]
    assert "rm=REGISTERED cm=CONNECTED" in rows[2]


def test_list_by_the_beginning_of_a_name(evcore: Shell, recorded: Recorded) -> None:
    (ran,) = evcore.ok("log", "list", "gnb/", "--json").documents
    assert ran == {"aggregate": RAN, "steps": recorded.heads[RAN], "name": "gnb-1", "up": True}
    assert [one["aggregate"] for one in evcore.ok("log", "list", "ue/", "--json").documents] == [
        UE,
        OTHER_UE,
    ]
    assert evcore.ok("log", "list", "nothing/", "--json").lines == []


def test_a_upf(evcore: Shell, recorded: Recorded) -> None:
    (upf,) = evcore.ok("log", "list", "upf/", "--json").documents
    assert upf == {
        "aggregate": "upf/10.9.0.1",
        "steps": recorded.heads["upf/10.9.0.1"],
        "associated": False,
        "reachable": False,
        "trouble": "it does not answer heartbeats",
    }
    asked, answered, restarted, *_ = evcore.ok("log", "show", "upf/10.9.0.1", "--json").documents
    assert asked["trigger"]["data"] == {"upf": "10.9.0.1", "state": "served"}
    assert asked["outputs"][0]["pdu"]["message"] == "AssociationSetupRequest"
    assert answered["trigger"]["pfcp"]["message"] == "AssociationSetupResponse"
    assert restarted["changes"]["associated"] == [True, None]
    text = evcore.ok("log", "show", "upf/10.9.0.1").out
    assert "-> 10.9.0.1: AssociationSetupRequest" in text
    assert "<- AssociationSetupResponse" in text
    assert "<- no answer to AssociationSetupRequest" in text
    assert "<- SessionDeletionRequest ended by a restart of the UPF" in text


@pytest.mark.parametrize("name", [SUPI, SUPI.removeprefix("imsi-"), UE, SUPI.upper(), f" {SUPI} "])
def test_show_takes_a_supi_however_it_is_typed(
    evcore: Shell, recorded: Recorded, name: str
) -> None:
    steps = evcore.ok("log", "show", name, "--json").documents
    assert [step["seq"] for step in steps] == list(range(1, recorded.heads[UE] + 1))


def test_show_decodes_and_deciphers(evcore: Shell, recorded: Recorded) -> None:
    del recorded
    steps = evcore.ok("log", "show", SUPI, "--json").documents
    first = steps[0]
    assert first["trigger"]["partitionkey"] == SUPI
    assert first["trigger"]["nas"]["message-type"] == "registration-request"
    sent = [
        output["nas"]["message-type"]
        for step in steps
        for output in step["outputs"]
        if "nas" in output
    ]
    assert sent[:3] == ["authentication-request", "security-mode-command", "registration-accept"]
    complete = next(
        step
        for step in steps
        if step["trigger"].get("nas", {}).get("message-type") == "registration-complete"
    )
    assert complete["trigger"]["nas"]["verified"] is True
    assert complete["trigger"]["nas"]["security-header"] == 2
    assert first["changes"]["supi"] == [None, SUPI]


def test_show_for_people_has_a_sign_for_each_part(evcore: Shell, recorded: Recorded) -> None:
    said = evcore.ok("log", "show", SUPI)
    signs = {line[:2] for line in said.lines}
    assert signs == {"st", "<-", "->", " *", " ~", "  "}
    assert sum(line.startswith("step ") for line in said.lines) == recorded.heads[UE]
    assert "-> 001-01-gnb-24-1: DownlinkNASTransport [authentication-request]" in said.out
    assert "(secret)" in said.out


def test_show_one_step(evcore: Shell, recorded: Recorded) -> None:
    (step,) = evcore.ok("log", "show", SUPI, "--seq", 2, "--json").documents
    assert step["seq"] == 2
    last = recorded.heads[UE]
    said = evcore.refused("log", "show", SUPI, "--seq", last + 1)
    assert said == f"the log of {UE} ends with step {last}: there is no step {last + 1}"


@pytest.mark.slow
def test_show_as_asn1_text(evcore: Shell, recorded: Recorded) -> None:
    del recorded
    said = evcore.ok("log", "show", SUPI, "--asn1")
    assert "value InitialContextSetupRequest: {" in said.out
    assert "id 94,\n        criticality reject,\n        value SecurityKey: (secret)" in said.out
    assert "value NGSetupRequest: {" in evcore.ok("log", "show", RAN, "--asn1").out


def test_show_of_a_ran_node(evcore: Shell, recorded: Recorded) -> None:
    del recorded
    (step,) = evcore.ok("log", "show", RAN, "--json").documents
    assert step["trigger"]["ngap"]["message"] == "NGSetupRequest"
    assert step["outputs"][0]["pdu"]["message"] == "NGSetupResponse"


def test_state_after_a_step_and_after_the_last(evcore: Shell, recorded: Recorded) -> None:
    (early,) = evcore.ok("log", "state", SUPI, "--at", 1, "--json").documents
    assert early["state"]["registration"]["stage"] == "authenticating"
    assert early["state"]["challenge"]["kamf"] == "(secret)"
    late = json.loads(evcore.ok("log", "state", SUPI).out)
    assert late["seq"] == recorded.heads[UE]
    assert late["aggregate"] == UE
    assert "registered" not in late["state"]
    assert late["state"]["security"]["kamf"] == "(secret)"


def test_what_a_gnb_calls_itself_does_not_reach_the_terminal(
    evcore: Shell, recorded: Recorded
) -> None:
    del recorded
    said = evcore.refused("log", "show", "gnb/\x1b[31mred")
    assert "\x1b" not in said


@pytest.mark.parametrize("command", ["show", "state", "verify"])
def test_a_log_that_is_not_there(evcore: Shell, recorded: Recorded, command: str) -> None:
    del recorded
    said = evcore.refused("log", command, "001010000000099")
    assert said.startswith("there is no log of ue/imsi-001010000000099")
    assert "UEs that never proved their identity are removed" in said


@pytest.mark.parametrize("command", [["list"], ["show", SUPI], ["state", SUPI], ["verify", SUPI]])
def test_no_data_at_all(evcore: Shell, command: list[str]) -> None:
    assert evcore.refused("log", *command).startswith("there is no evcore data in .evcore")
