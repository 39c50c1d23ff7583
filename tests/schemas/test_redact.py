"""Printed values contain no keys."""

import base64
import json
import secrets
import typing
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import wire
from schemas.identity import Secret
from schemas.redact import HIDDEN, plain
from schemas.step import SendNgap, Step
from tests.functions.world import OPC, TMSI_KEY, K
from tests.runtime.script import lives
from tests.schemas.kinds import DECODED_AS, all_structs
from tests.schemas.values import values

SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large)
PUBLIC = {
    "accept": "a NAS message, plain, as the UE has it",
    "amf": "of AKA, sent in AUTN",
    "autn": "sent in the clear",
    "capability": "sent in the clear",
    "command": "a NAS message, plain, as the UE has it",
    "complete_request": "a NAS message",
    "cells": "that a gNB recommends for paging",
    "recommended_cells": "that a gNB recommends for paging",
    "diagnostics": "of a gNB's message",
    "data": "of an event: an uplink PDU, or a Struct of this list",
    "eap_success": "an EAP message, sent in the clear",
    "radio_capability": "sent in the clear",
    "nr": "of a UE radio capability for paging",
    "eutra": "of a UE radio capability for paging",
    "rand": "sent in the clear",
    "request": "a NAS message",
    "suci": "concealed, or what the UE sends in the clear",
}
"""Fields of octets that may be shown, and why."""


SECRETS = {
    "entropy",
    "k",
    "k_aut",
    "nh",
    "kamf",
    "master_key",
    "opc",
    "pdu",
    "private_key",
    "tmsi_key",
    "xres_star",
}
"""Fields that must be hidden."""


def test_of_each_field_of_octets_it_is_known_whether_it_is_secret() -> None:
    """A new field must be hidden, or listed as public."""
    for kind in all_structs():
        for name, hint in typing.get_type_hints(kind, include_extras=True).items():
            if hint in (bytes, Secret) and name not in PUBLIC:
                assert name in SECRETS, f"{kind.__name__}.{name}"


def forms(secret: bytes) -> list[str]:
    """Return the forms of octets in a text."""
    whole = [secret.hex(), secret.hex().upper(), str(list(secret)), repr(secret)[2:-1]]
    return [*whole, base64.b64encode(secret).decode(), str(int.from_bytes(secret))]


def shown(value: Any) -> str:
    return json.dumps(plain(value)) + repr(plain(value))


def hide(value: Any, hidden: list[bytes]) -> Any:
    """Return a value with new octets in each of its secret fields; append them to `hidden`."""
    if isinstance(value, msgspec.Struct):
        changes: dict[str, Any] = {}
        for field in value.__struct_fields__:
            held = getattr(value, field)
            if field in SECRETS and isinstance(held, (bytes, str)):
                hidden.append(secrets.token_bytes(16))
                changes[field] = hidden[-1] if isinstance(held, bytes) else hidden[-1].hex()
            else:
                changes[field] = hide(held, hidden)
        return type(value)(**changes)
    if isinstance(value, tuple):
        return tuple(hide(one, hidden) for one in typing.cast("tuple[Any, ...]", value))
    return value


@pytest.mark.parametrize("name", list(DECODED_AS))
@settings(max_examples=20, deadline=None, suppress_health_check=SLOW)
@given(data=st.data())
def test_no_secret_of_any_value_is_shown(name: str, data: st.DataObject) -> None:
    hidden: list[bytes] = []
    value = hide(data.draw(values(DECODED_AS[name][0])), hidden)
    text = shown(value)
    for secret in hidden:
        assert not any(form in text for form in forms(secret))


@pytest.mark.parametrize("kind", [k for k in all_structs() if k is not Step])
def test_what_is_secret_says_so_where_it_is_set(kind: type[msgspec.Struct]) -> None:
    @settings(max_examples=5, deadline=None, suppress_health_check=SLOW)
    @given(values(kind))
    def says_so(value: Any) -> None:
        hidden: list[bytes] = []
        found = plain(hide(value, hidden))
        for field in SECRETS & set(kind.__struct_fields__):
            assert found[field] == HIDDEN

    says_so()


def test_whole_lives_are_shown_without_a_key_in_them() -> None:
    script = lives()
    keys = {K, OPC, TMSI_KEY}
    for steps in script.steps.values():
        keys |= {step.entropy for step in steps}
        for step in steps:
            for output in step.outputs:
                if isinstance(output, SendNgap):
                    keys |= kgnbs(output.pdu)
            for event in step.events:
                keys |= marked(event)
    assert len(keys) > 70
    text = "".join(shown([*steps, script.states[name]]) for name, steps in script.steps.items())
    text += "".join(map(shown, [script.network, *script.subscribers.values()]))
    for key in keys:
        assert not any(form in text for form in forms(key))


def kgnbs(pdu: bytes) -> set[bytes]:
    """Return the keys in a PDU, after checking that its printed tree does not contain them."""
    tree = wire.ngap_decode(pdu)
    found = {bytes.fromhex(ie["SecurityKey"]) for ie in tree["ies"] if "SecurityKey" in ie}
    for key in found:
        assert not any(form in shown(tree) for form in forms(key))
    return found


def marked(value: Any) -> set[bytes]:
    """Return the octets of fields that are annotated as secret, at any depth.

    XRES* is excluded: it is no longer secret after the UE's response, which is RES* in the clear.
    """
    if not isinstance(value, msgspec.Struct):
        return set()
    found: set[bytes] = set()
    hints = typing.get_type_hints(type(value), include_extras=True)
    for field in value.__struct_fields__:
        held = getattr(value, field)
        if typing.get_origin(hints[field]) is Annotated and held and field != "xres_star":
            found.add(held)
        found |= marked(held)
    return found


def test_a_tree_is_shown_whole_but_for_its_keys() -> None:
    key = "ab" * 32
    tree = {"ies": [{"SecurityKey": key}, {"nested": {"nextHopNH": key}}, {"RAN-UE-NGAP-ID": 5}]}
    assert plain(tree) == {
        "ies": [{"SecurityKey": HIDDEN}, {"nested": {"nextHopNH": HIDDEN}}, {"RAN-UE-NGAP-ID": 5}]
    }
    assert "0480c0f0" in shown({"UERadioCapability": "0480c0f0"})


def test_defaults_are_left_out_and_octets_are_hexadecimal() -> None:
    found = plain(SendNgap("gnb-1", "a1", b"\x01"))
    assert found == {"kind": "ngap", "gnb": "gnb-1", "association": "a1", "pdu": HIDDEN}
    assert plain([b"\x00\xff", (1, None), {2: b"x"}]) == ["00ff", [1, None], {"2": "78"}]
