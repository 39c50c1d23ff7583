"""Tokens of the cluster's issuer, with which Knative Eventing's sources call (feature
``authentication-oidc``; OpenID Connect Core 1.0, RFC 7519).

PyJWT verifies the signature, the issuer, the audience and the times of a token.
"""

import asyncio
import logging
import ssl
import time
import urllib.request
from collections import OrderedDict
from pathlib import Path
from typing import Final

import jwt

from functions.runtime.callers import NotAllowedError, TokenError
from schemas.config.http import OidcConfig
from schemas.config.values import ConfigError

log = logging.getLogger(__name__)

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "ES256", "ES384", "ES512")
"""Signatures of Kubernetes and of other issuers. Never ``none``, and none with a shared key."""
LEEWAY: Final = 30.0
"""Seconds by which clocks may differ."""
KEYS_FRESH: Final = 300.0
"""Seconds after which the keys of the issuer are read again."""
KEYS_PAUSE: Final = 10.0
"""Minimum seconds between two readings: an unknown key does not cause a reading each time."""
TIMEOUT: Final = 5.0
"""Seconds for the URL of the keys."""
_LARGEST: Final = 1 << 20
_MOST: Final = 256
"""Maximum number of tokens that are remembered as valid."""


class OidcVerifier:
    """Verifies the tokens of an issuer for the audience of this function."""

    def __init__(self, config: OidcConfig) -> None:
        self._config = config
        self._exact = {one for one in config.subjects if not one.endswith("*")}
        self._prefixes = tuple(one[:-1] for one in config.subjects if one.endswith("*"))
        self._keys: dict[str, jwt.PyJWK] = {}
        self._read_at = -KEYS_FRESH
        self._reading = asyncio.Lock()
        self._valid: OrderedDict[str, float] = OrderedDict()
        """Verified tokens, with the Unix time at which each expires."""

    async def check(self, token: str) -> None:
        """See `Verifier.check`."""
        if self._valid.get(token, 0.0) > time.time():
            return
        try:
            key = await self._key(str(jwt.get_unverified_header(token).get("kid", "")))
            claims = jwt.decode(
                token,
                key,
                algorithms=list(ALGORITHMS),
                audience=self._config.audience,
                issuer=self._config.issuer,
                leeway=LEEWAY,
                options={"require": ["exp", "aud", "iss", "sub"]},
            )
        except (jwt.PyJWTError, ValueError) as err:
            raise TokenError(f"the token is not valid: {err}") from None
        subject = str(claims["sub"])
        if subject not in self._exact and not subject.startswith(self._prefixes):
            raise NotAllowedError(f"{subject[:200]!r} is not one of http.oidc.subjects")
        self._valid[token] = float(claims["exp"])
        if len(self._valid) > _MOST:
            self._valid.popitem(last=False)

    async def _key(self, kid: str) -> jwt.PyJWK:
        now = time.monotonic()
        old = now - self._read_at
        if old >= KEYS_FRESH or (kid not in self._keys and old >= KEYS_PAUSE):
            async with self._reading:
                if self._read_at < now:
                    await self._read()
        if kid not in self._keys:
            raise TokenError(f"the issuer has no key {kid[:80]!r}")
        return self._keys[kid]

    async def _read(self) -> None:
        self._read_at = time.monotonic()
        try:
            text = await asyncio.to_thread(text_of, self._config)
            found = jwt.PyJWKSet.from_json(text)
        except (OSError, ValueError, jwt.PyJWTError) as err:
            log.warning("http.oidc.jwks %s cannot be read: %s", self._config.jwks, err)
        else:
            self._keys = {str(key.key_id or ""): key for key in found.keys}


def verifier_of(config: OidcConfig) -> OidcVerifier:
    """Return the verifier of a configuration.

    Raises:
        ConfigError: a file of the configuration does not exist.
    """
    for name, value in (("jwks", config.jwks), ("ca", config.ca), ("token", config.token)):
        if value and "://" not in value and not Path(value).is_file():
            raise ConfigError(f"http.oidc.{name}: there is no file {value}")
    return OidcVerifier(config)


def text_of(config: OidcConfig) -> str:
    """Return the key set of the issuer, as JSON.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not text.
    """
    if "://" not in config.jwks:
        return Path(config.jwks).read_text(encoding="utf-8")
    context = ssl.create_default_context(cafile=config.ca or None)
    request = urllib.request.Request(config.jwks)  # noqa: S310 - https, by the configuration
    if config.token:
        token = Path(config.token).read_text(encoding="utf-8").strip()
        request.add_header("Authorization", f"Bearer {token}")
    with urllib.request.urlopen(request, timeout=TIMEOUT, context=context) as answer:  # noqa: S310
        return answer.read(_LARGEST).decode()
