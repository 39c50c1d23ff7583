"""Sealed messages for gateways: for one association, once, and by a process with the key."""

import hmac
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventing import subjects
from eventing.jetstream import sealed as module
from eventing.jetstream.messages import Addressed, opened
from eventing.jetstream.sealed import WINDOW, DownlinkOpener, DownlinkSealer, SealError
from tests.eventing.brokers import event

KEY = bytes(range(32))
ASSOCIATION = "0123456789ab-1"
SUBJECT = subjects.downlink("gnb-1", ASSOCIATION)


def test_what_is_sealed_is_opened_once() -> None:
    sealer, opener = DownlinkSealer(KEY), DownlinkOpener(KEY)
    data = sealer.seal(SUBJECT, b"secret")
    assert b"secret" not in data
    assert opener.open(ASSOCIATION, data) == b"secret"
    assert opener.open(ASSOCIATION, data) is None
    assert opener.open(ASSOCIATION, sealer.seal(SUBJECT, b"secret")) == b"secret"


def test_another_association_or_core_refuses_it() -> None:
    data = DownlinkSealer(KEY).seal(SUBJECT, b"secret")
    for opener, association in (
        (DownlinkOpener(KEY), "0123456789ab-2"),
        (DownlinkOpener(KEY), ""),
        (DownlinkOpener(bytes(32)), ASSOCIATION),
    ):
        with pytest.raises(SealError, match="another key or for another association"):
            opener.open(association, data)


def test_each_octet_and_the_length_count() -> None:
    sealer, opener = DownlinkSealer(KEY), DownlinkOpener(KEY)
    data = sealer.seal(SUBJECT, b"x")
    for at in range(len(data)):
        with pytest.raises(SealError):
            opener.open(ASSOCIATION, data[:at])
        with pytest.raises(SealError):
            opener.open(ASSOCIATION, data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    with pytest.raises(SealError):
        opener.open(ASSOCIATION, data + b"\0")
    assert opener.open(ASSOCIATION, data) == b"x", "no wrong copy has used up its number"


def test_the_key_is_hkdf_of_the_key_of_the_tmsis() -> None:
    """RFC 5869, computed as its clauses 2.2 and 2.3 say."""
    data = DownlinkSealer(KEY).seal(SUBJECT, b"x")
    extracted = hmac.new(b"evcore NGAP downlink", KEY, "sha256").digest()
    expanded = hmac.new(extracted, data[1:17] + b"\x01", "sha256").digest()
    opened_ = module.Sealer(expanded).open(data[17:], b"n2\0" + ASSOCIATION.encode())
    assert (opened_, data[0]) == (b"x", 1)


def test_no_nonce_and_no_sender_is_used_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    sealer = DownlinkSealer(KEY)
    first = [sealer.seal(SUBJECT, b"x")[1:29] for _ in range(5)]
    monkeypatch.setattr(module, "RENEWED", 0.0)
    other = DownlinkSealer(KEY)
    renewed = [other.seal(SUBJECT, b"x")[1:17] for _ in range(5)]
    assert len({*first}) == len({*renewed}) == 5
    assert len({found[:16] for found in first}) == 1


@given(st.permutations(range(12)), st.lists(st.integers(0, 11), max_size=12))
def test_in_any_order_each_message_is_opened_once(order: list[int], again: list[int]) -> None:
    sealer, opener = DownlinkSealer(KEY), DownlinkOpener(KEY)
    sent = [sealer.seal(SUBJECT, b"%d" % number) for number in range(12)]
    found = [opener.open(ASSOCIATION, sent[number]) for number in (*order, *again)]
    assert found == [b"%d" % number for number in order] + [None] * len(again)


def test_a_message_too_far_behind_is_refused() -> None:
    sealer, opener = DownlinkSealer(KEY), DownlinkOpener(KEY)
    early = [sealer.seal(SUBJECT, b"early") for _ in range(2)]
    late = [sealer.seal(SUBJECT, b"late") for _ in range(WINDOW - 1)]
    assert opener.open(ASSOCIATION, late[-1]) == b"late"
    assert opener.open(ASSOCIATION, early[1]) == b"early"
    with pytest.raises(SealError, match="an old message of its sender"):
        opener.open(ASSOCIATION, early[0])


def test_a_copy_of_a_forgotten_sender_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    times = itertools.count(1_800_000_000_000_000_000, 1_000_000)
    monkeypatch.setattr(module.time, "time_ns", lambda: next(times))
    monkeypatch.setattr(module, "MOST", 3)
    opener = DownlinkOpener(KEY)
    sent = [DownlinkSealer(KEY).seal(SUBJECT, b"x") for _ in range(4)]
    assert [opener.open(ASSOCIATION, one) for one in sent] == [b"x"] * 4
    with pytest.raises(SealError, match="an old sender"):
        opener.open(ASSOCIATION, sent[0])
    assert [opener.open(ASSOCIATION, one) for one in sent[1:]] == [None] * 3
    with pytest.raises(SealError):
        opener.open(ASSOCIATION, b"\x01" + bytes(60))
    assert opener.open(ASSOCIATION, sent[1]) is None, "no forged sender displaces another"


def test_messages_for_gnbs_are_sealed_and_those_for_upfs_are_not() -> None:
    leaving = [
        Addressed(subject, event(number, data=b"pdu-%d" % number), counted)
        for number, (subject, counted) in enumerate(
            [(SUBJECT, "5"), ("n4.upf-1", ""), (SUBJECT, ""), ("n2.gnb-2.b-1", ""), (SUBJECT, "")]
        )
    ]
    messages = DownlinkSealer(KEY).messages(leaving, 2)
    assert [one.subject for one in messages] == [SUBJECT, "n2.gnb-2.b-1", SUBJECT, "n4.upf-1"]
    opener, found = DownlinkOpener(KEY), list[tuple[str, bytes, str]]()
    for one in messages[:3]:
        assert (one.headers, b"pdu" in one.data) == ({}, False)
        batch = opener.open(one.subject.rpartition(".")[2], one.data)
        assert batch is not None
        found += [(e.id, e.data_base64, e.nascount) for e in opened(batch)]
    assert sorted(found) == [
        (f"test-{n}", b"pdu-%d" % n, "5" if n == 0 else "") for n in (0, 2, 3, 4)
    ]
    assert messages[3] == leaving[1].outgoing
