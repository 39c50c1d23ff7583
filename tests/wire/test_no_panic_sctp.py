"""No packet ends the process, or an association to which it does not belong (RFC 9260 8.5).

tests/transport tests the effect of packets on their own associations.
"""

from hypothesis import given
from hypothesis import strategies as st

import wire
from tests.wire.hostile import attempt
from tests.wire.profiles import FAST
from tests.wire.sctp_packets import CLIENT, PORT, SERVER, UDP, Pair, chunk, packets, sealed

LIMIT = 4


@FAST
@given(found=st.lists(packets, min_size=1, max_size=12), right=st.booleans())
def test_any_packets_to_an_endpoint(found: list[bytes], right: bool) -> None:
    """With and without a right checksum. The number of associations stays below the limit."""
    endpoint = wire.SctpEndpoint(PORT, accept=True, max_associations=LIMIT)
    for number, packet in enumerate(found):
        data = sealed(packet) if right else packet
        attempt(endpoint.receive, data, f"198.51.100.{number}", UDP, float(number))
        assert sum(len(out) for out, _ in endpoint.packets()) <= 4 * len(data) + 100
        assert endpoint.associations <= LIMIT
    assert [name for name, _, _ in endpoint.events() if name == "up"] == []
    assert endpoint.messages(10) == []
    timeout = endpoint.timeout()
    for _ in range(100):
        if timeout is None:
            break
        attempt(endpoint.advance, timeout)
        endpoint.packets()
        timeout = endpoint.timeout()
    assert endpoint.associations == 0


@FAST
@given(found=st.lists(packets, min_size=1, max_size=8))
def test_any_packets_of_others_leave_an_association_alone(found: list[bytes]) -> None:
    """From the peer's own address, but without its tag."""
    pair = Pair()
    tag = pair.sent[-1][4:8]
    for packet in found:
        if packet[4:8] != tag:
            attempt(pair.server.receive, sealed(packet), CLIENT, UDP, 1.0)
            pair.server.packets()
    assert pair.works(2.0)


@FAST
@given(
    chunks=st.lists(chunk, min_size=1, max_size=4),
    to_server=st.booleans(),
    times=st.integers(1, 3),
)
def test_any_chunks_of_the_peer(chunks: list[bytes], to_server: bool, times: int) -> None:
    """With its tag. The association may end, and reports this. The endpoint continues."""
    pair = Pair()
    packet = pair.sent[-1]
    receiver, source = (pair.server, CLIENT) if to_server else (pair.client, SERVER)
    if not to_server:
        pair.server.send(pair.accepted, 0, 60, b"x", 0.5)
        packet = pair.server.packets()[0][0]
    data = sealed(packet[:12] + b"".join(chunks))
    for _ in range(times):
        attempt(receiver.receive, data, source, UDP, 1.0)
    receiver.packets()
    ended = [number for name, number, _ in receiver.events() if name == "down"]
    assert receiver.associations + len(ended) >= 1
    again = Pair()
    assert again.works(1.0)
