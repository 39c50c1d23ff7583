"""The data directory of a local core: secrets, event log, broker files, log files."""

import secrets as random
from collections.abc import Callable, Generator
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from typing import Final

import msgspec

from evcore.local import lock, private
from eventing.access.files import write_once
from schemas.config import reading as configuration
from schemas.config.reading import Config, ConfigError, HomeNetworkKeyConfig, Secrets

DEFAULT: Final = Path(".evcore")


class DataDirectory:
    """The files of a local core."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def secrets_file(self) -> Path:
        """Keys, readable only by the owner."""
        return self.root / "secrets.json"

    @property
    def config_file(self) -> Path:
        """The configuration of the processes."""
        return self.root / "config.json"

    @property
    def database(self) -> Path:
        """The event log of the embedded store."""
        return self.root / "evcore.db"

    @property
    def broker(self) -> Path:
        """JetStream's files."""
        return self.root / "jetstream"

    @property
    def nats_keys(self) -> Path:
        """The nkeys of the roles on the bus, each readable only by the owner."""
        return self.root / "nats"

    @property
    def variants(self) -> Path:
        """The variants that were swapped in."""
        return self.root / "variants"

    @property
    def logs(self) -> Path:
        """Directory of the log files of the processes."""
        return self.root / "logs"

    def log(self, name: str) -> Path:
        """Return the log file of a process."""
        return self.logs / f"{name}.log"

    @property
    def store_url(self) -> str:
        """The URL of the embedded store."""
        return f"sqlite://{self.database.resolve()}"

    @property
    def running(self) -> bool:
        """Whether a core runs on this directory."""
        return lock.is_held(self._lock)

    @property
    def owner(self) -> int:
        """The process of the core that runs on this directory.

        Raises:
            ConfigError: the process is not known.
        """
        found = lock.owner(self._lock)
        if not found:
            raise ConfigError(f"{self._lock} does not name the process that runs on {self.root}")
        return found

    def held(self) -> AbstractAsyncContextManager[int]:
        """Lock the directory for the duration of a block; see `lock.held`."""
        return lock.held(self._lock)

    @property
    def _lock(self) -> Path:
        return self.root / "lock"

    def prepare(self, say: Callable[[str], None] | None = None) -> Secrets:
        """Create the directory and, the first time, its keys. Return the keys.

        The directory and all files in it get private (`private.tighten`): the log has the locations
        of subscribers. `say` gets a sentence if other users had rights to some of them. There is
        one key for the log, one for 5G-TMSIs, and a home network key for each SUCI
        profile: number 1 for profile A, number 2 for profile B; and a token for functions over
        HTTP.

        Raises:
            ConfigError: the directory cannot be used, is another user's, or has lost its keys.
        """
        with self._usable():
            private.make_directory(self.root)
            if (shared := private.tighten(self.root)) and say is not None:
                some = "1 file" if shared == 1 else f"{shared} files"
                say(f"note: other users had rights to {some} of {self.root}; they have none now")
            if not self.secrets_file.exists():
                if self.database.exists():
                    raise ConfigError(
                        f"{self.secrets_file} is missing, and {self.database} cannot be read "
                        "without it: restore the file"
                    )
                self._make_secrets()
        return self.secrets()

    def secrets(self) -> Secrets:
        """Read the keys.

        Raises:
            ConfigError: there are no keys, or they cannot be read.
        """
        return configuration.load_secrets(self.secrets_file, {})

    def _make_secrets(self) -> None:
        made = Secrets(
            master_key=random.token_hex(32),
            tmsi_key=random.token_hex(32),
            home_network_keys=(
                HomeNetworkKeyConfig(1, "A", random.token_hex(32)),
                HomeNetworkKeyConfig(2, "B", random.token_hex(32)),
            ),
            http_tokens=random.token_hex(32),
        )
        write_once(self.secrets_file, msgspec.json.encode(made))

    def write_config(self, config: Config) -> Config:
        """Write the configuration of the processes, with the embedded store. Return it.

        Raises:
            ConfigError: the file cannot be written.
        """
        store = msgspec.structs.replace(config.store, url=self.store_url)
        made = msgspec.structs.replace(config, store=store)
        with self._usable():
            # Replace the file atomically: a process that starts now reads a whole file.
            part = self.root / "config.json.new"
            part.unlink(missing_ok=True)
            part.touch(private.FILE)
            part.write_bytes(msgspec.json.format(msgspec.json.encode(made)))
            part.replace(self.config_file)
        return made

    @contextmanager
    def _usable(self) -> Generator[None]:
        try:
            yield
        except OSError as err:
            raise ConfigError(
                f"{self.root} cannot be used as a data directory: {err.strerror}"
            ) from None
