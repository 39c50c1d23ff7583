"""The 5GMM messages of registration, authentication, security, identity and deregistration."""

from hypothesis import strategies as st

from tests.wire.nas_cases import (
    ACCESS,
    IDENTITIES,
    REGISTRATIONS,
    SERVICES,
    Case,
    autn,
    capability,
    cause,
    flag,
    guti,
    identity,
    imeisv,
    named,
    ngksi,
    nssai,
    octets,
    s_tmsi,
    structure,
    t3502,
    t3512,
    tai,
    tai_list,
)

registration_type = structure(
    FOR=("follow-on-request", flag), Value=("registration-type", named(REGISTRATIONS))
)
deregistration_type = structure(
    SwitchOff=("switch-off", flag),
    ReregistrationRequired=("re-registration-required", flag),
    AccessType=("access-type", named(ACCESS)),
)
result = structure(
    Value=("result", named(ACCESS)),
    SMSAllowed=("sms-allowed", flag),
    NSSAAPerformed=("nssaa-performed", flag),
    Emergency=("emergency-registered", flag),
    DisasterRoaming=("disaster-roaming", flag),
)
algorithms = st.tuples(st.integers(0, 3), st.integers(0, 3)).map(
    lambda pair: (
        {"ciphering": f"nea{pair[0]}", "integrity": f"nia{pair[1]}"},
        {"CiphAlgo": pair[0], "IntegAlgo": pair[1]},
    )
)
identity_type = named(IDENTITIES).map(lambda both: (both[0], {"Value": both[1]}))
CAUSE = ("5GMMCause", "5gmm-cause", cause)
NGKSI = ("NAS_KSI", "ngksi", ngksi)
T3502 = ("T3502", "t3502-value?", t3502)
requested = st.just(("requested", {"Value": 1}))
more_security = structure(RINMR=("rinmr", flag), HDP=("hdp", flag))


sms = st.just(("sms", 2))
"""A payload container with octets of another protocol."""

CASES = [
    Case(
        "registration-request",
        "RegistrationRequest",
        (
            ("5GSRegType", "5gs-registration-type", registration_type),
            NGKSI,
            ("5GSID", "5gs-mobile-identity", identity),
            ("UESecCap", "ue-security-capability?", capability),
            ("NSSAI", "requested-nssai?", nssai),
            ("TAI", "last-visited-registered-tai?", tai),
        ),
    ),
    Case(
        "registration-accept",
        "RegistrationAccept",
        (
            ("5GSRegResult", "5gs-registration-result", result),
            ("GUTI", "5g-guti?", guti),
            ("5GSTAIList", "tai-list?", tai_list),
            ("AllowedNSSAI", "allowed-nssai?", nssai),
            ("T3512", "t3512-value?", t3512),
            T3502,
        ),
    ),
    Case("registration-complete", "RegistrationComplete"),
    Case("registration-reject", "RegistrationReject", (CAUSE, T3502)),
    Case(
        "authentication-request",
        "AuthenticationRequest",
        (
            NGKSI,
            ("ABBA", "abba", octets(2, 6)),
            ("RAND", "authentication-parameter-rand", octets(16)),
            ("AUTN", "authentication-parameter-autn", autn),
        ),
    ),
    Case(
        "authentication-response",
        "AuthenticationResponse",
        (("RES", "authentication-response-parameter", octets(16)),),
    ),
    Case(
        "authentication-failure",
        "AuthenticationFailure",
        (CAUSE, ("AUTS", "authentication-failure-parameter?", octets(14))),
    ),
    Case("authentication-reject", "AuthenticationReject"),
    Case(
        "security-mode-command",
        "SecurityModeCommand",
        (
            ("NASSecAlgo", "selected-nas-security-algorithms", algorithms),
            NGKSI,
            ("UESecCap", "replayed-ue-security-capabilities", capability),
            ("IMEISVReq", "imeisv-request?", requested),
            ("Add5GSecInfo", "additional-5g-security-information?", more_security),
        ),
    ),
    Case(
        "security-mode-complete",
        "SecurityModeComplete",
        (
            ("IMEISV", "imeisv?", imeisv),
            ("NASContainer", "nas-message-container?", octets(3, 60)),
        ),
    ),
    Case("security-mode-reject", "SecurityModeReject", (CAUSE,)),
    Case("identity-request", "IdentityRequest", (("5GSIDType", "identity-type", identity_type),)),
    Case(
        "identity-response",
        "IdentityResponse",
        (("5GSID", "mobile-identity", identity | imeisv | s_tmsi),),
    ),
    Case(
        "deregistration-request-ue-originating",
        "MODeregistrationRequest",
        (
            ("DeregistrationType", "de-registration-type", deregistration_type),
            NGKSI,
            ("5GSID", "5gs-mobile-identity", identity),
        ),
    ),
    Case("deregistration-accept-ue-originating", "MODeregistrationAccept"),
    Case(
        "deregistration-request-ue-terminated",
        "MTDeregistrationRequest",
        (
            ("DeregistrationType", "de-registration-type", deregistration_type),
            ("5GMMCause", "5gmm-cause?", cause),
        ),
    ),
    Case("deregistration-accept-ue-terminated", "MTDeregistrationAccept"),
    Case(
        "service-request",
        "ServiceRequest",
        (
            ("ServiceType", "service-type", named(SERVICES)),
            NGKSI,
            ("5GSID", "5g-s-tmsi", s_tmsi),
        ),
    ),
    Case("service-accept", "ServiceAccept"),
    Case("service-reject", "ServiceReject", (CAUSE,)),
    Case("5gmm-status", "Status", (CAUSE,)),
    Case(
        "ul-nas-transport",
        "ULNASTransport",
        (
            ("PayloadContainerType", "payload-container-type", sms),
            ("PayloadContainer", "payload-container", octets(1, 80)),
        ),
    ),
    Case(
        "dl-nas-transport",
        "DLNASTransport",
        (
            ("PayloadContainerType", "payload-container-type", sms),
            ("PayloadContainer", "payload-container", octets(1, 80)),
            ("5GMMCause", "5gmm-cause?", cause),
        ),
    ),
    Case(
        "configuration-update-command", "ConfigurationUpdateCommand", (("GUTI", "5g-guti", guti),)
    ),
    Case("configuration-update-complete", "ConfigurationUpdateComplete"),
]
