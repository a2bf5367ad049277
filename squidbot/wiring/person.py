"""The person who uses this machine: whose facts and conversations programs of one person have."""

from __future__ import annotations

import getpass
from typing import Final

from squidbot.core.memories import Scope

__all__ = ["OWNER", "machine_user"]

# The person of a machine without user names.
OWNER: Final = "owner"


def machine_user() -> Scope:
    """Return the scope of the person who uses this machine, for programs of one person."""
    try:
        name = getpass.getuser()
    except Exception:  # noqa: BLE001  # KeyError, OSError or ImportError, by system and version
        name = ""
    return Scope(user=name or OWNER)
