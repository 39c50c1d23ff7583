"""evcore accepts the command lines of all containers."""

from collections.abc import Iterator
from typing import Any

import pytest
import typer
import yaml

from evcore.commands.app import app
from k8s.generate import FOLDER
from k8s.references import pod_of


def containers() -> Iterator[tuple[str, list[str]]]:
    """Yield the arguments of every container of the image, with a name for each."""
    for path in sorted(FOLDER.rglob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            if not isinstance(document, dict) or "apiVersion" not in document:
                continue
            spec: dict[str, Any] = (pod_of(document) if "spec" in document else None) or {}
            for one in (*spec.get("initContainers", ()), *spec.get("containers", ())):
                if one.get("image") == "evcore" and "args" in one:
                    name = f"{path.relative_to(FOLDER)}:{one['name']}"
                    yield name, one["args"]


ALL = dict(containers())


def parse(arguments: list[str]) -> dict[str, Any]:
    """Return the parameters of the command in `arguments`, parsed but not run."""
    command: Any = typer.main.get_command(app(arguments))
    context: Any = command.make_context("evcore", list(arguments), resilient_parsing=False)
    rest = [*context._protected_args, *context.args]
    while hasattr(command, "resolve_command"):
        name, command, rest = command.resolve_command(context, rest)
        context = command.make_context(name, rest, parent=context)
        rest = [*getattr(context, "_protected_args", ()), *context.args]
    parameters: dict[str, Any] = context.params
    return parameters


@pytest.mark.parametrize("name", ALL)
def test_the_command_line_is_taken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("K_SINK", "http://registration.evcore.svc.cluster.local")
    parameters = parse(ALL[name])
    assert str(parameters["config"]) == "/etc/evcore/evcore.toml"


def test_there_is_one_of_each_kind() -> None:
    kinds = {
        " ".join(args[:2]) if args[0] in ("function", "gateway") else args[0]
        for args in ALL.values()
    }
    assert kinds == {
        "function work",
        "function serve",
        "dispatch",
        "announce",
        "gateway n2",
        "gateway n4",
        "streams",
        "swap",
        "up",
    }


def test_an_option_that_there_is_not_is_refused() -> None:
    with pytest.raises(Exception, match="No such option: --confug"):
        parse(["function", "work", "ran", "--confug", "x"])
