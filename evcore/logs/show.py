"""Print a step as text for the operator."""

import json
import re
from datetime import UTC, datetime
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from evcore.commands.errors import CommandError, clean
from schemas.cloudevents import EventType
from schemas.redact import HIDDEN
from schemas.step import Page, SendNgap, SendPfcp, Step

_KEYS: Final = re.compile(r"('[0-9A-Fa-f]{64}'H|0b[01]{256}|'[01]{256}'B)")
"""Bit strings of 256 bits in ASN.1 text: K_gNB and NH, which must not be printed."""


def print_step(
    console: Console, step: Step[Any], shown: dict[str, Any], code: str, *, asn1: bool
) -> None:
    """Print a step, its description `shown`, and the `code` that decided it.

    With `asn1`, print NGAP as ASN.1 text.
    """
    when = datetime.fromtimestamp(step.at / 1000, UTC).isoformat(" ", "milliseconds")
    title = f"step {step.seq}  {when[:23]}  {step.procedure}  {code}"
    console.print(Text(title, style="bold underline"))
    printer = _StepPrinter(console, asn1=asn1)
    printer.trigger(step, shown["trigger"])
    for event in shown["events"]:
        body = {key: value for key, value in event.items() if key != "event"}
        printer.line("*", "green", f"{event['event']} {_compact(body)}" if body else event["event"])
    for found, output in zip(step.outputs, shown["outputs"], strict=True):
        printer.output(found, output)
    for path, (before, after) in shown["changes"].items():
        printer.line("~", "yellow", f"{path}: {_compact(before)} -> {_compact(after)}")


class _StepPrinter:
    """Prints the lines of a step. Each line starts with a sign such as ``->``."""

    def __init__(self, console: Console, *, asn1: bool) -> None:
        self._console = console
        self._asn1 = asn1

    def line(self, sign: str, style: str, text: str) -> None:
        self._console.print(Text.assemble((f"{sign:>2} ", style), text))

    def trigger(self, step: Step[Any], trigger: dict[str, Any]) -> None:
        self.line("<-", "bold", f"{_headline(trigger)}  {clean(trigger['id'])}")
        if step.trigger.type == EventType.NGAP_UPLINK:
            self._ngap(step.trigger.data, trigger["ngap"])
        if "pfcp" in trigger:
            self._detail(trigger["pfcp"].get("ies", trigger["pfcp"]))
        for name in ("nas", "data"):
            if name in trigger:
                self._detail(trigger[name], name)

    def output(self, found: Any, output: dict[str, Any]) -> None:
        if isinstance(found, SendPfcp):
            self.line("->", "bold", f"{clean(found.upf)}: {_named(output['pdu'], {})}")
            self._detail(output["pdu"].get("ies", output["pdu"]))
            return
        if not isinstance(found, SendNgap | Page):
            self.line("->", "bold", _compact(output))
            return
        named = _named(output["pdu"], output.get("nas", {}))
        to = found.gnb if isinstance(found, SendNgap) else _areas(found)
        self.line("->", "bold", f"{clean(to)}: {named}")
        self._ngap(found.pdu, output["pdu"])
        if "nas" in output:
            self._detail(output["nas"], "nas")

    def _ngap(self, pdu: bytes, tree: dict[str, Any]) -> None:
        if not self._asn1:
            self._detail(tree.get("ies", tree))
            return
        for text in ngap_as_asn1(pdu).splitlines():
            self._console.print(Text(clean(text)))

    def _detail(self, value: Any, name: str = "") -> None:
        prefix = f"{name}: " if name else ""
        self._console.print(Text(f"     {prefix}{_compact(value)}", style="dim"))


def _headline(trigger: dict[str, Any]) -> str:
    if "pfcp" in trigger:
        name = _named(trigger["pfcp"], {})
        if trigger["type"] == EventType.PFCP_ENDED:
            return f"{name} ended by a restart of the UPF"
        unanswered = trigger["type"] == EventType.PFCP_UNANSWERED
        return f"no answer to {name}" if unanswered else name
    if "ngap" not in trigger:
        return str(trigger["type"])
    return _named(trigger["ngap"], trigger.get("nas", {}))


def _areas(page: Page) -> str:
    return ", ".join(f"{tai.plmn}-{tai.tac:06x}" for tai in page.tais)


def _named(ngap: dict[str, Any], nas: dict[str, Any]) -> str:
    name = str(ngap.get("message", "unreadable"))
    inner = nas.get("message-type")
    return f"{name} [{inner}]" if inner else name


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(", ", ": "))


def ngap_as_asn1(pdu: bytes) -> str:
    """Return a PDU as ASN.1 text without its keys.

    pycrate decodes the PDU, independently of `wire`. The import of pycrate takes more than a
    second, so this function imports it on demand.

    Raises:
        CommandError: pycrate is not installed.
    """
    try:
        from pycrate_asn1dir import NGAP  # noqa: PLC0415
    except ImportError:
        raise CommandError("--asn1 needs pycrate: pip install pycrate") from None
    descriptions: Any = NGAP.NGAP_PDU_Descriptions
    message = descriptions.NGAP_PDU
    try:
        message.from_aper(pdu)
    except Exception as err:
        return f"pycrate cannot decode this: {err}\n{pdu.hex()}"
    return _KEYS.sub(HIDDEN, str(message.to_asn1()))
