"""Subscribers of free5GC, from its web console or its MongoDB (see `free5gc_documents`).

The objects in the documents are those of TS 29.503 and TS 29.505. Two forms of keys are read: the
older one (``permanentKey.permanentKeyValue``, ``opc.opcValue``, ``milenage.op.opValue``) and the
newer one (``encPermanentKey``, ``encOpcKey``). In spite of these names free5GC does not encrypt
them. Features that evcore does not support are noted.
"""

from typing import Any

from schemas.identity import SNssai
from schemas.subscriber import AuthMethod, Dnn, SubscribedSlice, Subscriber
from statestore.importers import values
from statestore.importers.assemble import (
    PLAIN_AMBR,
    PLAIN_DNN,
    ambr,
    check_slices,
    default_5qi,
    key,
    note,
    note_unread,
    nssai,
)
from statestore.importers.fields import Fields
from statestore.importers.free5gc_documents import Bundle, bundles, matches
from statestore.importers.values import shown
from wire import milenage_opc

__all__ = ["matches", "records", "subscriber"]

_HOUSEKEEPING = ("_id", "ueId", "servingPlmnId", "tenantId", "supi")


def records(found: list[Any]) -> list[tuple[str, Any]]:
    """Return the subscribers of a file, each with its name for messages.

    Raises:
        ImportProblem: a document is not a free5GC document.
    """
    return [(bundle.record, bundle) for bundle in bundles(found)]


def subscriber(record: str, value: Any, notes: list[str]) -> Subscriber:
    """Return the subscriber of a bundle.

    Raises:
        ImportProblem: a value in the bundle is wrong.
    """
    bundle: Bundle = value
    supi = Fields({"ueId": bundle.ue_id}, record).need("ueId", values.supi)
    record = record if record == supi else f"{record} ({supi})"
    secrets = Fields(bundle.authentication or {}, record, "AuthenticationSubscription")
    access = Fields(bundle.access or {}, record, "AccessAndMobilitySubscriptionData")
    sessions = [
        Fields(one, record, f"SessionManagementSubscriptionData[{number}]")
        for number, one in enumerate(bundle.sessions)
    ]
    k, opc = _keys(secrets)
    made = Subscriber(
        supi=supi,
        k=k,
        opc=opc,
        slices=_slices(access, sessions, escaped=bundle.escaped, notes=notes),
        amf=secrets.take("authenticationManagementField", values.amf, b"\x80\x00"),
        sqn=_sqn(secrets),
        ambr=ambr(access.maybe("subscribedUeAmbr")) or PLAIN_AMBR,
        barred=_barred(access, notes),
        forbidden_tacs=_forbidden(access, notes),
        nr_allowed="NR" not in access.items("ratRestrictions")
        and "5GC" not in access.items("coreNetworkTypeRestrictions"),
        auth_method=_auth_method(secrets, notes),
        rfsp=access.take("rfspIndex", values.rfsp, 0),
    )
    for fields in (secrets, access, *sessions):
        fields.skip(*_HOUSEKEEPING)
        note_unread(fields, notes)
    notes.extend(f"{record}: {name} is not supported and was left out" for name in bundle.left_out)
    return made


def _auth_method(fields: Fields, notes: list[str]) -> AuthMethod:
    method = fields.raw("authenticationMethod")
    if method in tuple(AuthMethod):
        return AuthMethod(method)
    if method is not None:
        notes.append(
            note(fields, "authenticationMethod", f"{shown(str(method))} was replaced by 5G_AKA")
        )
    return AuthMethod.FIVE_G_AKA


def _keys(fields: Fields) -> tuple[bytes, bytes]:
    """Return K and OPc from either form."""
    k = (
        fields.need("encPermanentKey", key)
        if "encPermanentKey" in fields
        else _value(fields, "permanentKey", "permanentKeyValue")
    )
    if k is None:
        raise fields.problem("permanentKey", "is missing")
    opc = fields.take("encOpcKey", key, None) or _value(fields, "opc", "opcValue")
    milenage = fields.maybe("milenage")
    op = None
    if milenage is not None:
        if opc is not None:
            milenage.skip("op")
        else:
            op = _value(milenage, "op", "opValue")
    if opc is None and op is None:
        raise fields.problem("opc", "is missing, and so is milenage.op")
    return k, opc or milenage_opc(k, op or b"")


def _value(fields: Fields, name: str, inner_name: str) -> bytes | None:
    inner = fields.maybe(name)
    if inner is None or inner_name not in inner:
        return None
    if inner.take("encryptionAlgorithm", lambda v: values.integer(v, 0, 2**31), 0):
        raise inner.problem(inner_name, "is encrypted, and only free5GC can decrypt it")
    return inner.need(inner_name, key)


