"""Certificates and tokens for tests: a CA, its certificates, and an issuer of JWTs."""

import datetime as dt
import ipaddress
import json
import time
from pathlib import Path
from typing import Any

import jwt
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID
from jwt.algorithms import RSAAlgorithm


class Authority:
    """A CA with its certificate in a file."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        self.file = folder / f"{name}.pem"
        made = self._builder(self._name, self._key, ca=True).sign(self._key, hashes.SHA256())
        self.file.write_bytes(made.public_bytes(serialization.Encoding.PEM))

    def certificate(self, name: str) -> tuple[str, str]:
        """Return the files of a new certificate for 127.0.0.1 and of its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        made = (
            self._builder(_name(name), key, ca=False)
            .add_extension(x509.SubjectAlternativeName([address]), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        files = self._folder / f"{name}.pem", self._folder / f"{name}.key"
        files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
        files[1].write_bytes(_pem(key))
        return str(files[0]), str(files[1])

    def _builder(
        self, name: x509.Name, key: ec.EllipticCurvePrivateKey, *, ca: bool
    ) -> x509.CertificateBuilder:
        now = dt.datetime.now(dt.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(hours=1))
            .not_valid_after(now + dt.timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
                critical=False,
            )
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
            )
        )


class Issuer:
    """An issuer of tokens, as the API server of a cluster."""

    def __init__(self, kid: str = "key-1") -> None:
        self.kid = kid
        self.key = rsa.generate_private_key(65537, 2048)

    @property
    def jwks(self) -> str:
        """The set of its key (RFC 7517)."""
        found: dict[str, Any] = json.loads(RSAAlgorithm.to_jwk(self.key.public_key()))
        return json.dumps({"keys": [{**found, "kid": self.kid, "alg": "RS256", "use": "sig"}]})

    def token(self, headers: dict[str, Any] | None = None, **changes: Any) -> str:
        """Return a token as Kubernetes makes it. None removes a claim."""
        now = int(time.time())
        claims = {
            "iss": "https://kubernetes.default.svc",
            "aud": ["evcore/registration"],
            "sub": "system:serviceaccount:evcore:registration-oidc",
            "iat": now,
            "nbf": now,
            "exp": now + 600,
        } | changes
        found = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode(found, _pem(self.key), "RS256", {"kid": self.kid, **(headers or {})})


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
