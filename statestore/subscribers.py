"""Subscriptions in the store: a sealed, versioned document for each SUPI."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from schemas import document
from schemas.document import DocumentError
from schemas.subscriber import Subscriber
from statestore.contract import Document, Engine, StoreDamaged
from statestore.vault import Vault

_PREFIX = "subscriber/"
_KIND = "subscription"
_AT_ONCE = 32

_decode_body = msgspec.msgpack.Decoder(tuple[bytes, bytes | None]).decode
_encode = msgspec.msgpack.Encoder().encode
_WITHDRAWN = _encode([b"", None])


class Subscription(NamedTuple):
    """One version of a subscription. `subscriber` is None if this version withdraws it."""

    supi: str
    version: int
    subscriber: Subscriber | None


class SubscriberStore:
    """The subscriptions of a store. K and OPc are always stored sealed.

    Every version is kept, so that a step decided with it can be replayed. Each version has its own
    data key.
    """

    def __init__(self, engine: Engine, vault: Vault) -> None:
        self._engine = engine
        self._vault = vault

    async def put(self, subscriber: Subscriber) -> int:
        """Store a subscriber and return its version. An unchanged subscriber keeps its version."""
        last = await self.get(subscriber.supi)
        if last is not None and last.subscriber == subscriber:
            return last.version
        name = _PREFIX + subscriber.supi
        wrapped = self._vault.new_data_key()
        sealed = self._vault.sealer(wrapped, name).seal(_KIND, 0, document.encode(subscriber))
        return await self._engine.put_document(name, _encode([wrapped, sealed]))

    async def put_all(self, subscribers: Sequence[Subscriber]) -> list[int]:
        """Store many subscribers and return their versions. If a call fails, some may be stored;
        the same call again stores the rest."""
        versions: list[int] = []
        for start in range(0, len(subscribers), _AT_ONCE):
            some = subscribers[start : start + _AT_ONCE]
            versions += await asyncio.gather(*(self.put(one) for one in some))
        return versions

    async def get(self, supi: str, version: int = 0) -> Subscription | None:
        """Return a version of a subscription, the last one for 0; None if there is none.

        Raises:
            StoreDamaged: the stored document is not a subscription.
            WrongKeyError: the subscription was sealed under another master key.
        """
        stored = await self._engine.get_document(_PREFIX + supi, version)
        return None if stored is None else self._open(supi, stored)

    async def withdraw(self, supi: str) -> int | None:
        """Withdraw a subscription and return the version that records this; None if there is
        none."""
        if await self._engine.get_document(_PREFIX + supi) is None:
            return None
        return await self._engine.put_document(_PREFIX + supi, _WITHDRAWN)

    async def list_from(
        self, prefix: str = "", after: str = "", limit: int = 1000
    ) -> list[Subscription]:
        """Return the last versions of up to `limit` subscriptions, in the order of their SUPIs.

        The SUPIs start with `prefix` and are above `after`. Withdrawn subscriptions are included.
        """
        names = await self._engine.documents(
            _PREFIX + prefix, _PREFIX + after if after else "", limit
        )
        found: list[Subscription] = []
        for start in range(0, len(names), _AT_ONCE):
            some = names[start : start + _AT_ONCE]
            got = await asyncio.gather(
                *(self.get(name.removeprefix(_PREFIX), version) for name, version in some)
            )
            found += (one for one in got if one is not None)
        return found

    def _open(self, supi: str, stored: Document) -> Subscription:
        name = _PREFIX + supi
        try:
            wrapped, sealed = _decode_body(stored.body)
            if not sealed:
                return Subscription(supi, stored.version, None)
            plain = self._vault.sealer(wrapped, name).open(_KIND, 0, sealed)
            return Subscription(supi, stored.version, document.decode(plain, Subscriber))
        except (msgspec.DecodeError, DocumentError) as err:
            raise StoreDamaged(
                f"version {stored.version} of the subscription of {supi} cannot be read: {err}"
            ) from None
