"""Makes transcripts as Claude Code writes them, for tests of what reads them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ClaudeTranscript"]


class ClaudeTranscript:
    """One session of Claude Code, in a file that grows line by line."""

    def __init__(
        self, folder: Path, session: str = "11111111-2222-4333-8444-555555555555", cwd: str = "/work/app"
    ) -> None:
        """Begin an empty one."""
        folder.mkdir(parents=True, exist_ok=True)
        self.path, self.session, self.cwd = folder / f"{session}.jsonl", session, cwd
        self.path.touch()
        self.entries = 0
        self.tip: str | None = None
        # What the next answers report of their calls, in tokens.
        self.usage: dict[str, object] = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 100}

    def add(self, kind: str, message: dict[str, object] | None = None, **more: object) -> str:
        """Append an entry behind the newest, and return its id."""
        self.entries += 1
        identifier = f"{self.session[:8]}-{self.entries:04}"
        entry: dict[str, object] = {
            "parentUuid": self.tip,
            "isSidechain": False,
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.session,
            "version": "2.1.90",
            "type": kind,
            "uuid": identifier,
            "timestamp": f"2026-11-01T10:{self.entries // 60 % 60:02}:{self.entries % 60:02}.000Z",
        }
        entry |= {"message": message} if message else {}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**entry, **more}) + "\n")
        self.tip = identifier
        return identifier

    def say(self, text: str, **more: object) -> str:
        """Add a prompt of the user."""
        return self.add("user", {"role": "user", "content": text}, **more)

    def answer(self, *blocks: dict[str, object] | str, model: str = "claude-opus-5-5") -> str:
        """Add an answer, one entry for each block."""
        number = self.entries + 1
        for block in blocks:
            content = {"type": "text", "text": block} if isinstance(block, str) else block
            head = {"id": f"msg_{self.session[:4]}_{number}", "type": "message", "role": "assistant", "model": model}
            self.add("assistant", {**head, "content": [content], "stop_reason": None, "usage": self.usage})
        return self.tip or ""

    def call(self, name: str, given: dict[str, object], result: str, *, text: str = "") -> str:
        """Add an answer that calls a tool, and the tool's result."""
        call_id = f"toolu_{self.session[:4]}_{self.entries}"
        use: dict[str, object] = {"type": "tool_use", "id": call_id, "name": name, "input": given}
        self.answer(*([text] if text else []), use)
        content = [{"type": "tool_result", "tool_use_id": call_id, "content": result}]
        return self.add("user", {"role": "user", "content": content}, toolUseResult={"stdout": result})

    def compact(self, summary: str) -> str:
        """Compact: a boundary, and the summary that goes on."""
        before, self.tip = self.tip, None
        more = {"trigger": "auto", "preTokens": 150_000}
        self.add(
            "system", subtype="compact_boundary", content="Conversation compacted", logicalParentUuid=before,
            compactMetadata=more,
        )  # fmt: skip
        text = f"This session is being continued from a previous conversation that ran out of context.\n{summary}"
        return self.say(text, isCompactSummary=True, isVisibleInTranscriptOnly=True)

    def event(self, name: str, **more: object) -> str:
        """Return the event that a hook gets, as JSON text."""
        event: dict[str, object] = {
            "session_id": self.session,
            "transcript_path": str(self.path),
            "cwd": self.cwd,
            "permission_mode": "default",
            "hook_event_name": name,
        }
        return json.dumps({**event, **more})
