"""What tests say to the server, in the forms of the providers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from .script import Json

TOOL: Json = {"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}}
CHAT_TOOL: Json = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
RESPONSES_TOOL: Json = {"type": "function", "name": "look", "parameters": {"type": "object"}, "strict": False}


def user(*content: object) -> Json:
    """Return a message of the user: a string alone, or blocks."""
    return {"role": "user", "content": content[0] if isinstance(content[0], str) else list(content)}


def assistant(*content: object) -> Json:
    """Return a message of the assistant: a string alone, or blocks."""
    return {**user(*content), "role": "assistant"}


def text(said: str, **more: object) -> Json:
    """Return a block of text."""
    return {"type": "text", "text": said, **more}


def use(identifier: str = "t1", **given: object) -> Json:
    """Return a call as Anthropic's block."""
    return {"type": "tool_use", "id": identifier, "name": "look", "input": given}


def result(identifier: str = "t1", content: object = "seen", **more: object) -> Json:
    """Return a tool's result as Anthropic's block."""
    return {"type": "tool_result", "tool_use_id": identifier, "content": content, **more}


def check_refused(ask: Callable[[], object], says: str, status: int = 400) -> Exception:
    """Check that a request is refused with words of the provider, and return the SDK's error."""
    with pytest.raises(Exception, match=re.escape(says)) as caught:
        ask()
    assert getattr(caught.value, "status_code", None) == status
    return caught.value
