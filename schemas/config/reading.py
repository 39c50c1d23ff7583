"""Reading of the configuration file, evcore.toml, and of the secrets file. Both may be JSON
instead.

Every setting has a default for one machine. Keys are read from the environment or from a secrets
file, never from evcore.toml.
"""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct, field

from schemas.config import emergency as config_emergency
from schemas.config import gnb as config_gnb
from schemas.config import http as config_http
from schemas.config import n4 as config_n4
from schemas.config import nats as config_nats
from schemas.config import values
from schemas.config.causes import CausesConfig, causes_of
from schemas.config.emergency import EmergencyConfig, services_of
from schemas.config.gnb import GnbConfig
from schemas.config.http import HttpConfig
from schemas.config.n4 import DataNetworkConfig, N4Config, UpfConfig
from schemas.config.nats import NatsConfig
from schemas.config.objectives import ObjectiveConfig, objectives_of
from schemas.config.strangers import StrangerPolicy
from schemas.config.values import ConfigError, Port, Text, is_number, slice_of
from schemas.gprs_timer import gprs_timer_3
from schemas.identity import Guami, Tai
from schemas.network import (
    Congestion,
    EmergencyServices,
    IeOrder,
    Network,
    SecurityPolicy,
    Timers,
    TrackingArea,
    UpfNode,
)

KEY_OCTETS: Final = 32
MASTER_KEY: Final = "EVCORE_MASTER_KEY"
TMSI_KEY: Final = "EVCORE_TMSI_KEY"
HTTP_TOKENS: Final = "EVCORE_HTTP_TOKENS"
KEY_VARIABLES: Final = (MASTER_KEY, TMSI_KEY, HTTP_TOKENS)
"""Environment variables with keys. The user of a process and root can read them (proc(5))."""

MAX_PLMNS: Final = 12
"""Maximum number of PLMNs in an NG SETUP RESPONSE (TS 38.413 9.2.6.2)."""
MAX_EQUIVALENT_PLMNS: Final = 15
"""Maximum number of equivalent PLMNs in a REGISTRATION ACCEPT (TS 24.501 9.11.3.45)."""


class HomeNetworkKeyConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """A private key for SUCIs in the secrets file, as hexadecimal digits."""

    id: Annotated[int, Meta(ge=0, lt=1 << 8)]
    profile: Annotated[str, Meta(pattern="^[AB]$")]
    private_key: str


class Secrets(Struct, frozen=True, forbid_unknown_fields=True):
    """The secrets file: keys as 64 hexadecimal digits, and tokens."""

    master_key: str = ""
    """Encrypts the data keys of the event log. Environment: EVCORE_MASTER_KEY."""
    tmsi_key: str = ""
    """Encrypts 5G-TMSIs; gateways need it too. Environment: EVCORE_TMSI_KEY."""
    home_network_keys: tuple[HomeNetworkKeyConfig, ...] = ()
    """Only `identification` needs these keys."""
    http_tokens: str = ""
    """The tokens that functions over HTTP accept, with spaces between them. Callers send the first.
    Environment: EVCORE_HTTP_TOKENS."""


class AmfConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """The table [amf]."""

    name: Annotated[str, Meta(pattern="^[A-Za-z0-9 '()+,./:=?-]{1,150}$")] = "evcore"
    """A PrintableString of 1 to 150 characters."""
    plmn: str = "001-01"
    region: Annotated[int, Meta(ge=0, lt=1 << 8)] = 1
    set: Annotated[int, Meta(ge=0, lt=1 << 10)] = 1
    pointer: Annotated[int, Meta(ge=0, lt=1 << 6)] = 0
    relative_capacity: Annotated[int, Meta(ge=0, lt=1 << 8)] = 255
    full_name: str = ""
    """The name of the network that UEs display; empty to send none."""
    short_name: str = ""
    time_zone: str = ""
    """An IANA time zone such as ``"Europe/Berlin"``, for the time that UEs are sent; empty to send
    no time."""
    rfsp: Annotated[int, Meta(ge=1, le=256)] | None = None
    """The index to RAT/frequency selection priority of UEs without a subscribed one; None to send
    none."""
    emergency: bool = False
    """Whether authenticated UEs get emergency services. [emergency] has their DNN."""
    equivalent_plmns: tuple[str, ...] = ()
    """The PLMNs that are equivalent to `plmn` and to each other, served by this core or not."""


class AreaConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """A table [[tracking_area]]; slices as ``"1-010203"``, or ``"1"`` without an SD."""

    tac: Annotated[int, Meta(ge=0, lt=1 << 24)]
    slices: Annotated[tuple[str, ...], Meta(min_length=1, max_length=1024)]
    plmn: str = ""
    """The PLMN of [amf] if empty."""
    ims_vops: bool = True
    """Whether UEs are told that IMS voice over PS sessions is supported. A voice-centric UE leaves
    an area without it (TS 24.501 4.3.2)."""


