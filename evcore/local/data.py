"""The data directory of a local core: its secrets, its log, its broker, its run files."""

import secrets as random
from pathlib import Path
from typing import Final

import msgspec

from schemas.config import Config, HomeNetworkKeyConfig, Secrets, StoreConfig

DEFAULT: Final = Path(".evcore")


class DataDirectory:
    """Where a local core keeps what it keeps."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def secrets_file(self) -> Path:
        """Keys, readable by the owner alone."""
        return self.root / "secrets.json"

    @property
    def config_file(self) -> Path:
        """The configuration that the processes run with."""
        return self.root / "config.json"

    @property
    def database(self) -> Path:
        """The event log of the embedded store."""
        return self.root / "evcore.db"

    @property
    def broker(self) -> Path:
        """JetStream's files."""
        return self.root / "jetstream"

    def log(self, name: str) -> Path:
        """Where a process writes what it has to say."""
        return self.root / "logs" / f"{name}.log"

    @property
    def store_url(self) -> str:
        """The URL of the embedded store."""
        return f"sqlite://{self.database.resolve()}"

    def prepare(self) -> Secrets:
        """Make the directory and, the first time, its keys.

        The keys are one for the log, one for 5G-TMSIs, and a home network key of each SUCI
        profile: number 1 for profile A, number 2 for profile B.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        path = self.secrets_file
        if path.exists():
            return msgspec.json.decode(path.read_bytes(), type=Secrets)
        made = Secrets(
            master_key=random.token_hex(32),
            tmsi_key=random.token_hex(32),
            home_network_keys=(
                HomeNetworkKeyConfig(1, "A", random.token_hex(32)),
                HomeNetworkKeyConfig(2, "B", random.token_hex(32)),
            ),
        )
        path.touch(mode=0o600)
        path.write_bytes(msgspec.json.encode(made))
        return made

    def write_config(self, config: Config) -> Config:
        """Write the configuration that the processes run with, its store the embedded one."""
        made = msgspec.structs.replace(config, store=StoreConfig(self.store_url))
        self.config_file.write_bytes(msgspec.json.format(msgspec.json.encode(made)))
        return made
