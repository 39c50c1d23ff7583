"""A contract for import-linter: an allowlist of direct and indirect imports of some packages.

pyproject.toml has the contracts; `make lint` checks them.
"""

from typing import Any, Final

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class AllowlistContract(Contract):
    """The modules of `source_modules`, and all modules that they reach, import `allowed` only.

    `allowed` names packages: their modules are allowed too. A package of this project that is
    allowed is checked in turn: its imports must be allowed as well.

    `exceptions` are single imports that are allowed besides, as ``"importer -> imported"``.
    """

    source_modules: Any = fields.SetField(subfield=fields.StringField())
    allowed: Any = fields.SetField(subfield=fields.StringField())
    exceptions: Any = fields.SetField(subfield=fields.StringField(), required=False, default=set())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002
        """Follow the imports from the source modules, and collect those that are not allowed."""
        sources: set[str] = set(self.source_modules)
        missing = sources - graph.modules
        faults = [f"{name} does not exist" for name in sorted(missing)]
        todo = [name for name in graph.modules if _is_in(name, sources)]
        seen, used = set(todo), set[str]()
        while todo:
            importer = todo.pop()
            for imported in graph.find_modules_directly_imported_by(importer):
                edge = f"{importer} -> {imported}"
                if edge in self.exceptions:
                    used.add(edge)
                elif not _is_in(imported, sources | self.allowed):
                    faults.append(f"{edge} (line {_lines(graph, importer, imported)})")
                elif imported not in seen and not graph.is_module_squashed(imported):
                    seen.add(imported)
                    todo.append(imported)
        faults += [f"no module has the exception {edge}" for edge in self.exceptions - used]
        return ContractCheck(kept=not faults, metadata={"faults": sorted(faults)})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print a line for each import that is not allowed."""
        for fault in check.metadata["faults"]:
            output.print_error(fault)
        output.print_error(_GUIDANCE)


_GUIDANCE: Final = "The reasons are in docs/decisions/0018-what-a-decision-may-reach.md."


def _is_in(name: str, packages: set[str]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def _lines(graph: ImportGraph, importer: str, imported: str) -> str:
    found = graph.get_import_details(importer=importer, imported=imported)
    return ", ".join(str(detail["line_number"]) for detail in found)