class N2Config(Struct, frozen=True, forbid_unknown_fields=True):
    """The table [n2]: the NGAP endpoint for gNBs."""

    host: Text = "127.0.0.1"
    port: Port = 38412
    transport: str = "auto"
    """auto, kernel, userspace-udp or userspace-raw."""
    udp_port: Port = 9899
    ie_order: IeOrder = "lenient"
    """Whether IEs in another order than in TS 38.413 9.4 are accepted (``lenient``), or are an
    error (``strict``, 10.3.6). A table [[gnb]] has priority."""
    max_under_way: Annotated[int, Meta(ge=1)] = 8192
    """Maximum number of published events without acknowledgement. Beyond it, gNBs are slowed
    down."""
    max_associations: Annotated[int, Meta(ge=1, le=65536)] = 1024
    """Maximum number of SCTP associations. A quarter of them is kept for addresses that had an
    NG SETUP accepted before."""
    max_per_address: Annotated[int, Meta(ge=1, le=65536)] = 512
    """Maximum number of SCTP associations of one IP address, or of one IPv6 network of 64 bits.
    Half of them may be without NG SETUP. One address may claim as many new Global RAN Node IDs in
    an hour."""
    setup_within: Annotated[float, Meta(ge=1, le=3600)] = 10.0
    """Seconds from the start of an association to its NG SETUP REQUEST; then it is aborted."""


class StoreConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """The table [store]."""

    url: Text = "sqlite:.evcore/evcore.db"
    min_free_bytes: Annotated[int, Meta(ge=0)] = 1 << 28
    """The octets that stay free on the disk of an SQLite store for UEs that are registered: with
    less, registrations of others are put off. 0 for no such limit."""


class Config(Struct, frozen=True, forbid_unknown_fields=True):
    """The contents of evcore.toml."""

    amf: AmfConfig = field(default_factory=AmfConfig)
    tracking_area: Annotated[tuple[AreaConfig, ...], Meta(min_length=1, max_length=256)] = (
        AreaConfig(1, ("1-010203",)),
    )
    security: SecurityPolicy = field(default_factory=SecurityPolicy)
    timers: Timers = field(default_factory=Timers)
    congestion: Congestion = field(default_factory=Congestion)
    strangers: StrangerPolicy = field(default_factory=StrangerPolicy)
    causes: CausesConfig = field(default_factory=CausesConfig)
    emergency: EmergencyConfig = field(default_factory=EmergencyConfig)
    n2: N2Config = field(default_factory=N2Config)
    n4: N4Config = field(default_factory=N4Config)
    gnb: Annotated[tuple[GnbConfig, ...], Meta(max_length=4096)] = ()
    upf: Annotated[tuple[UpfConfig, ...], Meta(max_length=1024)] = ()
    data_network: Annotated[tuple[DataNetworkConfig, ...], Meta(max_length=1024)] = ()
    objective: Annotated[tuple[ObjectiveConfig, ...], Meta(max_length=1024)] = ()
    http: HttpConfig = field(default_factory=HttpConfig)
    nats: NatsConfig = field(default_factory=NatsConfig)
    store: StoreConfig = field(default_factory=StoreConfig)


def load(path: Path | None) -> Config:
    """Return the contents of evcore.toml; the defaults if `path` is None.

    Raises:
        ConfigError: the file cannot be read, or is not valid.
    """
    if path is None:
        return Config()
    config = _read(path, Config)
    _check(config, path)
    return config


def load_secrets(path: Path | None, environment: Mapping[str, str] | None = None) -> Secrets:
    """Return the secrets of the secrets file and the environment. The environment has priority.

    Raises:
        ConfigError: the file cannot be read, or is not valid.
    """
    environment = os.environ if environment is None else environment
    secrets: Secrets = Secrets() if path is None else _read(path, Secrets)
    ids = [key.id for key in secrets.home_network_keys]
    if len(set(ids)) < len(ids):
        raise ConfigError(f"{path}: two home network keys have the same id")
    return msgspec.structs.replace(
        secrets,
        master_key=environment.get(MASTER_KEY, secrets.master_key),
        tmsi_key=environment.get(TMSI_KEY, secrets.tmsi_key),
        http_tokens=environment.get(HTTP_TOKENS, secrets.http_tokens),
    )


def key_of(text: str, name: str) -> bytes:
    """Return the octets of a key of the secrets.

    Raises:
        ConfigError: the key is missing, or does not have 64 hexadecimal digits.
    """
    if not text:
        raise ConfigError(f"{name} is not set: put it into the secrets file or the environment")
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != KEY_OCTETS:
        raise ConfigError(f"{name} must have {KEY_OCTETS * 2} hexadecimal digits")
    return key


