"""The key layout in FoundationDB: keys of the tuple layer below one prefix.

    (prefix, "format")                          the version of this layout
    (prefix, "head", aggregate)                 head, data key
    (prefix, "log", aggregate, seq)             body
    (prefix, "snap", aggregate)                 sequence number, body
    (prefix, "trigger", aggregate, id)          sequence number, token of the writer, versionstamp
    (prefix, "entry", kind, key)                owner
    (prefix, "quarantine", kind, key)           time of the step, last owner
    (prefix, "given-up", time, kind, key)       last owner
    (prefix, "feed", versionstamp)              sequence number, aggregate
    (prefix, "doc", name)                       last version
    (prefix, "version", name, version)          token of the writer, body
    (prefix, "part", ..., number)               the rest of a body too large for one value

This module packs the keys instead of `fdb.tuple`, which is ten times slower; a step has five keys.
"""

from statestore.contract import IndexKey, Quarantined, StoreError

_STRING, _ZERO, _VERSIONSTAMP = b"\x02", 0x14, b"\x33"
_STAMP_TO_COME = b"\xff" * 10
STAMP_OCTETS = 12
SEQ_OCTETS = 8
"""Length of a sequence number or a version in a value."""
TOKEN_OCTETS = 16
"""Length of the token of a writer in a value."""


def pack_str(text: str) -> bytes:
    """Pack a string as an element of a key."""
    try:
        return _STRING + text.encode().replace(b"\0", b"\0\xff") + b"\0"
    except UnicodeEncodeError as err:
        raise StoreError(f"a name is not valid Unicode: {err}") from None


def pack_int(number: int) -> bytes:
    """Pack a number from 0 to 2**63 - 1 as an element of a key."""
    octets = (number.bit_length() + 7) // 8
    return bytes((_ZERO + octets,)) + number.to_bytes(octets)


def unpack_int(key: bytes, at: int) -> int:
    """Return the number at an offset of a key."""
    return int.from_bytes(key[at + 1 : at + 1 + key[at] - _ZERO])


def unpack_str(key: bytes, at: int) -> tuple[str, int]:
    """Return the string at an offset of a key, and the offset after it."""
    end = key.index(b"\0", at + 1)
    while key[end + 1 : end + 2] == b"\xff":
        end = key.index(b"\0", end + 2)
    return key[at + 1 : end].replace(b"\0\xff", b"\0").decode(), end + 1


def end_below(stem: bytes) -> bytes:
    """Return the end of the range of keys that have more elements than `stem`.

    This is not the end of all keys that start with the octets of `stem`: a name with a NUL starts
    with the octets of a shorter name.
    """
    return stem + b"\xff"


