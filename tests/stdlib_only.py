"""An import contract: the named packages, and all that is in them, import themselves and the standard library only.

A list of forbidden packages does not do that: one that is not on the list passes.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from importlinter import Contract, ContractCheck, fields, output

if TYPE_CHECKING:
    import grimp

__all__ = ["StdlibOnly"]


class StdlibOnly(Contract):
    """Kept if nothing in `modules` imports anything but `modules` and the standard library."""

    type_name = "stdlib_only"
    modules = fields.SetField(subfield=fields.ModuleField())

    def check(self, graph: grimp.ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002, FBT001  # its interface
        """Return whether the contract is kept, with the pairs (importer, imported) that break it."""
        roots = {module.name for module in self.modules}  # type: ignore[attr-defined]  # a field holds its value
        inside = roots | {module for root in roots for module in graph.find_descendants(root)}
        bad = [
            (importer, imported)
            for importer in sorted(inside)
            for imported in sorted(graph.find_modules_directly_imported_by(importer))
            if imported not in inside and imported.split(".")[0] not in sys.stdlib_module_names
        ]
        return ContractCheck(kept=not bad, metadata={"bad": bad})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print the imports that break it."""
        for importer, imported in check.metadata["bad"]:
            output.print_error(f"{importer} imports {imported}, which is not in the standard library")