def network_of(config: Config, tmsi_key: bytes) -> Network:
    """Return the `Network` that procedures decide with."""
    amf = config.amf
    return Network(
        name=amf.name,
        guami=Guami(amf.plmn, amf.region, amf.set, amf.pointer),
        tracking_areas=_areas(config),
        security=config.security,
        timers=config.timers,
        congestion=config.congestion,
        causes=causes_of(config.causes),
        relative_capacity=amf.relative_capacity,
        rfsp=amf.rfsp or 0,
        emergency_services=emergency_services_of(config),
        tmsi_key=tmsi_key,
        n4_address=config_n4.advertised(config.n4) if config.upf else "",
        upfs=_upfs(config),
        data_networks=tuple(map(config_n4.data_network, config.data_network)),
        nitz=values.nitz_of(amf.full_name, amf.short_name, amf.time_zone),
        ie_order=config.n2.ie_order,
        gnbs=tuple(map(config_gnb.gnb_node, config.gnb)),
        equivalent_plmns=amf.equivalent_plmns,
    )


def emergency_services_of(config: Config) -> EmergencyServices | None:
    """Return the emergency services; None if they are off.

    Raises:
        ConfigError: they would not work.
    """
    if not config.amf.emergency:
        return None
    return services_of(config.emergency, _areas(config), _upfs(config))


def _areas(config: Config) -> tuple[TrackingArea, ...]:
    return tuple(
        TrackingArea(
            area.tac,
            area.plmn or config.amf.plmn,
            tuple(map(slice_of, area.slices)),
            area.ims_vops,
        )
        for area in config.tracking_area
    )


def _upfs(config: Config) -> tuple[UpfNode, ...]:
    return tuple(map(config_n4.upf_node, config.upf))


def _read(path: Path, kind: type[Any]) -> Any:
    try:
        if path.suffix == ".json":
            return msgspec.json.decode(path.read_bytes(), type=kind)
        with path.open("rb") as file:
            return msgspec.convert(tomllib.load(file), kind)
    except OSError as err:
        raise ConfigError(f"{path}: {err.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: the file is not UTF-8 text") from None
    except (tomllib.TOMLDecodeError, msgspec.DecodeError) as err:
        raise ConfigError(f"{path}: {err}") from None


def _check_plmns(config: Config, path: Path) -> None:
    plmns = [config.amf.plmn, *(a.plmn for a in config.tracking_area if a.plmn)]
    equivalent = config.amf.equivalent_plmns
    for plmn in (*plmns, *equivalent):
        mcc, _, mnc = plmn.partition("-")
        if not (is_number(mcc) and is_number(mnc) and len(mcc) == 3 and len(mnc) in (2, 3)):
            name = "plmn" if plmn in plmns else "equivalent_plmns:"
            raise ConfigError(f'{path}: {name} {plmn!r} is not written as "001-01"')
    if len(set(plmns)) > MAX_PLMNS:
        raise ConfigError(f"{path}: {len(set(plmns))} PLMNs, but an AMF serves at most {MAX_PLMNS}")
    if len({config.amf.plmn, *equivalent}) <= len(equivalent):
        raise ConfigError(f"{path}: amf.equivalent_plmns has amf.plmn, or a PLMN twice")
    if len(equivalent) > MAX_EQUIVALENT_PLMNS:
        raise ConfigError(
            f"{path}: amf.equivalent_plmns has {len(equivalent)} PLMNs, but UEs store at most "
            f"{MAX_EQUIVALENT_PLMNS}"
        )


def _check(config: Config, path: Path) -> None:
    """Check the rules that the types cannot express."""
    _check_plmns(config, path)
    seen: set[Tai] = set()
    for area in config.tracking_area:
        tai = Tai(area.plmn or config.amf.plmn, area.tac)
        if tai in seen:
            raise ConfigError(f"{path}: tracking area {area.tac} is configured twice")
        seen.add(tai)
        for text in area.slices:
            try:
                slice_of(text)
            except ConfigError as err:
                raise ConfigError(f"{path}: {err}") from None
    _check_timers(config, path)
    if 0 in config.security.integrity:
        raise ConfigError(f"{path}: security.integrity has NIA0, which provides no protection")
    try:
        values.check(config.amf.full_name, config.amf.short_name, config.amf.time_zone)
        config_gnb.check(config.gnb)
        config_http.check(config.http)
        config_n4.check(config.n4, config.upf, config.data_network)
        config_nats.check(config.nats)
        causes_of(config.causes)
        config_emergency.check(config.emergency)
        emergency_services_of(config)
        objectives_of(config.objective)
    except ConfigError as err:
        raise ConfigError(f"{path}: {err}") from None


def _check_timers(config: Config, path: Path) -> None:
    for name, seconds in (("t3512", config.timers.t3512), ("t3502", config.timers.t3502)):
        if gprs_timer_3(seconds) != seconds:
            raise ConfigError(
                f"{path}: timers.{name} is {seconds} s, and must be up to 31 times 2 or 30 s, "
                "1 or 10 min, 1 or 10 h"
            )
    if config.congestion.t3346_min > config.congestion.t3346_max:
        raise ConfigError(f"{path}: congestion.t3346_min is more than congestion.t3346_max")
