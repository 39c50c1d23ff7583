"""CloudEvents on NATS JetStream and over HTTP."""

# nats-py must first be imported by this module: it keeps aiohttp out of the process.
from eventing.jetstream import nats_internals as nats_internals
