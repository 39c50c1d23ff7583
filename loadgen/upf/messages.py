"""Builders of the PFCP messages that a UPF sends, as trees (TS 29.244 clause 7)."""

import ipaddress
import time

from loadgen.trees import Tree
from loadgen.upf.ies import FSeid, FTeid, Ies

ACCEPTED = 1
RETENTION = "PFCP Session Retention Information (within PFCP Association Setup Request)"
"""The name of the IE in `wire`."""
_SECONDS_1900_TO_1970 = 2_208_988_800
_RULE_BITS = 32


def recovery_time_stamp(now: float | None = None) -> int:
    """Return seconds since 1900 (clause 8.2.65); `now` is seconds since 1970, by default the
    current
    time.
    """
    return (int(time.time() if now is None else now) + _SECONDS_1900_TO_1970) % 2**_RULE_BITS


def node_id(text: str) -> Tree:
    """Return the IE Node ID of an address or a domain name (clause 8.2.38)."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return {"fqdn": text}
    return {"ipv4" if address.version == 4 else "ipv6": str(address)}


def node_message(message: str, sequence: int, ies: Ies) -> Tree:
    """Return a message without a SEID."""
    return {"message": message, "sequence": sequence, "ies": ies}


def session_message(message: str, seid: int, sequence: int, ies: Ies) -> Tree:
    """Return a message with the SEID of its receiver, 0 if it is not known (7.2.2.4.2)."""
    return {"message": message, "seid": seid, "sequence": sequence, "ies": ies}


def heartbeat(message: str, sequence: int, recovery: int) -> Tree:
    """Return a HeartbeatRequest or HeartbeatResponse (7.4.2)."""
    return node_message(message, sequence, [{"Recovery Time Stamp": recovery}])


def association_setup_request(
    sequence: int, node: str, recovery: int, features: tuple[str, ...]
) -> Tree:
    """Return a PFCP Association Setup Request of a UP function (7.4.4.1)."""
    ies: Ies = [
        {"Node ID": node_id(node)},
        {"Recovery Time Stamp": recovery},
        {"UP Function Features": list(features)},
    ]
    return node_message("AssociationSetupRequest", sequence, ies)


def association_setup_response(
    sequence: int, node: str, recovery: int, features: tuple[str, ...], *, retained: bool
) -> Tree:
    """Return a PFCP Association Setup Response that accepts (7.4.4.2).

    Args:
        sequence: the sequence number of the request.
        node: the Node ID of the UP function.
        recovery: seconds since 1900.
        features: UP Function Features.
        retained: whether sessions were kept, as the request asked.
    """
    ies: Ies = [
        {"Node ID": node_id(node)},
        {"Cause": ACCEPTED},
        {"Recovery Time Stamp": recovery},
        {"UP Function Features": list(features)},
    ]
    if retained:
        ies.append({"PFCPASRsp-Flags": ["PSREI"]})
    return node_message("AssociationSetupResponse", sequence, ies)


def node_answer(
    request: str, sequence: int, node: str, cause: int, offending_ie: int | None = None
) -> Tree:
    """Return the answer to a node request: the Node ID and a cause."""
    ies: Ies = [{"Node ID": node_id(node)}, {"Cause": cause}]
    if offending_ie is not None:
        ies.append({"Offending IE": offending_ie})
    return node_message(answer_to(request), sequence, ies)


def association_release_wanted(sequence: int, node: str) -> Tree:
    """Return the PFCP Association Update Request of a UP function that wants its release
    (7.4.4.3)."""
    ies: Ies = [{"Node ID": node_id(node)}, {"PFCP Association Release Request": ["SARR"]}]
    return node_message("AssociationUpdateRequest", sequence, ies)


def version_not_supported(sequence: int) -> Tree:
    """Return a Version Not Supported Response (7.4.4.7)."""
    return node_message("VersionNotSupportedResponse", sequence, [])


def answer_to(request: str) -> str:
    """Return the name of the answer to a request."""
    return request.removesuffix("Request") + "Response"


def established(
    seid: int, sequence: int, node: str, up: FSeid, created: tuple[tuple[int, FTeid], ...]
) -> Tree:
    """Return a PFCP Session Establishment Response that accepts (7.5.3).

    Args:
        seid: the SEID of the CP function.
        sequence: the sequence number of the request.
        node: the Node ID of the UP function.
        up: the F-SEID of the UP function.
        created: the assigned F-TEIDs by PDR ID.
    """
    ies: Ies = [{"Node ID": node_id(node)}, {"Cause": ACCEPTED}, {"F-SEID": up.tree()}]
    ies += created_pdrs(created)
    return session_message("SessionEstablishmentResponse", seid, sequence, ies)


def created_pdrs(created: tuple[tuple[int, FTeid], ...]) -> Ies:
    """Return the IEs Created PDR (table 7.5.3.2-1)."""
    return [{"Created PDR": [{"PDR ID": pdr}, {"F-TEID": teid.tree()}]} for pdr, teid in created]


def session_refused(
    request: str,
    seid: int,
    sequence: int,
    node: str,
    cause: int,
    *,
    rule: tuple[str, int] | None = None,
    offending_ie: int | None = None,
) -> Tree:
    """Return the answer that refuses a session request.

    Args:
        request: the name of the request.
        seid: the SEID of the CP function, 0 if it is not known.
        sequence: the sequence number of the request.
        node: the Node ID of the UP function, for the answer to an establishment.
        cause: clause 8.2.1.
        rule: the first faulty rule, for a Failed Rule ID.
        offending_ie: the type of the faulty IE.
    """
    ies: Ies = [{"Cause": cause}]
    if request == "SessionEstablishmentRequest":
        ies.insert(0, {"Node ID": node_id(node)})
    if offending_ie is not None:
        ies.append({"Offending IE": offending_ie})
    if rule is not None and request != "SessionDeletionRequest":
        ies.append({"Failed Rule ID": {"rule": rule[0], "id": rule[1]}})
    return session_message(answer_to(request), seid, sequence, ies)


def session_done(
    request: str, seid: int, sequence: int, created: tuple[tuple[int, FTeid], ...] = ()
) -> Tree:
    """Return the answer that accepts a modification or a deletion (7.5.5, 7.5.7)."""
    ies: Ies = [{"Cause": ACCEPTED}, *created_pdrs(created)]
    return session_message(answer_to(request), seid, sequence, ies)


def downlink_data_report(seid: int, sequence: int, pdr: int, qfi: int | None) -> Tree:
    """Return a PFCP Session Report Request for a buffered downlink packet (7.5.8.2)."""
    report: Ies = [{"PDR ID": pdr}]
    if qfi is not None:
        report.append({"Downlink Data Service Information": {"qfi": qfi}})
    ies: Ies = [{"Report Type": ["DLDR"]}, {"Downlink Data Report": report}]
    return session_message("SessionReportRequest", seid, sequence, ies)


def error_indication_report(seid: int, sequence: int, remote: FTeid) -> Tree:
    """Return a PFCP Session Report Request for a GTP-U Error Indication of `remote` (7.5.8.4)."""
    report: Ies = [{"F-TEID": remote.tree()}]
    ies: Ies = [{"Report Type": ["ERIR"]}, {"Error Indication Report": report}]
    return session_message("SessionReportRequest", seid, sequence, ies)
