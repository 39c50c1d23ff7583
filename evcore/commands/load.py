"""`evcore load`: run gNBs and UEs against a core."""

import importlib.util
import math
import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NamedTuple, cast

import typer

from evcore import emulated
from evcore import population as populations
from evcore.commands.errors import FAILED, CommandError, UsageError
from evcore.commands.output import Notices, console
from evcore.commands.running import run, run_tool
from evcore.local.data import DEFAULT, DataDirectory
from loadgen import ConfigError as LoadConfigError
from loadgen import (
    HomeKey,
    LoadConfig,
    Population,
    Procedure,
    Report,
    Scenario,
    SNssai,
    find_scenario,
    read_scenario,
    scenario_names,
)
from loadgen import run as run_load
from loadgen.report.terminal import print_tables
from schemas.config import reading as configuration
from schemas.config.reading import ConfigError, N2Config, UpfConfig, slice_of
from transport import Mode

DEFAULT_PROGRAMME = "register,idle,deregister"
_SHOWN_VIOLATIONS = 10
_SCENARIOS = ", ".join(scenario_names())


class SessionKind(StrEnum):
    """A PDU session type."""

    IPV4 = "ipv4"
    IPV6 = "ipv6"
    IPV4V6 = "ipv4v6"


class ProfileKind(StrEnum):
    """The optional IEs in the messages of UEs and gNBs."""

    OWN = "own"
    FOREIGN = "foreign"


class LoadTarget(NamedTuple):
    """The core that a load is for."""

    n2: N2Config
    plmn: str
    tac: int
    slices: tuple[str, ...]
    schemes: tuple[str, ...] = ("null",)
    home_keys: tuple[HomeKey, ...] = ()
    store: Path | None = None
    """Data directory with its subscribers, for a core on this machine."""
    upfs: tuple[UpfConfig, ...] = ()
    """Its UPFs that this machine can emulate."""
    n4: tuple[str, int] | None = None
    """Its address on N4."""


