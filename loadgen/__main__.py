"""`python -m loadgen CONFIG.json`: run the load of a JSON file.

The file has the fields of `loadgen.LoadConfig`; ``-`` reads it from standard input. The exit
status is 0 for a load without failures and violations, 1 for a load with some, and 2 if the load
could not run.
"""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from loadgen.errors import ConfigError, LoadError
from loadgen.load.config import LoadConfig
from loadgen.load.driver import run
from loadgen.report.report import Report


def read_config(path: str) -> LoadConfig:
    """Read a load from a JSON file.

    Raises:
        ConfigError: the file cannot be read or is not a valid load.
    """
    try:
        text = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        return msgspec.json.decode(text, type=LoadConfig)
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise ConfigError(f"{path}: {error}") from error


def run_blocking(config: LoadConfig) -> Report:
    """Run a load in its own event loop, of uvloop if it is installed."""
    try:
        import uvloop  # noqa: PLC0415 - optional
    except ImportError:
        return asyncio.run(run(config))
    return uvloop.run(run(config))


def main(arguments: Sequence[str]) -> int:
    """Run the load that the arguments name. Return the exit status."""
    usage = "usage: python -m loadgen CONFIG.json"
    if "--help" in arguments or "-h" in arguments:
        print(usage)
        return 0
    if len(arguments) != 1:
        print(usage, file=sys.stderr)
        return 2
    try:
        config = read_config(arguments[0])
        report = run_blocking(config)
    except (ConfigError, LoadError) as error:
        print(f"load: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    if config.profile == "foreign" and not report.ok:
        print(f"load: seed {config.seed} repeats the foreign messages", file=sys.stderr)
    print(report.line)
    return 0 if report.ok else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
