"""The credentials of a process that POSTs events: a token, and certificates.

Knative Eventing puts its own into the container of a ContainerSource: the CA of the sink into
K_CA_CERTS and below `BUNDLES`, and with the feature ``authentication-oidc``, a token for the
audience of the sink into `OIDC_TOKEN`, which it renews.
"""

import ssl
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from schemas.config.http import HttpConfig
from schemas.config.values import ConfigError

OIDC_TOKEN: Final = Path("/oidc/token")
BUNDLES: Final = Path("/knative-custom-certs")
CA_CERTS: Final = "K_CA_CERTS"
"""The environment variable with the CA of the sink, as PEM."""
READ_AGAIN: Final = 30.0
"""Seconds after which the token of the file is read again."""


class Token:
    """The token of a caller: that of a file if there is one, otherwise a given one."""

    def __init__(
        self,
        given: str = "",
        file: Path = OIDC_TOKEN,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`given` may be empty, for no token; `clock` has seconds."""
        self._given = given
        self._file = file
        self._clock = clock
        self._found = ""
        self._read_at = -READ_AGAIN

    @property
    def headers(self) -> dict[str, str]:
        """The header of a request with the token; none without a token."""
        now = self._clock()
        if now - self._read_at >= READ_AGAIN:
            self._read_at = now
            try:
                self._found = self._file.read_text(encoding="ascii").strip()
            except (OSError, UnicodeDecodeError):
                self._found = ""
        token = self._found or self._given
        return {"Authorization": f"Bearer {token}"} if token else {}


def tls_context(
    http: HttpConfig, environment: Mapping[str, str], bundles: Path = BUNDLES
) -> ssl.SSLContext:
    """Return the TLS settings for a sink: the CAs of the system, of Knative and of [http], and the
    certificate of this process.

    Raises:
        ConfigError: a certificate or key cannot be used.
    """
    try:
        context = ssl.create_default_context()
        if http.ca:
            context.load_verify_locations(cafile=http.ca)
        if environment.get(CA_CERTS):
            context.load_verify_locations(cadata=environment[CA_CERTS])
        for bundle in sorted(bundles.rglob("*.pem")):
            context.load_verify_locations(cafile=bundle)
        if http.cert:
            context.load_cert_chain(http.cert, http.key)
    except (OSError, ValueError) as err:
        raise ConfigError(
            f"http.cert, http.key, http.ca or {CA_CERTS} cannot be used: {err}"
        ) from None
    return context