def _sqn(fields: Fields) -> int:
    if isinstance(fields.raw("sequenceNumber"), dict):
        inner = fields.child("sequenceNumber")
        return inner.take("sqn", values.sqn, 0)
    return fields.take("sequenceNumber", values.sqn, 0)


def _barred(fields: Fields, notes: list[str]) -> bool:
    services = fields.raw("odbPacketServices")
    if services not in (None, "ALL_PACKET_SERVICES"):
        notes.append(note(fields, "odbPacketServices", f"{shown(str(services))} is not supported"))
    return services == "ALL_PACKET_SERVICES"


def _forbidden(fields: Fields, notes: list[str]) -> tuple[int, ...]:
    tacs: list[int] = []
    for area in fields.children("forbiddenAreas"):
        tacs += area.each("tacs", values.tac)
        note_unread(area, notes)
    return tuple(tacs)


def _slices(
    access: Fields, sessions: list[Fields], *, escaped: bool, notes: list[str]
) -> tuple[SubscribedSlice, ...]:
    defaults: dict[SNssai, bool] = {}
    listed = access.maybe("nssai")
    if listed is not None:
        for name, default in (("defaultSingleNssais", True), ("singleNssais", False)):
            for one in listed.children(name):
                defaults.setdefault(nssai(one), default)
    dnns: dict[SNssai, list[Dnn]] = {}
    said: dict[SNssai, Any] = {}
    for session in sessions:
        of = nssai(session.child("singleNssai"))
        if of not in dnns:
            dnns[of] = _dnns(session, escaped=escaped, notes=notes)
            said[of] = session.raw("dnnConfigurations")
        elif session.says_as_well("dnnConfigurations", said[of]):
            # The bundle has the same slice for another serving PLMN.
            session.skip("dnnConfigurations")
    slices = [
        SubscribedSlice(one, default=defaults.get(one, False), dnns=tuple(dnns.get(one, ())))
        for one in dict.fromkeys([*defaults, *dnns])
    ]
    return check_slices(access, "nssai", slices, notes)


def _dnns(session: Fields, *, escaped: bool, notes: list[str]) -> list[Dnn]:
    configurations = session.maybe("dnnConfigurations")
    if configurations is None:
        return []
    made: list[Dnn] = []
    for key_name in configurations.unread():
        try:
            name = values.dnn(key_name.replace("_", ".") if escaped else key_name)
        except values.BadValue as err:
            raise configurations.problem(key_name, str(err)) from None
        made.append(_dnn(configurations.child(key_name), name, notes))
    return made


def _dnn(fields: Fields, name: str, notes: list[str]) -> Dnn:
    types = fields.maybe("pduSessionTypes")
    qos = fields.maybe("5gQosProfile")
    arp = qos.maybe("arp") if qos is not None else None
    modes = fields.maybe("sscModes")
    if modes is not None and modes.raw("defaultSscMode") not in (None, "SSC_MODE_1"):
        mode = modes.raw("defaultSscMode")
        notes.append(
            note(modes, "defaultSscMode", f"{shown(str(mode))} was replaced by SSC_MODE_1")
        )
    made = Dnn(
        name=name,
        session_types=_types(types) or PLAIN_DNN.session_types,
        ambr=ambr(fields.maybe("sessionAmbr")) or PLAIN_DNN.ambr,
        five_qi=default_5qi(qos, "5qi"),
        arp_priority=_of(arp, "priorityLevel", 15, PLAIN_DNN.arp_priority),
        arp_preemption_capability=arp is not None and arp.raw("preemptCap") == "MAY_PREEMPT",
        arp_preemption_vulnerability=arp is not None and arp.raw("preemptVuln") == "PREEMPTABLE",
    )
    if qos is not None:
        qos.skip("priorityLevel")
        note_unread(qos, notes)
    note_unread(fields, notes)
    return made


def _types(fields: Fields | None) -> tuple[values.PduSessionType, ...]:
    if fields is None:
        return ()
    default = fields.take("defaultSessionType", values.session_type, None)
    allowed = fields.each("allowedSessionTypes", values.session_type)
    first = () if default is None else (default,)
    return tuple(dict.fromkeys([*first, *allowed]))


def _of(fields: Fields | None, name: str, most: int, default: int) -> int:
    if fields is None:
        return default
    return fields.take(name, lambda value: values.integer(value, 1, most), default)
