"""An extension with a store: each user of a machine has one of their own, in a folder that all of them share.

It shows how a distribution offers an adapter, and listens to what happens. Run it in your clone:

    pip install examples/extension && echo 'store = {adapter = "drawers", path = "shared"}' > squidbot.toml
    python -c 'import squidbot; squidbot.load().session("talk").record("Ahoy!")' && squidbot session list

You see a line for each event, and then the session, which is in `shared/YOUR NAME/sessions.db`.
"""

from __future__ import annotations

import getpass
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import squidbot
from squidbot.adapters.sqlite3 import SqliteStore

if TYPE_CHECKING:
    from squidbot.hookspecs import Register


class Drawer(SqliteStore):
    """The store of whoever runs this, in a folder that only they can open."""

    def __init__(self, folder: str) -> None:
        """Take the folder that all users share; theirs is made in it."""
        own = Path(folder) / getpass.getuser()
        own.mkdir(mode=0o700, parents=True, exist_ok=True)
        super().__init__(str(own / "sessions.db"))


@squidbot.hookimpl
def register_adapters(register: Register) -> None:
    """Offer the store under the name that squidbot.toml uses."""
    register.store("drawers", Drawer)


@squidbot.hookimpl
def on_event(event: squidbot.Event) -> None:
    """Say what happens, as it happens."""
    print(f"drawers: {event.name} in {event.session_id}", file=sys.stderr)


@squidbot.hookimpl(priority=1)
def compacted(plan: squidbot.PlanRecord) -> None:
    """Say when less is sent, before other extensions do."""
    print(f"drawers: {plan.tokens_before} tokens before, {plan.tokens_after} after", file=sys.stderr)
