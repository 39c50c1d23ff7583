"""The places for associations: how many there are, who gets one, and for how long without NG SETUP.

SCTP proves that a peer receives at its address, and nothing else. So an address has a share of the
places, an association without NG SETUP ends after some seconds, and some places are kept for
addresses that had an NG SETUP accepted before.
"""

import ipaddress
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from msgspec import Struct

REMEMBERED: Final = 4096
"""Addresses with an accepted NG SETUP that are remembered. The one seen longest ago goes first."""

ANSWER_WITHIN: Final = 60.0
"""Seconds that an association may wait for the core's answer to its NG SETUP REQUEST, and then for
the gNB's next attempt. The longest Time to Wait is as long (TS 38.413 9.3.1.56)."""

REFUSALS: Final = 5
"""NG SETUP FAILUREs in a row that renew the time of an association."""


class Places(Struct, frozen=True, kw_only=True):
    """The settings of an `Admission`."""

    max_associations: int = 1024
    max_per_address: int = 512
    """Associations of one IP address, or of one IPv6 network of 64 bits."""
    setup_within: float = 10.0
    """Seconds from the start of an association to its NG SETUP REQUEST."""
    gnbs: Mapping[str, tuple[str, ...]] = {}
    """The addresses and networks of configured gNBs, by Global RAN Node ID."""

    @property
    def without_setup(self) -> int:
        """Return how many associations of one address may be without NG SETUP."""
        return max(self.max_per_address // 2, 1)

    @property
    def for_strangers(self) -> int:
        """Return how many associations addresses without an accepted NG SETUP may have."""
        return max(self.max_associations * 3 // 4, 1)


DEFAULT_PLACES: Final = Places()


class _Guest:
    __slots__ = ("deadline", "host", "ready", "refusals")

    def __init__(self, host: str, deadline: float) -> None:
        self.host = host
        self.deadline = deadline
        self.ready = False
        self.refusals = 0


class Admission:
    """Gives places to associations. Times are in seconds of the caller's clock."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self._guests: dict[str, _Guest] = {}
        self._hosts: dict[str, list[str]] = {}
        """The associations of each host, the oldest first."""
        self._waiting: dict[str, _Guest] = {}
        """The associations without NG SETUP, the oldest first."""
        self._known: OrderedDict[str, None] = OrderedDict()
        self._configured = sources_of(one for some in places.gnbs.values() for one in some)

    def admit(self, association: str, address: str, now: float) -> tuple[str, str]:
        """Give a place to a new association.

        Returns:
            The reason of a refusal, or an empty string; and the association that must end to make
            room, or an empty string.
        """
        host = host_of(address)
        if comes_from(address, self._configured):
            self._remember(host)
        leaves = ""
        refusal = self._over_share(host)
        if not refusal and host not in self._known:
            refusal = self._no_room_for_stranger()
        if not refusal and len(self._guests) >= self.places.max_associations:
            leaves = self._gives_way(host)
            refusal = "" if leaves else f"{len(self._guests)} associations exist"
        if refusal:
            return refusal, ""
        guest = _Guest(host, now + self.places.setup_within)
        self._guests[association] = self._waiting[association] = guest
        self._hosts.setdefault(host, []).append(association)
        return "", leaves

    def _over_share(self, host: str) -> str:
        mine = self._hosts.get(host, ())
        if len(mine) >= self.places.max_per_address:
            return f"{host} has {len(mine)} associations"
        without = sum(not self._guests[one].ready for one in mine)
        if without >= self.places.without_setup:
            return f"{host} has {without} associations without NG SETUP"
        return ""

    def _no_room_for_stranger(self) -> str:
        if len(self._guests) >= self.places.max_associations:
            return f"{len(self._guests)} associations exist"
        strangers = sum(g.host not in self._known for g in self._waiting.values())
        if strangers >= self.places.for_strangers:
            return f"{strangers} associations of unknown addresses are without NG SETUP"
        return ""

    def _gives_way(self, host: str) -> str:
        """Return the association whose place a known host gets; empty if there is none.

        The oldest association of a stranger without NG SETUP is the first, then the newest of the
        host with the most associations, if that has at least two more than the newcomer.
        """
        for name, guest in self._waiting.items():
            if guest.host not in self._known:
                return name
        largest = max(self._hosts.values(), key=len)
        return largest[-1] if len(largest) > len(self._hosts.get(host, ())) + 1 else ""

    def left(self, association: str) -> None:
        """Free the place of an association."""
        guest = self._guests.pop(association, None)
        if guest is None:
            return
        self._waiting.pop(association, None)
        mine = self._hosts[guest.host]
        mine.remove(association)
        if not mine:
            del self._hosts[guest.host]

    def asked(self, association: str, now: float) -> None:
        """Note an NG SETUP REQUEST, which the core answers."""
        guest = self._guests.get(association)
        if guest is not None:
            guest.ready = False
            self._waiting[association] = guest
            guest.deadline = max(guest.deadline, now + ANSWER_WITHIN)

    def refused(self, association: str, now: float) -> None:
        """Note an NG SETUP FAILURE: the gNB may wait and repeat its request."""
        guest = self._guests.get(association)
        if guest is None:
            return
        guest.refusals += 1
        if guest.refusals <= REFUSALS:
            guest.deadline = now + ANSWER_WITHIN + self.places.setup_within

    def accepted(self, association: str) -> None:
        """Note an NG SETUP RESPONSE, and remember the address."""
        guest = self._guests.get(association)
        if guest is None:
            return
        guest.ready = True
        guest.refusals = 0
        self._waiting.pop(association, None)
        self._remember(guest.host)

    def _remember(self, host: str) -> None:
        self._known[host] = None
        self._known.move_to_end(host)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)

    def overdue(self, now: float) -> list[str]:
        """Return the associations without NG SETUP that must end."""
        return [name for name, guest in self._waiting.items() if guest.deadline <= now]

    def postpone(self, seconds: float) -> None:
        """Give every waiting association more time, because nothing was read from it."""
        for guest in self._waiting.values():
            guest.deadline += seconds


Sources: TypeAlias = tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]


def sources_of(texts: Iterable[str]) -> Sources:
    """Return the networks of configured addresses and networks."""
    return tuple(ipaddress.ip_network(text) for text in texts)


def comes_from(address: str, sources: Sources) -> bool:
    """Whether an address is in one of these networks."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    ip = getattr(ip, "ipv4_mapped", None) or ip
    return any(ip in network for network in sources)


def host_of(address: str) -> str:
    """Return the address by which shares are counted. An IPv6 host has a network of 64 bits."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv4Address):
        return address
    if ip.ipv4_mapped is not None:
        return str(ip.ipv4_mapped)
    return str(ipaddress.ip_network((int(ip) >> 64 << 64, 64)))