class Keys:
    """The keys of one store."""

    def __init__(self, prefix: str) -> None:
        base = pack_str(prefix)
        self.base = base
        self.format = base + pack_str("format")
        self.heads = base + pack_str("head")
        self.feeds = base + pack_str("feed")
        self.docs = base + pack_str("doc")
        self._log = base + pack_str("log")
        self._snapshots = base + pack_str("snap")
        self._triggers = base + pack_str("trigger")
        self._entries = base + pack_str("entry")
        self._quarantine = base + pack_str("quarantine")
        self._given_up = base + pack_str("given-up")
        self._versions = base + pack_str("version")
        self._parts = base + pack_str("part")

    def head(self, aggregate: str) -> bytes:
        """The key of an aggregate's head."""
        return self.heads + pack_str(aggregate)

    def steps(self, aggregate: str) -> bytes:
        """The prefix of the steps of an aggregate. The keys below it are in sequence."""
        return self._log + pack_str(aggregate)

    def step(self, aggregate: str, seq: int) -> bytes:
        """The key of a step."""
        return self._log + pack_str(aggregate) + pack_int(seq)

    def snapshot(self, aggregate: str) -> bytes:
        """The key of an aggregate's snapshot."""
        return self._snapshots + pack_str(aggregate)

    def triggers(self, aggregate: str) -> bytes:
        """The prefix of the triggers that an aggregate has processed."""
        return self._triggers + pack_str(aggregate)

    def trigger(self, aggregate: str, trigger: str) -> bytes:
        """The key of a trigger that an aggregate has processed."""
        return self._triggers + pack_str(aggregate) + pack_str(trigger)

    @staticmethod
    def new_trigger(seq: bytes, token: bytes, number: int) -> bytes:
        """Return the value of a trigger for `set_versionstamped_value`. It ends with the stamp of
        the step in the feed, by which the step is found there."""
        value = seq + token
        return value + _STAMP_TO_COME + number.to_bytes(2) + len(value).to_bytes(4, "little")

    @staticmethod
    def stamp_of_trigger(value: bytes) -> bytes:
        """Return the stamp of the step in the value of its trigger."""
        return value[SEQ_OCTETS + TOKEN_OCTETS :]

    def entries(self, kind: str) -> bytes:
        """The prefix of the entries of an index."""
        return self._entries + pack_str(kind)

    def entry(self, kind: str, key: str) -> bytes:
        """The key of an index entry."""
        return self._entries + pack_str(kind) + pack_str(key)

    def quarantines(self, kind: str) -> bytes:
        """The prefix of the entries of an index in quarantine."""
        return self._quarantine + pack_str(kind)

    def quarantine(self, kind: str, key: str) -> bytes:
        """The key of an index entry in quarantine."""
        return self._quarantine + pack_str(kind) + pack_str(key)

    def given_up(self, since: int, kind: str, key: str) -> bytes:
        """The key of an index entry in quarantine, in the order of time."""
        return self._given_up + pack_int(since) + pack_str(kind) + pack_str(key)

    def given_up_until(self, end: int) -> tuple[bytes, bytes]:
        """Return the range of the entries that were given up until a time."""
        return self._given_up, self._given_up + pack_int(max(end, 0) + 1)

    def unpack_given_up(self, key: bytes) -> Quarantined:
        """Return the index entry and the time of a key in the range of `given_up_until`."""
        at = len(self._given_up)
        kind, after = unpack_str(key, at + 1 + key[at] - _ZERO)
        return Quarantined(IndexKey(kind, unpack_str(key, after)[0]), unpack_int(key, at))

    def doc(self, name: str) -> bytes:
        """The key of a document."""
        return self.docs + pack_str(name)

    def version(self, name: str, version: int) -> bytes:
        """The key of a version of a document."""
        return self._versions + pack_str(name) + pack_int(version)

    def parts(self, key: bytes) -> bytes:
        """The prefix of the parts of the body at `key`."""
        return self._parts + key[len(self.base) :]

    def new_feed(self, number: int) -> bytes:
        """Return a key for `set_versionstamped_key`. `number` (16 bits) orders the keys of a
        transaction."""
        stem = self.feeds + _VERSIONSTAMP
        stamp = _STAMP_TO_COME + number.to_bytes(2)
        return stem + stamp + len(stem).to_bytes(4, "little")

    def feed(self, stamp: bytes) -> bytes:
        """The key of a step in the feed."""
        return self.feeds + _VERSIONSTAMP + stamp

    def feed_after(self, stamp: bytes) -> bytes:
        """Return the first key of the feed after a stamp. All keys follow the empty stamp."""
        return self.feeds + _VERSIONSTAMP + stamp + b"\0" if stamp else self.feeds


def names_from(stem: bytes, prefix: str, after: str) -> tuple[bytes, bytes]:
    """Return the range of keys `stem` + (name,) with names that start with `prefix` and are above
    `after`."""
    # A packed string without its terminator is the prefix of every longer string.
    begin = stem + pack_str(prefix)[:-1]
    end = begin.rstrip(b"\xff")
    end = end[:-1] + bytes((end[-1] + 1,))
    return max(begin, stem + pack_str(after) + b"\0"), end
