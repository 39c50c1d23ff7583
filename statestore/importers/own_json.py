"""evcore's own JSON: an array of subscribers, or one on each line.

    {"supi": "imsi-001010000000001",            or "imsi": "001010000000001"
     "k": "465b5ce8b199b49faa5f0a2ee238a6bc",   32 hexadecimal digits
     "opc": "e8ed289deba952e4283b54e88e6183ca", or "op"
     "slices": [{"sst": 1, "sd": "000001", "default": true,
                 "dnns": [{"name": "internet"}]}]}

Optional fields with their defaults: "amf" ("8000"), "sqn" (0; a number or 12 hexadecimal digits),
"ambr" ({"uplink": "1 Gbps", "downlink": 1000000000}, a number is in bit/s), "barred" (false),
"forbidden_tacs" ([]; numbers or 6 hexadecimal digits), "nr_allowed" (true), "auth_method"
("5G_AKA"; or "EAP_AKA_PRIME"), "rfsp" (0 for none; up to 256). Optional fields of a slice: "sd",
"default" (false) and "dnns".
Optional fields of a DNN: "session_types" (["IPV4"]), "ambr", "five_qi" (9), "arp_priority" (8),
"arp_preemption_capability" and "arp_preemption_vulnerability" (false).
"""

from typing import Any

from schemas.subscriber import Ambr, AuthMethod, Dnn, SubscribedSlice, Subscriber
from statestore.importers import values
from statestore.importers.assemble import (
    PLAIN_AMBR,
    PLAIN_DNN,
    ambr,
    check_slices,
    key,
    nssai,
    opc,
    refuse_unread,
)
from statestore.importers.fields import Fields


def records(found: list[Any]) -> list[tuple[str, Any]]:
    """Return the records of a file, each with its name for messages."""
    return [(f"record {number}", value) for number, value in enumerate(found, 1)]


def subscriber(record: str, value: Any, notes: list[str]) -> Subscriber:
    """Return the subscriber of a record.

    Raises:
        ImportProblem: a value is wrong, or a field is not part of this format.
    """
    fields = Fields(value, record)
    supi = fields.need("imsi" if "imsi" in fields and "supi" not in fields else "supi", values.supi)
    fields.record = f"{record} ({supi})"
    k = fields.need("k", key)
    made = Subscriber(
        supi=supi,
        k=k,
        opc=opc(fields, k),
        slices=check_slices(
            fields, "slices", [_slice(s) for s in fields.children("slices")], notes
        ),
        amf=fields.take("amf", values.amf, b"\x80\x00"),
        sqn=fields.take("sqn", values.sqn, 0),
        ambr=_rates(fields),
        barred=fields.take("barred", values.boolean, False),
        forbidden_tacs=fields.each("forbidden_tacs", values.tac),
        nr_allowed=fields.take("nr_allowed", values.boolean, True),
        auth_method=fields.take("auth_method", values.auth_method, AuthMethod.FIVE_G_AKA),
        rfsp=fields.take("rfsp", values.rfsp, 0),
    )
    refuse_unread(fields)
    return made


def _slice(fields: Fields) -> SubscribedSlice:
    made = SubscribedSlice(
        nssai=nssai(fields),
        default=fields.take("default", values.boolean, False),
        dnns=tuple(_dnn(dnn) for dnn in fields.children("dnns")),
    )
    refuse_unread(fields)
    return made


def _dnn(fields: Fields) -> Dnn:
    made = Dnn(
        name=fields.need("name", values.dnn),
        session_types=fields.each("session_types", values.session_type) or PLAIN_DNN.session_types,
        ambr=_rates(fields),
        five_qi=fields.take("five_qi", values.default_5qi, PLAIN_DNN.five_qi),
        arp_priority=fields.take(
            "arp_priority", lambda v: values.integer(v, 1, 15), PLAIN_DNN.arp_priority
        ),
        arp_preemption_capability=fields.take("arp_preemption_capability", values.boolean, False),
        arp_preemption_vulnerability=fields.take(
            "arp_preemption_vulnerability", values.boolean, False
        ),
    )
    refuse_unread(fields)
    return made


def _rates(fields: Fields) -> Ambr:
    inner = fields.maybe("ambr")
    rates = ambr(inner)
    if inner is not None:
        refuse_unread(inner)
    return rates or PLAIN_AMBR
