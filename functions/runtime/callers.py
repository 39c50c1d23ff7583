"""The callers of an HTTP function: they show a token (RFC 6750) in each request.

A token is one of the function's own, which every caller shares, or a token that the issuer of the
cluster has signed for a caller (`functions.runtime.oidc`).
"""

import hmac
import logging
from collections.abc import Mapping
from typing import Final, Protocol

from msgspec import Struct

from eventing.process import is_logged

log = logging.getLogger(__name__)

_SCHEME: Final = "bearer "
LONGEST: Final = 1 << 13
"""Maximum characters of a token."""


class TokenError(Exception):
    """A token is not valid; the text is one phrase with the reason."""


class NotAllowedError(TokenError):
    """A token is valid, and its subject may not call."""


class Verifier(Protocol):
    """Verifies the tokens of an issuer."""

    async def check(self, token: str) -> None:
        """Check a token.

        Raises:
            NotAllowedError: it is valid, and its subject may not call.
            TokenError: it is not valid.
        """
        ...


class Refusal(Struct, frozen=True):
    """The response to a request that is refused."""

    status: int
    text: str
    challenge: str = ""
    """The header WWW-Authenticate."""


MISSING: Final = Refusal(401, "a token is needed: Authorization: Bearer ...", "Bearer")


class Callers:
    """Checks who calls."""

    def __init__(
        self,
        tokens: tuple[str, ...],
        oidc: Verifier | None = None,
        *,
        anonymous: bool = False,
    ) -> None:
        """Create a check.

        Args:
            tokens: the tokens of the function.
            oidc: verifies tokens of the cluster's issuer.
            anonymous: whether a request without a token is accepted.
        """
        self._tokens = [token.encode() for token in tokens]
        self._oidc = oidc
        self._anonymous = anonymous
        self._refused = 0

    async def refusal(self, headers: Mapping[str, str]) -> Refusal | None:
        """Return why a request with these headers is refused; None if it is accepted."""
        if self._anonymous:
            return None
        found = await self._refusal(headers.get("authorization", ""))
        if found is not None:
            self._refused += 1
            if is_logged(self._refused):
                log.warning("%d request(s) refused: %s", self._refused, found.text)
        return found

    async def _refusal(self, authorization: str) -> Refusal | None:
        if authorization[: len(_SCHEME)].lower() != _SCHEME:
            return MISSING
        token = authorization[len(_SCHEME) :].strip()
        if len(token) > LONGEST:
            return _wrong("the token is too long")
        if self._is_own(token):
            return None
        return await self._refusal_by_issuer(token)

    async def _refusal_by_issuer(self, token: str) -> Refusal | None:
        if self._oidc is None:
            return _wrong("the token is none of this function's")
        try:
            await self._oidc.check(token)
        except NotAllowedError as err:
            return Refusal(403, str(err), 'Bearer error="insufficient_scope"')
        except TokenError as err:
            return _wrong(str(err))
        return None

    def _is_own(self, token: str) -> bool:
        """Compare with all tokens, in a time that does not depend on their contents."""
        given = token.encode(errors="replace")
        return sum(hmac.compare_digest(given, one) for one in self._tokens) > 0


def _wrong(text: str) -> Refusal:
    return Refusal(401, text, 'Bearer error="invalid_token"')
