"""The lag of a consumer as KEDA's nats-jetstream scaler computes it (2.16,
pkg/scalers/nats_jetstream_scaler.go), from the same requests to the monitoring port."""

import asyncio
import json
import math
import urllib.request
from typing import Any, NamedTuple
from urllib.parse import urlsplit


class Metric(NamedTuple):
    """The value of a trigger for the formula, and whether it activates a target by itself."""

    value: int
    active: bool
    found: bool
    """Whether the consumer exists. KEDA does not report this."""


async def metric(metadata: dict[str, str], endpoint: str) -> Metric:
    """Return the metric of a trigger, with `endpoint` as its monitoring endpoint.

    Raises:
        LookupError: KEDA would report an error: the stream or its leader does not exist.
    """
    url = f"http://{endpoint}/jsz?acc={metadata['account']}&consumers=true&config=true"
    document = await _get(url)
    if document.get("meta_cluster", {}).get("cluster_size", 0) > 1:
        document = await _of_leader(url, metadata)
    stream = _stream(document, metadata)
    if stream is None:
        raise LookupError("stream not found")
    consumer = _consumer(stream, metadata)
    if consumer is None:
        value = stream["state"]["last_seq"]
    else:
        value = consumer["num_pending"] + consumer["num_ack_pending"]
    active = value > int(metadata.get("activationLagThreshold", "0"))
    return Metric(value, active, consumer is not None)


class Scaling(NamedTuple):
    """The scaling of a ScaledObject."""

    composite: int
    replicas: int


async def scaling(spec: dict[str, Any], endpoint: str) -> Scaling:
    """Return the sum of a ScaledObject's formula, and the replicas that KEDA and its HPA set for
    it."""
    modifiers = spec["advanced"]["scalingModifiers"]
    triggers = {one["name"]: one["metadata"] for one in spec["triggers"]}
    names = modifiers["formula"].split(" + ")
    metrics = await asyncio.gather(*(metric(triggers[name], endpoint) for name in names))
    composite = sum(one.value for one in metrics)
    if composite <= float(modifiers["activationTarget"]):
        return Scaling(composite, spec["minReplicaCount"])
    wanted = math.ceil(composite / float(modifiers["target"]))
    return Scaling(composite, min(max(1, wanted), spec["maxReplicaCount"]))


async def _of_leader(url: str, metadata: dict[str, str]) -> dict[str, Any]:
    """Only the server that leads a consumer knows its number of pending messages."""
    parts = urlsplit(url)
    about = await _get(f"http://{parts.netloc}/varz")
    advertised = about.get("connect_urls") or []
    for one in advertised or about["cluster"]["urls"]:
        if advertised:
            host = f"{one.partition(':')[0]}:{parts.port}"
            node = (await _get(f"http://{host}/varz"))["server_name"]
        else:
            node = one.partition(".")[0]
            host = f"{node}.{parts.netloc}"
        document = await _get(f"http://{host}{parts.path}?{parts.query}")
        stream = _stream(document, metadata)
        consumer = None if stream is None else _consumer(stream, metadata)
        if consumer is not None and consumer.get("cluster", {}).get("leader") == node:
            return document
    raise LookupError(f"leader node not found for consumer {metadata['consumer']}")


def _stream(document: dict[str, Any], metadata: dict[str, str]) -> dict[str, Any] | None:
    for account in document.get("account_details") or ():
        for stream in account.get("stream_detail") or ():
            if (account["name"], stream["name"]) == (metadata["account"], metadata["stream"]):
                found: dict[str, Any] = stream
                return found
    return None


def _consumer(stream: dict[str, Any], metadata: dict[str, str]) -> dict[str, Any] | None:
    consumers: list[dict[str, Any]] = stream.get("consumer_detail") or []
    return next((one for one in consumers if one["name"] == metadata["consumer"]), None)


async def _get(url: str) -> dict[str, Any]:
    def read() -> dict[str, Any]:
        with urllib.request.urlopen(url, timeout=3) as answer:  # noqa: S310 - a test's own server
            document: dict[str, Any] = json.load(answer)
            return document

    return await asyncio.to_thread(read)
