"""CloudEvents on NATS JetStream: subjects, streams, publishing, pulling, leases and timers."""

import sys
from importlib import import_module

if "aiohttp" not in sys.modules:
    # nats-py imports aiohttp where it is installed, for WebSockets, which evcore does not use:
    # that would be half the start of a function.
    sys.modules["aiohttp"] = None  # pyright: ignore[reportArgumentType]
    import_module("nats.aio.transport")
    del sys.modules["aiohttp"]
