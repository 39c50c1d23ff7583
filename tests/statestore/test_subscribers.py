"""The subscription store, on every engine."""

import msgspec
import pytest
from msgspec.structs import replace

from schemas.identity import SNssai
from schemas.subscriber import Ambr, Dnn, PduSessionType, SubscribedSlice, Subscriber
from statestore.contract import Engine, StoreDamaged
from statestore.subscribers import SubscriberStore, Subscription
from statestore.vault import Vault, WrongKeyError

SUPI = "imsi-001010000000001"
ALICE = Subscriber(
    supi=SUPI,
    k=bytes.fromhex("465b5ce8b199b49faa5f0a2ee238a6bc"),
    opc=bytes.fromhex("e8ed289deba952e4283b54e88e6183ca"),
    slices=(
        SubscribedSlice(
            SNssai(1, "000001"),
            default=True,
            dnns=(Dnn("internet", (PduSessionType.IPV4V6,), Ambr(1000, 2000), five_qi=7),),
        ),
    ),
    sqn=0x16F3B3F70FC2,
    forbidden_tacs=(1, 2),
)


@pytest.fixture
def vault() -> Vault:
    return Vault(bytes(32))


@pytest.fixture
def store(engine: Engine, vault: Vault) -> SubscriberStore:
    return SubscriberStore(engine, vault)


async def test_what_is_put_can_be_got(store: SubscriberStore):
    assert await store.get(SUPI) is None
    assert await store.put(ALICE) == 1
    assert await store.get(SUPI) == Subscription(SUPI, 1, ALICE)
    assert await store.get("imsi-001010000000002") is None


async def test_every_version_stays(store: SubscriberStore):
    barred = replace(ALICE, barred=True)
    assert await store.put(ALICE) == 1
    assert await store.put(barred) == 2
    assert await store.put(barred) == 2
    assert await store.put(ALICE) == 3
    assert await store.get(SUPI, 2) == Subscription(SUPI, 2, barred)
    assert await store.get(SUPI, 1) == Subscription(SUPI, 1, ALICE)
    assert await store.get(SUPI) == Subscription(SUPI, 3, ALICE)
    assert await store.get(SUPI, 4) is None


async def test_a_withdrawn_subscription_leaves_its_history(store: SubscriberStore):
    assert await store.withdraw(SUPI) is None
    await store.put(ALICE)
    assert await store.withdraw(SUPI) == 2
    assert await store.withdraw(SUPI) == 2
    assert await store.get(SUPI) == Subscription(SUPI, 2, None)
    assert await store.get(SUPI, 1) == Subscription(SUPI, 1, ALICE)
    assert await store.put(ALICE) == 3


async def test_secrets_are_sealed(store: SubscriberStore, engine: Engine):
    await store.put(ALICE)
    await store.put(replace(ALICE, barred=True))
    bodies: list[bytes] = []
    for version in (1, 2):
        document = await engine.get_document(f"subscriber/{SUPI}", version)
        assert document is not None
        bodies.append(document.body)
        for secret in (ALICE.k, ALICE.opc, b"internet"):
            assert secret not in document.body
    keys = [msgspec.msgpack.decode(body)[0] for body in bodies]
    assert keys[0] != keys[1]


async def test_another_master_key_opens_nothing(store: SubscriberStore, engine: Engine):
    await store.put(ALICE)
    with pytest.raises(WrongKeyError, match=SUPI):
        await SubscriberStore(engine, Vault(bytes(31) + b"\1")).get(SUPI)


async def test_a_subscription_cannot_be_put_in_the_place_of_another(
    store: SubscriberStore, engine: Engine
):
    await store.put(ALICE)
    document = await engine.get_document(f"subscriber/{SUPI}")
    assert document is not None
    await engine.put_document("subscriber/imsi-001010000000009", document.body)
    with pytest.raises(WrongKeyError, match="imsi-001010000000009"):
        await store.get("imsi-001010000000009")


async def test_what_is_no_subscription_is_damage(store: SubscriberStore, engine: Engine):
    await engine.put_document(f"subscriber/{SUPI}", b"\xc1")
    with pytest.raises(StoreDamaged, match=f"version 1 of the subscription of {SUPI} cannot"):
        await store.get(SUPI)


async def test_subscriptions_are_listed_in_order(store: SubscriberStore, engine: Engine):
    await engine.put_document("subscribes/other", b"")
    everyone = [replace(ALICE, supi=f"imsi-00101{number:010}") for number in range(80)]
    assert await store.put_all(list(reversed(everyone))) == [1] * 80
    await store.put(replace(everyone[3], barred=True))
    await store.withdraw(everyone[5].supi)
    listed = await store.list_from()
    assert [one.supi for one in listed] == [one.supi for one in everyone]
    assert [one.version for one in listed[2:7]] == [1, 2, 1, 2, 1]
    assert listed[5].subscriber is None
    assert listed[4].subscriber == everyone[4]
    after = await store.list_from("imsi-00101", everyone[9].supi, 5)
    assert after == listed[10:15]
    assert await store.list_from("imsi-00102") == []
