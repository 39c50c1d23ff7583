"""5GMM messages with random values, twice: the tree of `wire` and the values of pycrate.

pycrate writes 5GMM capability and 5GS network feature support always at the full length that it
knows. TS 24.501 9.11.3.1 and 9.11.3.5 let a sender stop after the last octet with content, as
`wire` does. Such values are not tested. pycrate also writes a UE security capability of four octets
(9.11.3.54) in two if the last two are zeros. Such values are not tested either.
"""

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

Tree = dict[str, Any]
Both = tuple[Any, Any]
"""A value in the form of the tree, and in pycrate's form."""

ACCESS = {"3gpp-access": 1, "non-3gpp-access": 2, "3gpp-access-and-non-3gpp-access": 3}
REGISTRATIONS = {
    "initial-registration": 1,
    "mobility-registration-updating": 2,
    "periodic-registration-updating": 3,
    "emergency-registration": 4,
}
IDENTITIES = {"suci": 1, "guti": 2, "imei": 3, "s-tmsi": 4, "imeisv": 5}
SERVICES = {"signalling": 0, "data": 1, "mobile-terminated-services": 2, "emergency-services": 3}
CAUSES = (
    3,
    5,
    6,
    7,
    9,
    11,
    12,
    13,
    15,
    20,
    21,
    22,
    23,
    24,
    26,
    27,
    62,
    71,
    90,
    95,
    96,
    97,
    98,
    101,
    111,
)
SCHEMES = {"null": 0, "profile-a": 1, "profile-b": 2}


def same(value: st.SearchStrategy[Any]) -> st.SearchStrategy[Both]:
    return value.map(lambda drawn: (drawn, drawn))


def octets(least: int, most: int | None = None) -> st.SearchStrategy[Both]:
    """An IE that a tree holds as its octets."""
    value = st.binary(min_size=least, max_size=least if most is None else most)
    return value.map(lambda drawn: ({"octets": drawn.hex()}, drawn))


def named(names: dict[str, int]) -> st.SearchStrategy[Both]:
    return st.sampled_from(sorted(names.items()))


def structure(**parts: tuple[str, st.SearchStrategy[Both]]) -> st.SearchStrategy[Both]:
    """A value of named parts: pycrate's name, then the name in the tree with the value of the
    part."""

    def joined(drawn: dict[str, Both]) -> Both:
        tree = {parts[name][0]: ours for name, (ours, _) in drawn.items()}
        return tree, {name: theirs for name, (_, theirs) in drawn.items()}

    return st.fixed_dictionaries({name: part for name, (_, part) in parts.items()}).map(joined)


def tagged(name: str, value: st.SearchStrategy[Both], **more: Any) -> st.SearchStrategy[Both]:
    """A choice of the tree, with the fields that select it in pycrate."""
    return value.map(lambda both: ({name: both[0]}, both[1] | more))


def digits(least: int, most: int | None = None) -> st.SearchStrategy[str]:
    most = least if most is None else most
    return st.text("0123456789", min_size=least, max_size=most)


def bcd(text: str) -> bytes:
    """Digits, two per octet and the lower one first, with a filler at an odd end."""
    text += "f" * (len(text) % 2)
    return bytes(int(text[i + 1] + text[i], 16) for i in range(0, len(text), 2))


def bits(count: int) -> st.SearchStrategy[Both]:
    return same(st.integers(0, 2**count - 1))


# The third digit of MNC, or a filler, precedes the other two (9.11.3.4).
plmn = st.builds(
    lambda mcc, mnc: (f"{mcc}-{mnc}", bcd(f"{mcc}{mnc[2:] or 'f'}{mnc[:2]}")),
    digits(3),
    digits(2, 3),
)
guti = tagged(
    "guti",
    structure(
        PLMN=("plmn", plmn),
        AMFRegionID=("amf-region-id", bits(8)),
        AMFSetID=("amf-set-id", bits(10)),
        AMFPtr=("amf-pointer", bits(6)),
        **{"5GTMSI": ("tmsi", bits(32))},
    ),
    Type=2,
)
s_tmsi = tagged(
    "s-tmsi",
    structure(
        AMFSetID=("amf-set-id", bits(10)),
        AMFPtr=("amf-pointer", bits(6)),
        **{"5GTMSI": ("tmsi", bits(32))},
    ),
    Type=4,
)
routing = digits(1, 4).map(lambda text: (text, bcd(f"{text:f<4}")))
null_suci = structure(
    PLMN=("plmn", plmn),
    RoutingInd=("routing-indicator", routing),
    ProtSchemeID=("protection-scheme", st.just(("null", 0))),
    HNPKID=("home-network-public-key-id", st.just((0, 0))),
    Output=("msin", digits(5, 9).map(lambda text: (text, bcd(text)))),
)
KEY_SIZES = {"profile-a": 32, "profile-b": 33}


