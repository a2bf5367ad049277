"""What tests of exchanges share: an engine that parts sessions by models, and what is said in them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import squidbot

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.services.exchange import ExportedFile, FileReport


QWEN, LLAMA = "qwen2.5:7b", "llama3.1:8b"


def engine_at(path: Path, isolation: str = "model") -> squidbot.Engine:
    """Return an engine over a store that parts sessions by their models."""
    return squidbot.load({"store": {"path": str(path)}, "history": {"isolation": isolation}})


def say(engine: squidbot.Engine, model: str, text: str, *, session: str = "workspaceai", now: float = 1000.0) -> None:
    """Hold one exchange."""
    engine.session(session, model=model).record({"role": "user", "content": text}, f"Answer to {text}", now=now)


def said_in(path: Path) -> list[str]:
    """Return what users said, as a file has it."""
    return [one["user"]["content"] for one in json.loads(path.read_text("utf-8"))["current_conversation"]]


def became(done: FileReport[ExportedFile]) -> list[str]:
    """Return what became of each file."""
    return [file.became for file in done.files]
