"""What every transport refuses to send."""

from transport.contract import TransportError


def check_message(stream: int, streams: int, payload: bytes, ppid: int, max_message: int) -> None:
    """Look at a message before it is queued.

    Raises:
        TransportError: a stream that there is not, a PPID of more than 32 bits, or a payload
            that is empty or too large.
    """
    if not 0 <= stream < streams:
        raise TransportError(f"stream {stream} is not one of {streams}")
    if not 1 <= len(payload) <= max_message:
        raise TransportError(f"a message has 1 to {max_message} octets, not {len(payload)}")
    if not 0 <= ppid <= 0xFFFFFFFF:
        raise TransportError(f"a payload protocol identifier has 32 bits, not {ppid}")
