"""Takes in the sessions that other agents recorded: what is new, once, with its branches and sub-agents."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["default_store"]


def default_store() -> Path:
    """Return the store for the sessions of coding agents, where no other is named: one file for each user."""
    if named := os.environ.get("SQUIDBOT_AGENT_STORE"):
        return Path(named)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "squidbot" / "agents.db"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "squidbot" / "agents.db"
