"""The table [http] of the configuration: functions over HTTP, and the processes that call them."""

import re
from typing import Annotated, Final

from msgspec import Meta, Struct

from schemas.config.values import ConfigError, Text

SHORTEST_TOKEN: Final = 32
"""Minimum characters of a token: 128 bits, if they are random hexadecimal digits."""
_is_token: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*", re.ASCII).fullmatch


class OidcConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """The table [http.oidc]: functions accept tokens of the cluster's issuer, as Knative Eventing
    sends them (feature ``authentication-oidc``)."""

    issuer: Text
    """The claim `iss`, such as ``"https://kubernetes.default.svc.cluster.local"``."""
    audience: Text
    """The claim `aud`: ``spec.sink.audience`` of the ContainerSource."""
    subjects: Annotated[tuple[Text, ...], Meta(min_length=1)]
    """Accepted claims `sub`. A ``*`` at the end stands for any rest: everybody who may create pods
    in some namespace gets tokens for any audience, but none for accounts of another namespace."""
    jwks: Text
    """The keys of the issuer (RFC 7517): a file, or an https URL such as
    ``"https://kubernetes.default.svc/openid/v1/jwks"``."""
    ca: str = ""
    """A file with the CA of that URL; that of the system if empty."""
    token: str = ""
    """A file with a token for that URL; none if empty."""


class HttpConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """The table [http]."""

    connections: Annotated[int, Meta(ge=8, le=1 << 16)] = 1024
    """Maximum number of connections of a function. Beyond it, the one that has waited longest for a
    request is closed."""
    headers_within: Annotated[float, Meta(gt=0, le=600)] = 10.0
    """Seconds for the headers of a request; a connection without a request ends after them too."""
    body_within: Annotated[float, Meta(gt=0, le=600)] = 10.0
    """Seconds for the body of a request."""
    cert: str = ""
    """A file with the certificate of this process, as PEM; without one a function has no TLS."""
    key: str = ""
    """A file with its private key."""
    ca: str = ""
    """A file with the CA of the other side. A function then needs a certificate of its callers."""
    oidc: OidcConfig | None = None


def check(config: HttpConfig) -> None:
    """Check the rules that the types cannot express.

    Raises:
        ConfigError: only one of certificate and key is given, or the keys of the issuer are neither
            a file nor an https URL.
    """
    if bool(config.cert) != bool(config.key):
        raise ConfigError("http.cert and http.key are needed together")
    oidc = config.oidc
    if oidc is not None and "://" in oidc.jwks and not oidc.jwks.startswith("https://"):
        raise ConfigError(f"http.oidc.jwks is {oidc.jwks!r}, neither a file nor an https URL")


def tokens_of(text: str) -> tuple[str, ...]:
    """Return the tokens in a text with spaces or line ends between them.

    Raises:
        ConfigError: a token is too short, or has characters that no bearer token has (RFC 6750
            2.1).
    """
    tokens = tuple(text.split())
    for token in tokens:
        if len(token) < SHORTEST_TOKEN or not _is_token(token):
            raise ConfigError(
                f"each of http_tokens must have at least {SHORTEST_TOKEN} letters and digits"
            )
    return tokens
