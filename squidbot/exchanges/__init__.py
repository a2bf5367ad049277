"""Conversations as files of other systems, and back: WorkspaceAI's, one for each model (C26).

| file      | holds |
|-----------|-------|
| spoken    | a session's messages as exchanges, and what no exchange can hold |
| brought   | what was brought into a session from files, as records beside it |
| exporting | `exported`: a store into a folder, a file for each model |
| importing | `imported`: exchanges of files into sessions, each once |
| migrating | `migrated`, `rolled_back`: older files, with a copy kept, and back again |
"""

from squidbot.exchanges.exporting import Exported, exported
from squidbot.exchanges.importing import Imported, Reading, files_at, imported
from squidbot.exchanges.migrating import RolledBack, migrated, rolled_back

__all__ = [
    "Exported",
    "Imported",
    "Reading",
    "RolledBack",
    "exported",
    "files_at",
    "imported",
    "migrated",
    "rolled_back",
]
