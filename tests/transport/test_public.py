"""The public names of the package."""

import transport


def test_public_names() -> None:
    assert transport.__all__ == [
        "NGAP_PPID",
        "UDP_ENCAPSULATION_PORT",
        "Association",
        "BufferFull",
        "Handler",
        "Limits",
        "Mode",
        "Transport",
        "TransportError",
        "connect",
        "listen",
    ]
    assert all(hasattr(transport, name) for name in transport.__all__)
