"""SCTP for asyncio: in the kernel, over UDP or over raw IP, with one small interface."""

from transport.contract import (
    NGAP_PPID,
    UDP_ENCAPSULATION_PORT,
    Association,
    BufferFull,
    Handler,
    Limits,
    Mode,
    Transport,
    TransportError,
)
from transport.opening import connect, listen

__all__ = [
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
