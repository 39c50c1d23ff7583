"""Small steps that many tests share."""

from collections.abc import Callable
from typing import Any

import wire
from loadgen.gnb.context import CampedUe
from loadgen.ue.model import Procedure
from tests.loadgen.amf import Amf, Connection, Tree
from tests.loadgen.world import World

REGISTER = Procedure.REGISTER
IDLE = Procedure.IDLE
SERVICE = Procedure.SERVICE
DEREGISTER = Procedure.DEREGISTER
OFF = Procedure.SWITCH_OFF
SESSION = Procedure.SESSION
SERVICE_REQUEST = Procedure.SERVICE_REQUEST
PAGE = Procedure.PAGE
RELEASE_SESSION = Procedure.RELEASE_SESSION

_BEARER = 1


def seal(
    kamf: bytes,
    nia: int,
    nea: int,
    count: int,
    plain: bytes,
    *,
    header: int = 2,
    cipher: bool = True,
) -> bytes:
    """Return a downlink message with a correct MAC."""
    body = plain
    if cipher:
        body = wire.nea(nea, wire.knas_enc(kamf, nea), count, _BEARER, plain, downlink=True)
    body = bytes([count & 0xFF]) + body
    mac = wire.nia(nia, wire.knas_int(kamf, nia), count, _BEARER, body, downlink=True)
    return bytes([0x7E, header]) + mac + body


def sealed(camped: CampedUe, count: int, tree: Tree | bytes, **how: Any) -> bytes:
    """Return a downlink message under a UE's context, with any COUNT."""
    context = camped.ue.channel.current
    assert context is not None
    plain = tree if isinstance(tree, bytes) else wire.nas_encode(tree)
    return seal(context.kamf, context.nia, context.nea, count, plain, **how)


def registered(world: World | None = None, index: int = 0) -> tuple[World, CampedUe]:
    """Return a UE that is registered and connected without violations."""
    world = world or World()
    camped = world.ue(index)
    assert world.register(camped).cause is None
    assert world.violations == []
    return world, camped


def next_count(camped: CampedUe) -> int:
    """Return the downlink COUNT that the UE expects."""
    context = camped.ue.channel.current
    assert context is not None
    assert context.nas.downlink is not None
    return context.nas.downlink


def attempt(change: Callable[[Amf], None], world: World | None = None) -> tuple[World, CampedUe]:
    """Start a registration with a changed AMF; the registration may not end."""
    world = world or World()
    change(world.amf)
    camped = world.ue()
    world.begin(camped, REGISTER)
    world.settle()
    return world, camped


def put(name: str, message: str, value: Any) -> Callable[[Amf], None]:
    """Return a change of the AMF: `message` has another value of an IE."""

    def change(amf: Amf) -> None:
        amf.trees[message] = lambda tree: {**tree, name: value}

    return change


def without(name: str, message: str) -> Callable[[Amf], None]:
    """Return a change of the AMF: `message` lacks an IE."""

    def change(amf: Amf) -> None:
        amf.trees[message] = lambda tree: {k: v for k, v in tree.items() if k != name}

    return change


def lose(message: str, times: int = 1) -> Callable[[Amf], None]:
    """Return a change of the AMF: it loses a NAS message this many times."""

    def change(amf: Amf) -> None:
        left = [times]

        def tree(found: Tree) -> Tree | None:
            left[0] -= 1
            return None if left[0] >= 0 else found

        amf.trees[message] = tree

    return change


def flip(pdu: bytes, at: int) -> bytes:
    """Return the octets with one bit flipped."""
    return pdu[:at] + bytes([pdu[at] ^ 1]) + pdu[at + 1 :]


def put_ie(name: str, message: str, value: Any) -> Callable[[Amf], None]:
    """Return a change of the AMF: an NGAP message has another value of an IE; None omits the IE."""

    def change(amf: Amf) -> None:
        def tree(found: Tree) -> Tree:
            ies = [{name: value} if name in ie else ie for ie in found["ies"]]
            if not any(name in ie for ie in ies):
                # The order of the ASN.1: the IEs that tests add come before this one.
                at = next((n for n, ie in enumerate(ies) if "NAS-PDU" in ie), len(ies))
                ies.insert(at, {name: value})
            return {**found, "ies": [ie for ie in ies if ie != {name: None}]}

        amf.pdus[message] = tree

    return change


def reject_service(cause: str) -> Callable[[Amf], None]:
    """Return a change of the AMF: it rejects service requests, and sets up no context."""

    def change(amf: Amf) -> None:
        amf.trees["service-accept"] = lambda _: {
            "message-type": "service-reject",
            "5gmm-cause": cause,
        }
        amf.pdus["InitialContextSetupRequest"] = lambda t: {
            "message": "DownlinkNASTransport",
            "ies": [ie for ie in t["ies"] if next(iter(ie)).endswith(("NGAP-ID", "NAS-PDU"))],
        }

    return change


def connection(world: World, camped: CampedUe) -> Connection:
    """Return the AMF's side of a UE's connection."""
    assert camped.context is not None
    gnb, ran = camped.cell.config.name, camped.context.ran_ue_ngap_id
    found = [c for c in world.amf.connections.values() if (c.gnb, c.ran) == (gnb, ran)]
    return found[-1]
