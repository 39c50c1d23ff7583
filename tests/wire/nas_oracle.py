"""5GMM by pycrate, which shares no code with the NAS codec of `wire`."""

import warnings
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # raised by pycrate's own source
    from pycrate_mobile import TS24501_FGMM  # pyright: ignore[reportMissingTypeStubs]
    from pycrate_mobile.NAS5G import (  # pyright: ignore[reportMissingTypeStubs]
        parse_NAS5G,  # pyright: ignore[reportUnknownVariableType]
    )

Value = dict[str, Any]

# pycrate has no type annotations.
_FGMM: Any = TS24501_FGMM
_parse: Any = parse_NAS5G
_FRAME = {"T", "L"}
"""The tag and the length that precede the value of an IE."""
_SPARE = {"spare", "ind"}


def encode(kind: str, value: Value) -> bytes:
    """Return the octets of a message, given the value of each IE by pycrate's name."""
    return getattr(_FGMM, f"FGMM{kind}")(val=value).to_bytes()


def decode(data: bytes) -> tuple[str, Value]:
    """Return the name of a plain message and the values of its IEs. Assert that it decodes
    completely."""
    message, error = _parse(data, inner=False)
    assert error == 0
    assert message.to_bytes() == data
    ies: Value = {}
    for name, ie in message.get_val_d().items():
        if name not in ("5GMMHeader", "spare"):
            (ies[name],) = (_bare(value) for part, value in ie.items() if part not in _FRAME)
    return message._name.removeprefix("5GMM"), ies


def tree(data: bytes) -> Value:
    """Return the values of all fields of a message, and of the messages in its containers."""
    message, error = _parse(data)
    assert error == 0
    return message.get_val_d()


def mandatory(data: bytes) -> tuple[str, Value]:
    """Return the name of a plain message and its mandatory IEs, without a payload container."""
    message, error = _parse(data, inner=False)
    assert error == 0
    ies: Value = message.get_val_d()
    optional = {name for name, ie in ies.items() if isinstance(ie, dict) and "T" in ie}
    return message._name, {
        name: ie for name, ie in ies.items() if name not in optional | {"PayloadContainer"}
    }


def _bare(value: Any) -> Any:
    """Return a value without its spare bits."""
    if isinstance(value, dict):
        tree: Value = value
        return {name: _bare(part) for name, part in tree.items() if name not in _SPARE}
    if isinstance(value, list):
        entries: list[Any] = value
        return [_bare(part) for part in entries]
    return value
