"""The procedures of an AMF or an SMF in TS 23.502 clause 4, with their status in evcore."""

from typing import Final, NamedTuple


class ProcedureLine(NamedTuple):
    """A clause of TS 23.502."""

    clause: str
    name: str
    status: str
    functions: tuple[str, ...] = ()
    """Files of functions/, without the ending .py."""
    tests: tuple[str, ...] = ()
    """Tests of tests/functions/, as ``sessions::test_establishment``."""


YES, NO, PARTLY = "supported", "not supported", "in part"

_R, _D, _N, _S = "registration", "deregistration", "network_deregistration", "sessions"


def _tests(file: str, *names: str) -> tuple[str, ...]:
    return tuple(f"tests/functions/test_{file}.py::test_{name}" for name in names)


LINES: Final = (
    ProcedureLine(
        "4.2.2.2.2",
        "General registration: initial, mobility, periodic",
        YES,
        (
            "gmm/registration/procedure",
            "gmm/registration/request",
            "gmm/registration/accept",
        ),
        _tests(
            _R,
            "every_suci_scheme_registers",
            "a_known_guti_with_its_context_needs_no_authentication",
            "registering_again_while_registered",
        ),
    ),
    ProcedureLine("4.2.2.2.3", "Registration with AMF re-allocation", NO),
    ProcedureLine(
        "4.2.2.3.2",
        "UE-initiated deregistration",
        YES,
        ("gmm/deregistration/procedure",),
        _tests(_D, "normal_is_accepted_and_released", "switch_off_has_no_answer"),
    ),
    ProcedureLine(
        "4.2.2.3.3",
        "Network-initiated deregistration",
        YES,
        (
            "gmm/deregistration/by_network",
            "gmm/deregistration/implicit",
        ),
        _tests(_N, "a_connected_ue_is_asked_and_accepts", "an_idle_ue_is_paged_first"),
    ),
    ProcedureLine(
        "4.2.3.2",
        "UE triggered service request",
        YES,
        (
            "gmm/service_request",
            "gsm/user_plane",
        ),
        _tests("service_request", "every_service_type_is_served"),
    ),
    ProcedureLine(
        "4.2.3.3",
        "Network triggered service request",
        YES,
        ("gmm/paging",),
        _tests(_S, "paging", "paging_in_vain"),
    ),
    ProcedureLine(
        "4.2.4.2",
        "UE configuration update: access and mobility",
        YES,
        (
            "gmm/configuration_update",
            "messages/nas/gmm",
            "gmm/guti",
        ),
        _tests("configuration_update", "a_ue_that_was_paged_has_another_guti", "a_t3555"),
    ),
    ProcedureLine("4.2.4.3", "UE configuration update: UE policy", NO),
    ProcedureLine(
        "4.2.6",
        "AN release",
        YES,
        ("gmm/an_release",),
        _tests("an_release", "inactivity_leads_to_cm_idle"),
    ),
    ProcedureLine(
        "4.2.7.1",
        "N2 configuration: NG setup, configuration updates, reset",
        YES,
        (
            "ran/ng_setup",
            "ran/configuration",
            "ran/reset",
        ),
        _tests("ran", "ng_setup", "configuration_update"),
    ),
    ProcedureLine("4.2.7.2", "NGAP UE-TNLA binding", NO),
    ProcedureLine("4.2.8a", "UE capability match request", NO),
    ProcedureLine("4.2.9", "Network slice-specific authentication and authorization", NO),
    ProcedureLine("4.2.11", "Network slice admission control", NO),
    ProcedureLine(
        "4.3.2.2.1",
        "PDU session establishment, not roaming",
        YES,
        (
            "gsm/establishment",
            "gsm/n4",
            "gsm/user_plane",
        ),
        _tests(_S, "establishment", "refused", "the_gnb_has_no_resources"),
    ),
    ProcedureLine("4.3.2.2.2", "PDU session establishment, home-routed roaming", NO),
    ProcedureLine("4.3.2.3", "Secondary authentication by a DN-AAA server", NO),
    ProcedureLine(
        "4.3.3.2",
        "PDU session modification: session AMBR only",
        PARTLY,
        ("gsm/modification",),
        _tests(_S, "modification_by_the_ue", "another_ambr_of_the_subscription"),
    ),
    ProcedureLine(
        "4.3.4.2",
        "PDU session release",
        YES,
        ("gsm/release",),
        _tests(_S, "release_by_the_ue", "release_by_the_operator"),
    ),
    ProcedureLine("4.3.5", "Session continuity and user plane path management", NO),
    ProcedureLine("4.3.6", "Application function influence on traffic routing", NO),
    ProcedureLine(
        "4.3.7",
        "CN-initiated selective deactivation of the user plane",
        NO,
    ),
    ProcedureLine(
        "4.4.1",
        "N4 session establishment, modification, release, reports",
        YES,
        (
            "gsm/n4",
            "gmm/paging",
            "ue/reconcile",
        ),
        _tests(_S, "establishment", "a_upf_that_has_restarted_gets_its_sessions_again"),
    ),
    ProcedureLine(
        "4.4.3",
        "N4 associations and reports of nodes",
        YES,
        (
            "upf/procedure",
            "upf/association",
        ),
        _tests("upf", "the_core_asks_for_an_association_once_a_gateway_is_there", "a_node_report"),
    ),
    ProcedureLine(
        "4.8.1",
        "Connection inactive: reports of RRC state transitions",
        PARTLY,
        ("gmm/ue_context",),
        _tests("ue_context", "the_rrc_state_is_noted"),
    ),
    ProcedureLine(
        "4.9.1.2",
        "Xn based handover between NG-RAN nodes",
        YES,
        (
            "mobility/xn_handover",
            "mobility/keys",
        ),
        _tests("path_switch", "path_is_switched_before_the_answer", "partial_switch"),
    ),
    ProcedureLine(
        "4.9.1.3",
        "N2 based handover between NG-RAN nodes of the AMF",
        YES,
        (
            "mobility/procedure",
            "mobility/n2_handover",
            "mobility/end",
        ),
        _tests("handover", "whole", "partial_admission", "refused"),
    ),
    ProcedureLine(
        "4.9.1.4",
        "N2 handover cancel",
        YES,
        ("mobility/procedure",),
        _tests("handover", "cancelled"),
    ),
    ProcedureLine("4.9.2", "Handover between 3GPP and non-3GPP access", NO),
    ProcedureLine(
        "4.10",
        "NG-RAN location reporting: reports are recorded, none is requested",
        PARTLY,
        ("gmm/ue_context",),
        _tests("ue_context", "a_location_report_is_taken_over"),
    ),
    ProcedureLine("4.11", "Interworking with EPS", NO),
    ProcedureLine("4.12", "Untrusted and trusted non-3GPP access", NO),
    ProcedureLine("4.13.2", "Application triggering", NO),
    ProcedureLine("4.13.3", "SMS over NAS: the payload is returned with 5GMM cause #90", NO),
    ProcedureLine(
        "4.13.4",
        "Emergency services of authenticated UEs: registration and one PDU session, if configured",
        PARTLY,
        (
            "gmm/registration/request",
            "gmm/registration/accept",
            "gsm/emergency",
        ),
        (
            *_tests("registration_collisions", "emergency_registration_where_it_is_configured"),
            *_tests("emergency", "a_registered_ue_gets_one_that_is_not_subscribed"),
        ),
    ),
    ProcedureLine("4.13.6", "IMS voice: EPS fallback", NO),
)
