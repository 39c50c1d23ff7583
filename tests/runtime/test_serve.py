"""The end of the HTTP server of a function."""

import signal
from collections.abc import Generator

import pytest

from evcore.local.broker import free_port
from functions.runtime.serve import Address, serve
from schemas.config.http import HttpConfig
from schemas.config.reading import Config, ConfigError, Secrets
from schemas.procedures import Procedure


@pytest.fixture(autouse=True)
def _signals() -> Generator[None]:
    """Restore the signal handlers of this process afterwards."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_what_keeps_it_from_starting_is_raised() -> None:
    secrets = Secrets(tmsi_key="00" * 32, http_tokens="0" * 32)
    address = Address("127.0.0.1", free_port())
    with pytest.raises(ConfigError, match="master_key is not set"):
        serve(Config(), secrets, (Procedure.RAN,), address)
    mutual = Config(http=HttpConfig(cert="/none", key="/none"))
    with pytest.raises(ConfigError, match=r"http\.cert, http\.key or http\.ca cannot be used"):
        serve(mutual, secrets, (Procedure.RAN,), address)
