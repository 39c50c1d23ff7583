"""Group free5GC's documents by subscriber.

Three forms are supported. The web console has one object for each subscriber, with
``AuthenticationSubscription``, ``AccessAndMobilitySubscriptionData`` and
``SessionManagementSubscriptionData``. A dump of MongoDB documents, of several collections in one
file, is grouped by ``ueId``. The third form is an object of whole collections by their names
(``subscriptionData.provisionedData.amData``).
"""

from collections.abc import Iterable
from typing import Any, cast

from msgspec import Struct, field

from statestore.importers.fields import Fields
from statestore.importers.values import ImportProblem, shown

CONSOLE = ("AuthenticationSubscription", "WebAuthenticationSubscription")
_ACCESS = "AccessAndMobilitySubscriptionData"
_SESSIONS = "SessionManagementSubscriptionData"
# The SMF selection repeats the session data.
_CONSOLE_REST = ("plmnID", "ueId", "tenantId", "userId", "SmfSelectionSubscriptionData")

_COLLECTIONS = ("subscriptionData.", "policyData.")
_AUTHENTICATION = ("permanentKey", "encPermanentKey", "authenticationMethod")
_MOBILITY = ("nssai", "subscribedUeAmbr", "gpsis")
_SESSION = "singleNssai"
# Identities and UE contexts.
_NO_SUBSCRIPTION = ("gpsi", "amfInstanceId")
# Fields of policy documents that only name slices, DNNs and their owner: values, objects, and
# objects with slices or DNNs as keys.
_NAMES = ("_id", "ueId", "servingPlmnId", "tenantId", "sst", "sd", "dnn", "subscCats")
_NAMING = ("snssai", "dnnInfos")
_BY_NAME = ("smPolicySnssaiData", "smPolicyDnnData", "subscribedSnssaiInfos")


class Bundle(Struct):
    """All free5GC documents of one subscriber."""

    ue_id: str
    record: str
    escaped: bool
    """Whether DNNs are written as MongoDB keys, with underscores instead of dots."""
    authentication: Any = None
    access: Any = None
    sessions: list[Any] = field(default_factory=list[Any])
    left_out: list[str] = field(default_factory=list[str])


def matches(document: Any) -> bool:
    """Whether a document looks like a free5GC document."""
    if not isinstance(document, dict):
        return False
    names = cast("dict[str, Any]", document)
    return "ueId" in names or any(name.startswith(_COLLECTIONS) for name in names)


def bundles(found: list[Any]) -> list[Bundle]:
    """Return the documents of each subscriber.

    Raises:
        ImportProblem: a document is not a free5GC document.
    """
    collected: dict[str, Bundle] = {}
    made: list[Bundle] = []
    for record, document in _flat(found):
        if any(name in document for name in (*CONSOLE, _ACCESS, _SESSIONS)):
            made.append(_console(record, document))
        else:
            _sort(collected, record, document)
    return [*made, *collected.values()]


def _flat(found: list[Any]) -> Iterable[tuple[str, dict[str, Any]]]:
    for number, document in enumerate(found, 1):
        record = f"document {number}"
        if not matches(document):
            raise ImportProblem(f"{record}: no ueId, so this is not a free5GC document")
        if "ueId" in document:
            yield record, document
            continue
        fields = Fields(document, record)
        for name in document:
            for inner, child in enumerate(fields.items(name), 1):
                where = f"{shown(name)} {inner}"
                if not isinstance(child, dict) or "ueId" not in child:
                    raise ImportProblem(f"{where}: no ueId")
                yield where, cast("dict[str, Any]", child)


def _console(record: str, document: dict[str, Any]) -> Bundle:
    fields = Fields(document, record)
    made = Bundle(str(fields.raw("ueId")), record, escaped=False)
    for name in CONSOLE:
        made.authentication = fields.raw(name) or made.authentication
    made.access = fields.raw(_ACCESS)
    sessions = fields.raw(_SESSIONS)
    # Older consoles write a single slice in this field.
    made.sessions = cast("list[Any]", sessions) if isinstance(sessions, list) else [sessions]
    made.sessions = [session for session in made.sessions if session]
    fields.skip(*_CONSOLE_REST)
    made.left_out = [shown(name) for name in fields.unread() if _is_policy(document[name])]
    return made


def _sort(collected: dict[str, Bundle], record: str, document: dict[str, Any]) -> None:
    ue_id = str(document["ueId"])
    made = collected.setdefault(ue_id, Bundle(ue_id, shown(ue_id), escaped=True))
    if any(name in document for name in _AUTHENTICATION):
        if made.authentication is not None:
            raise ImportProblem(
                f"{record} ({made.record}): there is another authentication subscription"
            )
        made.authentication = document
    elif _SESSION in document:
        made.sessions.append(document)
    elif any(name in document for name in _MOBILITY):
        if made.access is None:
            made.access = document
        else:
            plmn = shown(str(document.get("servingPlmnId")))
            made.left_out.append(f"the access data for PLMN {plmn}")
    elif not any(name in document for name in _NO_SUBSCRIPTION) and _is_policy(document):
        made.left_out.append(record)


def _is_policy(value: Any) -> bool:
    """Whether a document holds more than the names of slices and DNNs."""
    if isinstance(value, list):
        return any(_is_policy(one) for one in cast("list[Any]", value))
    if not isinstance(value, dict):
        return bool(value)
    for name, inner in cast("dict[str, Any]", value).items():
        if name in _BY_NAME and isinstance(inner, dict):
            said = any(_is_policy(one) for one in cast("dict[str, Any]", inner).values())
        elif name in _NAMES:
            said = False
        else:
            said = _is_policy(inner) if name in _NAMING else bool(inner)
        if said:
            return True
    return False