def scheme_output(profile: str) -> st.SearchStrategy[Both]:
    """An ephemeral public key, the cipher text of an MSIN, and a tag (TS 33.501 C.3)."""
    size = KEY_SIZES[profile]
    return st.binary(min_size=size + 13, max_size=size + 13).map(
        lambda value: (
            value.hex(),
            {
                "ECCEphemPK": value[:size],
                "CipherText": value[size:-8],
                "MAC": value[-8:],
            },
        )
    )


concealed_suci = st.sampled_from(["profile-a", "profile-b"]).flatmap(
    lambda profile: structure(
        PLMN=("plmn", plmn),
        RoutingInd=("routing-indicator", routing),
        ProtSchemeID=("protection-scheme", st.just((profile, SCHEMES[profile]))),
        HNPKID=("home-network-public-key-id", same(st.integers(1, 254))),
        Output=("scheme-output", scheme_output(profile)),
    )
)
suci = (null_suci | concealed_suci).map(
    lambda both: ({"suci": {"imsi": both[0]}}, {"Fmt": 0, "Type": 1, "Value": both[1]})
)
imeisv = digits(16).map(
    lambda text: (
        {"imeisv": text},
        {"Digit1": int(text[0]), "Odd": 0, "Type": 5, "Digits": bcd(text[1:])},
    )
)
identity = suci | guti
ngksi = st.one_of(
    st.just(("no-key", {"TSC": 0, "Value": 7})),
    st.integers(0, 6).map(lambda value: ({"native": value}, {"TSC": 0, "Value": value})),
    st.integers(0, 6).map(lambda value: ({"mapped": value}, {"TSC": 1, "Value": value})),
)
cause = st.sampled_from(CAUSES).map(lambda value: (value, value))
s_nssai = st.tuples(st.integers(0, 255), st.none() | st.integers(0, 2**24 - 1)).map(
    lambda slice_: (
        {"sst": slice_[0]} | ({} if slice_[1] is None else {"sd": f"{slice_[1]:06x}"}),
        {"Len": 1, "SNSSAI": {"SST": slice_[0]}}
        if slice_[1] is None
        else {"Len": 4, "SNSSAI": {"SST": slice_[0], "SD": slice_[1]}},
    )
)
nssai = st.lists(s_nssai, min_size=1, max_size=8).map(
    lambda slices: ([ours for ours, _ in slices], [theirs for _, theirs in slices])
)
CAPABILITY = [
    f"{kind}{number}{'_128' if 0 < number < 4 else ''}"
    for kind in ("5G-EA", "5G-IA", "EEA", "EIA")
    for number in range(8)
]
capability = st.builds(
    lambda nr, eps: (
        {"octets": (value := nr + eps).hex()},
        {
            name: value[index // 8] >> (7 - index % 8) & 1
            for index, name in enumerate(CAPABILITY[: 8 * len(value)])
        },
    ),
    st.binary(min_size=2, max_size=2),
    st.just(b"") | st.integers(1, 0xFFFF).map(lambda value: value.to_bytes(2, "big")),
)
# TACs 0 and FFFFFE mark a deleted TAI (TS 23.003 19.4.2.3).
tai = structure(PLMN=("plmn", plmn), TAC=("tac", same(st.integers(1, 0xFFFFFD))))
tai_list = st.tuples(plmn, st.lists(st.integers(0, 2**24 - 1), min_size=1, max_size=16)).map(
    lambda drawn: (
        [{"one-plmn-non-consecutive": {"plmn": drawn[0][0], "tacs": drawn[1]}}],
        [{"Type": 0, "PTAI": {"Num": len(drawn[1]) - 1, "PLMN": drawn[0][1], "TACs": drawn[1]}}],
    )
)
autn = st.binary(min_size=16, max_size=16).map(
    lambda value: (
        {"octets": value.hex()},
        {"SQNxAK": value[:6], "AMF": value[6:8], "MAC": value[8:]},
    )
)
flag = st.booleans().map(lambda value: (value, int(value)))
# Values that do not fit in a finer unit, so that each value has one encoding.
t3512 = st.integers(4, 31).map(lambda n: (n * 600, {"Unit": 0, "Value": n}))
t3502 = st.integers(2, 31).map(lambda n: (n * 60, {"Unit": 1, "Value": n}))


@dataclass(frozen=True)
class Case:
    """A message: its names, and for each IE pycrate's name, the name in the tree, and its
    values."""

    name: str
    kind: str
    ies: tuple[tuple[str, str, st.SearchStrategy[Both]], ...] = ()
    """`?` after the tree's name marks an optional IE."""

    def both(self) -> st.SearchStrategy[Both]:
        """The tree of the message and pycrate's form of it."""

        @st.composite
        def drawn(draw: st.DrawFn) -> Both:
            tree: Tree = {"message-type": self.name}
            values: Tree = {}
            for theirs, ours, value in self.ies:
                if not ours.endswith("?") or draw(st.booleans()):
                    tree[ours.removesuffix("?")], values[theirs] = draw(value)
            return tree, values

        return drawn()
