"""The bounds of partly received messages in the kernel's transport, without a kernel."""

from transport import Limits
from transport.kernel_parts import Parts, Unfinished

LIMITS = Limits(receive_window=1_000, max_unfinished=2_500, unfinished_within=30.0)


class Owner:
    def __init__(self) -> None:
        self.parts = Parts()


def test_one_message_is_at_most_a_receive_window() -> None:
    unfinished, one = Unfinished(LIMITS), Owner()
    assert unfinished.add(one, bytes(1_000), 0.0) is None
    assert unfinished.add(one, b"x", 0.0) is one


def test_all_of_them_have_a_bound_and_the_oldest_ends() -> None:
    unfinished, owners = Unfinished(LIMITS), [Owner() for _ in range(4)]
    ended = [unfinished.add(owner, bytes(800), 0.0) for owner in owners]
    assert ended == [None, None, None, owners[0]]
    unfinished.take(owners[0])
    assert unfinished.octets == 2_400


def test_a_finished_message_does_not_count() -> None:
    unfinished, one = Unfinished(LIMITS), Owner()
    for _ in range(100):
        assert unfinished.add(one, b"a" * 500, 0.0) is None
        assert unfinished.add(one, b"b" * 500, 0.0) is None
        assert unfinished.take(one) == b"a" * 500 + b"b" * 500
    assert (unfinished.octets, unfinished.due) == (0, None)
    assert not one.parts


def test_a_message_has_an_age() -> None:
    unfinished, old, new = Unfinished(LIMITS), Owner(), Owner()
    unfinished.add(old, b"x", 100.0)
    unfinished.add(new, b"x", 120.0)
    unfinished.add(old, b"x", 125.0)
    assert unfinished.due == 130.0
    assert unfinished.too_old(129.9) is None
    assert unfinished.too_old(130.0) is old
    unfinished.take(old)
    assert unfinished.due == 150.0
    unfinished.postpone(145.0)
    assert unfinished.too_old(160.0) is None
