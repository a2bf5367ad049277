"""`[context]`: documents that stand in the head of every session's requests."""

from __future__ import annotations

import attrs

__all__ = ["Context"]


@attrs.frozen
class Context:
    """`[context]`: the folder that documents are loaded from, and whether the project's are, unasked."""

    folder: str = ""
    autoload_project_docs: bool = False
