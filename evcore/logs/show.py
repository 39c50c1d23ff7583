"""Printing a step for people."""

import json
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.markup import escape

from evcore.logs import asn1 as asn1_text
from schemas.cloudevents import EventType
from schemas.step import SendNgap, Step


def print_step(console: Console, step: Step[Any], shown: dict[str, Any], *, asn1: bool) -> None:
    """Print a step that `describe` has made plain; NGAP as ASN.1 text with `asn1`."""
    when = datetime.fromtimestamp(step.at / 1000, UTC).strftime("%H:%M:%S.%f")[:-3]
    title = f"step {step.seq}  {when}  {step.procedure} {step.version}"
    console.rule(escape(title), align="left")
    trigger = shown["trigger"]
    console.print(
        f"[bold]<-[/bold] {escape(_headline(trigger))}  [dim]{escape(trigger['id'])}[/dim]"
    )
    if asn1 and step.trigger.type == EventType.NGAP_UPLINK:
        console.print(escape(asn1_text.ngap(step.trigger.data)))
    elif "ngap" in trigger:
        _print(console, trigger["ngap"].get("ies", trigger["ngap"]))
    for name in ("nas", "data"):
        if name in trigger:
            _print(console, trigger[name], name)
    for event in shown["events"]:
        body = {key: value for key, value in event.items() if key != "event"}
        console.print(f"[green] *[/green] {escape(event['event'])} {escape(_compact(body))}")
    for index, output in enumerate(shown["outputs"]):
        found = step.outputs[index]
        if isinstance(found, SendNgap):
            console.print(f"[bold]->[/bold] {escape(output['gnb'])}: {escape(_message(output))}")
            if asn1:
                console.print(escape(asn1_text.ngap(found.pdu)))
            else:
                _print(console, output["pdu"].get("ies", output["pdu"]))
            if "nas" in output:
                _print(console, output["nas"], "nas")
        else:
            console.print(f"[bold]->[/bold] {escape(_compact(output))}")
    for path, (before, after) in shown["changes"].items():
        line = f"{path}: {_compact(before)} -> {_compact(after)}"
        console.print(f"[yellow] ~[/yellow] {escape(line)}")


def _headline(trigger: dict[str, Any]) -> str:
    if "ngap" not in trigger:
        return str(trigger["type"])
    return _named(trigger["ngap"], trigger.get("nas", {}))


def _message(output: dict[str, Any]) -> str:
    return _named(output["pdu"], output.get("nas", {}))


def _named(ngap: dict[str, Any], nas: dict[str, Any]) -> str:
    name = str(ngap.get("message", "not NGAP"))
    inner = nas.get("message-type")
    return f"{name} [{inner}]" if inner else name


def _print(console: Console, value: Any, name: str = "") -> None:
    prefix = f"{name}: " if name else ""
    console.print(f"     [dim]{escape(prefix + _compact(value))}[/dim]", soft_wrap=True)


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(", ", ": "))
