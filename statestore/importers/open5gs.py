"""Documents of Open5GS' collection `subscribers`, as mongoexport writes them.

A bit rate is a `value` and a `unit` (0 bit/s, 1 kbit/s, ... 4 Tbit/s). Units are decimal, as the
web interface of Open5GS names them; some versions of Open5GS count in steps of 1024. Features that
evcore does not support (static addresses, PCC rules, framed routes, ...) are noted.
"""

from typing import Any

from schemas.subscriber import Ambr, Dnn, PduSessionType, SubscribedSlice, Subscriber
from statestore.importers import values
from statestore.importers.assemble import (
    PLAIN_AMBR,
    PLAIN_DNN,
    check_slices,
    default_5qi,
    key,
    note,
    note_unread,
    nssai,
    opc,
)
from statestore.importers.fields import Fields

_TYPES: dict[int, PduSessionType] = {
    1: PduSessionType.IPV4,
    2: PduSessionType.IPV6,
    3: PduSessionType.IPV4V6,
    4: PduSessionType.UNSTRUCTURED,
    5: PduSessionType.ETHERNET,
}
# TS 29.272 7.3.31: the only bit of Access-Restriction-Data that applies to the 5GS.
_NR_IN_5GS_NOT_ALLOWED = 1 << 10
# Fields of the database, of the EPC, or of older versions.
_HOUSEKEEPING = (
    "_id", "__v", "schema_version", "imeisv", "mme_host", "mme_realm", "mm_realm", "mme_timestamp",
    "purge_flag", "network_access_mode",
)  # fmt: skip
_DEFAULT_TIMER = 12
_ALL_PACKET_SERVICES = 0
_NO_ADDRESS = (None, "0.0.0.0", "::")  # noqa: S104


def matches(document: Any) -> bool:
    """Whether a document looks like an Open5GS subscriber."""
    return (
        isinstance(document, dict)
        and "imsi" in document
        and ("security" in document or "slice" in document)
    )


def records(found: list[Any]) -> list[tuple[str, Any]]:
    """Return the records of a file, each with its name for messages."""
    return [(f"document {number}", value) for number, value in enumerate(found, 1)]


def subscriber(record: str, value: Any, notes: list[str]) -> Subscriber:
    """Return the subscriber of a document.

    Raises:
        ImportProblem: a value in the document is wrong.
    """
    fields = Fields(value, record)
    fields.skip(*_HOUSEKEEPING)
    supi = fields.need("imsi", values.supi)
    fields.record = f"{record} ({supi})"
    security = fields.child("security")
    security.skip("rand")
    k = security.need("k", key)
    restrictions = fields.take(
        "access_restriction_data", lambda v: values.integer(v, 0, 2**32 - 1), 0
    )
    slices = [_slice(one, notes) for one in fields.children("slice")]
    made = Subscriber(
        supi=supi,
        k=k,
        opc=opc(security, k),
        slices=check_slices(fields, "slice", slices, notes),
        amf=security.take("amf", values.amf, b"\x80\x00"),
        sqn=security.take("sqn", values.sqn, 0),
        ambr=_ambr(fields),
        barred=_barred(fields, notes),
        nr_allowed=not restrictions & _NR_IN_5GS_NOT_ALLOWED,
    )
    timer = fields.take("subscribed_rau_tau_timer", lambda v: values.integer(v, 0, 10**6), 12)
    if timer != _DEFAULT_TIMER:
        notes.append(note(fields, "subscribed_rau_tau_timer", "is not supported and was left out"))
    note_unread(security, notes)
    note_unread(fields, notes)
    return made


def _barred(fields: Fields, notes: list[str]) -> bool:
    status = fields.take("subscriber_status", lambda v: values.integer(v, 0, 1), 0)
    kind = fields.take("operator_determined_barring", lambda v: values.integer(v, 0, 2**32), 0)
    if status and kind != _ALL_PACKET_SERVICES:
        name = "operator_determined_barring"
        notes.append(note(fields, name, f"{kind} was imported as barring of all packet services"))
    return bool(status)


def _slice(fields: Fields, notes: list[str]) -> SubscribedSlice:
    fields.skip("_id")
    made = SubscribedSlice(
        nssai=nssai(fields),
        default=fields.take("default_indicator", values.boolean, False),
        dnns=tuple(_session(one, notes) for one in fields.children("session")),
    )
    note_unread(fields, notes)
    return made


def _session(fields: Fields, notes: list[str]) -> Dnn:
    fields.skip("_id")
    qos = fields.maybe("qos")
    arp = qos.maybe("arp") if qos is not None else None
    made = Dnn(
        name=fields.need("name", values.dnn),
        session_types=(fields.take("type", _type, PduSessionType.IPV4V6),),
        ambr=_ambr(fields),
        five_qi=default_5qi(qos, "index"),
        arp_priority=_of(arp, "priority_level", 15, PLAIN_DNN.arp_priority),
        # In both fields 1 is disabled and 2 is enabled.
        arp_preemption_capability=_of(arp, "pre_emption_capability", 2, 1) == 2,
        arp_preemption_vulnerability=_of(arp, "pre_emption_vulnerability", 2, 1) == 2,
    )
    for place in ("ue", "smf"):
        _note_addresses(fields, place, notes)
    for inner in (qos, arp):
        if inner is not None:
            note_unread(inner, notes)
    note_unread(fields, notes)
    return made


def _of(fields: Fields | None, name: str, most: int, default: int) -> int:
    if fields is None:
        return default
    return fields.take(name, lambda value: values.integer(value, 1, most), default)


def _note_addresses(fields: Fields, place: str, notes: list[str]) -> None:
    inner = fields.maybe(place)
    if inner is None:
        return
    notes.extend(
        note(inner, name, "is not supported and was left out")
        for name in inner.unread()
        if inner.raw(name) not in _NO_ADDRESS
    )


def _type(value: Any) -> PduSessionType:
    return _TYPES[values.integer(value, 1, 5)]


def _ambr(fields: Fields) -> Ambr:
    inner = fields.maybe("ambr")
    if inner is None:
        return PLAIN_AMBR
    return Ambr(_rate(inner, "uplink"), _rate(inner, "downlink"))


def _rate(fields: Fields, name: str) -> int:
    inner = fields.child(name)
    unit = inner.take("unit", lambda value: values.integer(value, 0, 4), 0)
    return inner.need("value", lambda v: values.rate(values.integer(v, 0, 10**12) * 1000**unit))