def load(
    ues: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="UEs.  [default: 64, or the scenario's]"),
    ] = None,
    procedures: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help=f"Procedures of each UE, in this order: {', '.join(Procedure)}."
            f"  [default: {DEFAULT_PROGRAMME}]",
        ),
    ] = None,
    scenario: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help=f"YAML file with phases, mixes and arrivals: a path, or {_SCENARIOS}.",
        ),
    ] = None,
    duration: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0,
            help="Duration.  [default: until each UE is done]",
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(metavar="N", help="UEs that start in a second, as a Poisson process."),
    ] = None,
    gnbs: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="gNBs.  [default: 1, or the scenario's]"),
    ] = None,
    dnn: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="DNN of the PDU sessions.  [default: internet]"),
    ] = None,
    session_type: Annotated[
        SessionKind | None,
        typer.Option(help="Type of the PDU sessions.  [default: ipv4]"),
    ] = None,
    json: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="File for the report; - prints only the report, as JSON."
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="PNG file for the latencies.")
    ] = None,
    capture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File for every PDU, as JSON lines.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(metavar="N", help="Seed of credentials and arrivals.  [default: 0]"),
    ] = None,
    first_imsi: Annotated[
        str | None,
        typer.Option(metavar="IMSI", help="First IMSI, 15 digits.  [default: MSIN 1]"),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the credentials of existing subscribers.")
    ] = False,
    faults: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            min=0,
            max=1,
            help="Share of messages lost, late, duplicated, reordered, garbled or wrong.",
        ),
    ] = None,
    tacs: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="TACs of the gNBs, in turn, such as 1,2."),
    ] = None,
    voice_centric: Annotated[
        bool,
        typer.Option(
            "--voice-centric", help="UEs that need IMS voice over PS sessions (TS 24.501 4.3.2)."
        ),
    ] = False,
    profile: Annotated[
        ProfileKind,
        typer.Option(
            help="Optional IEs in the messages: those of loadgen, or random ones as other makers"
            " send them. --seed repeats them."
        ),
    ] = ProfileKind.OWN,
    provision: Annotated[
        bool, typer.Option(help="Store the UEs as subscribers of the local core first.")
    ] = True,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", metavar="DIR", help="Data directory of the local core.  [default: .evcore]"
        ),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="N2 address of another core."),
    ] = None,
    port: Annotated[
        int | None, typer.Option(metavar="PORT", min=1, max=65535, help="Its SCTP port.")
    ] = None,
    udp_port: Annotated[
        int | None, typer.Option(metavar="PORT", min=1, max=65535, help="Its UDP port.")
    ] = None,
    transport: Annotated[Mode | None, typer.Option(help="Its SCTP transport.")] = None,
    plmn: Annotated[
        str | None, typer.Option(metavar="MCC-MNC", help="Its PLMN, the home of the UEs.")
    ] = None,
    plmns: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="PLMNs that the UEs select in turn, as 001-01,001-02."),
    ] = None,
    tac: Annotated[int | None, typer.Option(metavar="N", help="A TAC that it serves.")] = None,
    slices: Annotated[
        str | None, typer.Option(metavar="SLICES", help="Its slices, such as 1-010203,2.")
    ] = None,
) -> None:
    """Run gNBs and UEs against the core of `evcore up` or another core, and print a report.

    UEs check every MAC, AUTN and COUNT of the core. The exit status is 1 if a procedure or a check
    failed. Without --host the settings of the core are read from its data directory.
    """
    of_file = _scenario(scenario, procedures=procedures, duration=duration, rate=rate)
    programme = programme_of(DEFAULT_PROGRAMME if procedures is None else procedures)
    if duration is not None and not math.isfinite(duration):
        raise UsageError(f"--duration is {duration}: it must be finite")
    target = _given(_target(data, host), host, port, udp_port, transport, plmn, tac, slices)
    first = first_imsi or target.plmn.replace("-", "").ljust(14, "0") + "1"
    shown = str(json) != "-"
    sessions = of_file.load()
    given = {
        "dnn": dnn,
        "session_type": None if session_type is None else session_type.value,
        "faults": faults,
        "tacs": None if tacs is None else _tacs(tacs),
        "plmns": None if plmns is None else tuple(plmns.split(",")),
    }
    sessions |= {name: value for name, value in given.items() if value is not None}
    config = LoadConfig(
        host=target.n2.host,
        port=target.n2.port,
        udp_port=target.n2.udp_port,
        mode=Mode(target.n2.transport),
        plmn=target.plmn,
        tac=target.tac,
        slices=_slices(target.slices),
        gnbs=gnbs or of_file.gnbs,
        population=Population(
            count=ues or of_file.ues,
            first_imsi=first,
            plmn=target.plmn,
            seed=seed or 0,
            schemes=cast("Any", target.schemes),
            home_keys=target.home_keys,
            slices=_slices(target.slices),
            dnns=(sessions["dnn"] or "internet",),
            voice_centric=voice_centric,
        ),
        programme=programme,
        repeat=1 if duration is None else None,
        duration=duration,
        rate=rate,
        seed=of_file.seed if seed is None else seed,
        profile=profile.value,
        **sessions,
        json=str(json) if json is not None and shown else None,
        plot=str(plot) if plot is not None else None,
        capture=str(capture) if capture is not None else None,
        progress=shown and console().is_terminal,
    )
    try:
        config.check()
    except LoadConfigError as err:
        raise UsageError(str(err)) from None
    if config.pages and not target.upfs:
        raise UsageError("page needs emulated UPFs: start `evcore up --upfs 2`")
    _check_outputs([path for path in (json, plot, capture) if path is not None and shown])
    if plot is not None and importlib.util.find_spec("matplotlib") is None:
        raise CommandError("--plot needs matplotlib: pip install matplotlib")
    if provision and target.store is not None:
        run_tool(populations.provision(target.store, config.population, overwrite=overwrite))
    report, wrong = run(_load(config, target))
    ok = report.ok and not wrong
    _explain(config, wrong, ok=ok)
    if shown:
        print_tables(report)
        typer.echo(report.line)
    else:
        sys.stdout.write(report.to_json().decode() + "\n")
    raise typer.Exit(0 if ok else FAILED)


def _explain(config: LoadConfig, wrong: list[str], *, ok: bool) -> None:
    """Print the errors that the UPFs found, and how to repeat the messages of a failed load."""
    for text in wrong[:_SHOWN_VIOLATIONS]:
        Notices().say(text, "red")
    if config.profile == "foreign" and not ok:
        Notices().say(f"--profile foreign --seed {config.seed} repeats these messages", "red")


