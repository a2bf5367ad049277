"""`[context]`: documents that stand in the head of every session's requests."""

from __future__ import annotations

import attrs

from squidbot.checks import Place

__all__ = ["Context"]

NO_FOLDER = Place("")


@attrs.frozen
class Context:
    """`[context]`: the folder that documents are loaded from, and whether the project's are, unasked."""

    folder: Place = NO_FOLDER
    autoload_project_docs: bool = False
