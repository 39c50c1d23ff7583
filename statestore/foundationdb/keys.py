"""Where things stand in FoundationDB: keys of the tuple layer below one prefix.

    (prefix, "format")                          the version of this layout
    (prefix, "head", aggregate)                 head, data key
    (prefix, "log", aggregate, seq)             body
    (prefix, "snap", aggregate)                 sequence number, body
    (prefix, "trigger", aggregate, id)          sequence number, token of the writer
    (prefix, "entry", kind, key)                owner
    (prefix, "feed", versionstamp)              sequence number, aggregate
    (prefix, "doc", name)                       last version
    (prefix, "version", name, version)          token of the writer, body
    (prefix, "part", ..., number)               the rest of a body too large for one value

They are packed here, and not by `fdb.tuple`: that takes ten times as long, and a step has five.
"""

from statestore.contract import StoreError

_STRING, _ZERO, _VERSIONSTAMP = b"\x02", 0x14, b"\x33"
_STAMP_TO_COME = b"\xff" * 10
STAMP_OCTETS = 12
SEQ_OCTETS = 8
"""Of a sequence number, or a version, in a value."""


def pack_str(text: str) -> bytes:
    """A string as an element of a key."""
    try:
        return _STRING + text.encode().replace(b"\0", b"\0\xff") + b"\0"
    except UnicodeEncodeError as err:
        raise StoreError(f"a name is not valid Unicode: {err}") from None


def pack_int(number: int) -> bytes:
    """A number from 0 to 2**63 - 1 as an element of a key."""
    octets = (number.bit_length() + 7) // 8
    return bytes((_ZERO + octets,)) + number.to_bytes(octets)


def unpack_int(key: bytes, at: int) -> int:
    """The number that stands at an offset of a key."""
    return int.from_bytes(key[at + 1 : at + 1 + key[at] - _ZERO])


def unpack_str(key: bytes, at: int) -> tuple[str, int]:
    """The string that stands at an offset of a key, and the offset after it."""
    end = key.index(b"\0", at + 1)
    while key[end + 1 : end + 2] == b"\xff":
        end = key.index(b"\0", end + 2)
    return key[at + 1 : end].replace(b"\0\xff", b"\0").decode(), end + 1


def end_below(stem: bytes) -> bytes:
    """The end of the range of the keys that have more elements than `stem`.

    Not the end of all that begin with its octets: a name with a NUL begins with the octets of
    the name up to there.
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
        self._versions = base + pack_str("version")
        self._parts = base + pack_str("part")

    def head(self, aggregate: str) -> bytes:
        """An aggregate."""
        return self.heads + pack_str(aggregate)

    def steps(self, aggregate: str) -> bytes:
        """What the steps of an aggregate begin with; they stand in order."""
        return self._log + pack_str(aggregate)

    def step(self, aggregate: str, seq: int) -> bytes:
        """A step."""
        return self._log + pack_str(aggregate) + pack_int(seq)

    def snapshot(self, aggregate: str) -> bytes:
        """The snapshot of an aggregate."""
        return self._snapshots + pack_str(aggregate)

    def trigger(self, aggregate: str, trigger: str) -> bytes:
        """A trigger that an aggregate took."""
        return self._triggers + pack_str(aggregate) + pack_str(trigger)

    def entries(self, kind: str) -> bytes:
        """What the entries of an index begin with."""
        return self._entries + pack_str(kind)

    def entry(self, kind: str, key: str) -> bytes:
        """An entry of an index."""
        return self._entries + pack_str(kind) + pack_str(key)

    def doc(self, name: str) -> bytes:
        """A document."""
        return self.docs + pack_str(name)

    def version(self, name: str, version: int) -> bytes:
        """A version of a document."""
        return self._versions + pack_str(name) + pack_int(version)

    def parts(self, key: bytes) -> bytes:
        """What the parts of the body at `key` begin with."""
        return self._parts + key[len(self.base) :]

    def new_feed(self, number: int) -> bytes:
        """A key for `set_versionstamped_key`; `number` (16 bits) orders those of a transaction."""
        stem = self.feeds + _VERSIONSTAMP
        stamp = _STAMP_TO_COME + number.to_bytes(2)
        return stem + stamp + len(stem).to_bytes(4, "little")

    def feed_after(self, stamp: bytes) -> bytes:
        """The first key of the feed that may follow a stamp; all follow the empty one."""
        return self.feeds + _VERSIONSTAMP + stamp + b"\0" if stamp else self.feeds


def names_from(stem: bytes, prefix: str, after: str) -> tuple[bytes, bytes]:
    """The range of the keys `stem` + (name,) whose names begin with `prefix` and are above
    `after`."""
    # A packed string without its terminator begins every longer one.
    begin = stem + pack_str(prefix)[:-1]
    end = begin.rstrip(b"\xff")
    end = end[:-1] + bytes((end[-1] + 1,))
    return max(begin, stem + pack_str(after) + b"\0"), end