async def _load(config: LoadConfig, target: LoadTarget) -> tuple[Report, list[str]]:
    """Run a load, with the emulated UPFs of the core that belong to this machine.

    Return the report and the errors of the core that the UPFs found.
    """
    shares = [share for phase in config.plan for share in phase.mix]
    sessions = any(Procedure.SESSION in share.procedures for share in shares)
    async with emulated.running_upfs(target.upfs if sessions else (), target.n4) as upfs:
        if not await upfs.associated():
            raise CommandError("the emulated UPFs are not associated with the core")
        report = await run_load(
            config, downlink_data=upfs.downlink_data, downlink_tunnel=upfs.downlink_tunnel
        )
        return report, upfs.violations


def _scenario(
    name: str | None, *, procedures: str | None, duration: float | None, rate: float | None
) -> Scenario:
    """Return the scenario of a name, or an empty one. Refuse options that a scenario excludes."""
    if name is None:
        return Scenario(description="", phases=())
    excluded = {"--procedures": procedures, "--duration": duration, "--rate": rate}
    given = [option for option, value in excluded.items() if value is not None]
    if given:
        raise UsageError(f"--scenario cannot be combined with {', '.join(given)}")
    try:
        return read_scenario(find_scenario(name))
    except LoadConfigError as err:
        raise UsageError(str(err)) from None


def programme_of(text: str) -> tuple[Procedure, ...]:
    """Parse a programme such as ``"register,idle,deregister"``.

    Raises:
        UsageError: a procedure does not exist.
    """
    found: list[Procedure] = []
    for name in text.split(","):
        if name.strip() not in tuple(Procedure):
            names = ", ".join(Procedure)
            raise UsageError(f"{name.strip()!r} is not a procedure of a UE; choose from {names}")
        found.append(Procedure(name.strip()))
    return tuple(found)


def _target(data: Path | None, host: str | None) -> LoadTarget:
    """Return the local core, or the defaults for another core."""
    defaults = configuration.Config()
    directory = DataDirectory(data or DEFAULT)
    if host is not None and data is None:
        area = defaults.tracking_area[0]
        return LoadTarget(defaults.n2, defaults.amf.plmn, area.tac, area.slices)
    if not directory.config_file.exists() or (host is None and not directory.running):
        raise CommandError(f"no core runs on {directory.root}: start `evcore up`, or give --host")
    config, secrets = configuration.load(directory.config_file), directory.secrets()
    area = config.tracking_area[0]
    return LoadTarget(
        config.n2,
        area.plmn or config.amf.plmn,
        area.tac,
        area.slices,
        populations.schemes_of(secrets),
        populations.home_keys(secrets),
        directory.root,
        emulated.on_this_machine(config),
        emulated.core_of(config),
    )


def _given(
    target: LoadTarget,
    host: str | None,
    port: int | None,
    udp_port: int | None,
    transport: Mode | None,
    plmn: str | None,
    tac: int | None,
    slices: str | None,
) -> LoadTarget:
    """Return a target with the settings of the command line."""
    n2 = target.n2
    return target._replace(
        n2=N2Config(
            host=host or _reachable(n2.host),
            port=port or n2.port,
            transport=transport or n2.transport,
            udp_port=udp_port or n2.udp_port,
        ),
        plmn=plmn or target.plmn,
        tac=target.tac if tac is None else tac,
        slices=target.slices if slices is None else tuple(slices.split(",")),
    )


def _reachable(host: str) -> str:
    """Return an address to connect to, for a listening address."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104


def _slices(texts: tuple[str, ...]) -> tuple[SNssai, ...]:
    try:
        found = [slice_of(text.strip()) for text in texts]
    except ConfigError as err:
        raise UsageError(f"--slices: {err}") from None
    return tuple(SNssai(one.sst, one.sd) for one in found)


def _tacs(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(one) for one in text.split(","))
    except ValueError:
        raise UsageError(f"--tacs is {text!r}, not numbers such as 1,2") from None


def _check_outputs(paths: list[Path]) -> None:
    """Check before a load that the output files can be written after it."""
    for path in paths:
        folder = path.parent
        if path.is_dir() or not folder.is_dir():
            reason = "is a directory" if path.is_dir() else f"{folder} is not a directory"
            raise CommandError(f"{path} cannot be written: {reason}")
        if not os.access(path if path.exists() else folder, os.W_OK):
            raise CommandError(f"{path} cannot be written: permission denied")
