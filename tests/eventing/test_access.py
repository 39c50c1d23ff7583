"""Connections as a role: keys, TLS, and settings that are refused."""

import datetime as dt
import ipaddress
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from evcore.local.broker import Broker
from eventing.access import keys
from eventing.access.authorization import configuration
from eventing.access.connecting import NKEY, connected_as
from eventing.access.roles import Role
from eventing.jetstream.connection import BusError, request
from schemas.config.nats import NatsConfig, check
from schemas.config.values import ConfigError


def certify(folder: Path) -> tuple[str, str]:
    """Write a certificate of 127.0.0.1 that is its own CA, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "nats")])
    now = dt.datetime.now(dt.UTC)
    host = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([host]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (folder / "tls.crt").write_bytes(made.public_bytes(pem))
    form = serialization.PrivateFormat.PKCS8
    (folder / "tls.key").write_bytes(key.private_bytes(pem, form, serialization.NoEncryption()))
    return str(folder / "tls.crt"), str(folder / "tls.key")


async def test_a_role_connects_with_its_key_over_tls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cert, key = certify(tmp_path)
    users = configuration(keys.make_missing(tmp_path / "keys"))
    tls = f'tls: {{ cert_file: "{cert}", key_file: "{key}" }}\n'
    broker = await Broker.start(tmp_path / "js", tmp_path / "nats.log", settings=users + tls)
    try:
        bus = NatsConfig(url=broker.url, nkey=str(tmp_path / "keys"), ca=cert)
        async with connected_as(Role.SETUP, bus, "test") as client:
            assert (await request(client, "INFO"))["streams"] == 0
        of_file = NatsConfig(url=broker.url, nkey=str(tmp_path / "keys" / "console.nk"), ca=cert)
        async with connected_as(Role.CONSOLE, of_file, "test"):
            pass
        bare = NatsConfig(url=broker.url, ca=cert)
        with pytest.raises(BusError, match="cannot connect"):
            async with connected_as(Role.CONSOLE, bare, "test"):
                pass
        monkeypatch.setenv(NKEY, str(tmp_path / "keys"))
        async with connected_as(Role.CONSOLE, bare, "test"):
            pass
        # Of a CA that the process does not know.
        unknown = NatsConfig(url=broker.url.replace("nats:", "tls:"))
        with pytest.raises(BusError, match="cannot connect"):
            async with connected_as(Role.CONSOLE, unknown, "test"):
                pass
    finally:
        await broker.stop()


async def test_no_connection_goes_on_without_the_tls_that_is_demanded(tmp_path: Path) -> None:
    """A server that offers no TLS looks the same as one whose offer was removed on the way."""
    cert, _ = certify(tmp_path)
    broker = await Broker.start(tmp_path / "js", tmp_path / "nats.log")
    try:
        for bus in (NatsConfig(url=broker.url, ca=cert), NatsConfig(url=f"tls{broker.url[4:]}")):
            with pytest.raises(BusError, match="secure connection not available"):
                async with connected_as(Role.CONSOLE, bus, "test"):
                    pass
    finally:
        await broker.stop()


@pytest.mark.parametrize(
    ("nats", "said"),
    [
        (NatsConfig(url="nats://10.0.0.1:4222"), "is another host"),
        (NatsConfig(url="nats://nats"), "is another host"),
        (NatsConfig(url="10.0.0.1:4222"), "is another host"),
        (NatsConfig(cert="a.crt"), "nats.cert and nats.key go together"),
        (NatsConfig(key="a.key"), "nats.cert and nats.key go together"),
    ],
)
def test_settings_that_are_refused(nats: NatsConfig, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        check(nats)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "nats",
    [
        NatsConfig(),
        NatsConfig(url="nats://localhost:4222"),
        NatsConfig(url="nats://[::1]:4222"),
        NatsConfig(url="127.0.0.9:4222"),
        NatsConfig(url="tls://nats:4222"),
        NatsConfig(url="nats://nats:4222", ca="ca.crt"),
        NatsConfig(url="nats://nats:4222", plaintext=True),
    ],
)
def test_settings_that_are_accepted(nats: NatsConfig) -> None:
    check(nats)


async def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    for bus, said in (
        (NatsConfig(nkey=str(tmp_path / "none.nk")), "none.nk: No such file"),
        (NatsConfig(nkey=str(tmp_path)), "console.nk: No such file"),
        (NatsConfig(ca=str(tmp_path / "none.crt")), "none.crt cannot be used: No such file"),
    ):
        with pytest.raises(ConfigError, match=said):
            async with connected_as(Role.CONSOLE, bus, "test"):
                pass
