"""Files that were touched, with what was last done with each, stand in requests by rule, whoever wrote the notes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.settings import strategy

from ..jobs.models import desk_of, shown, writer
from .driver import Host, Setup, assistant, requests, result, user
from .rules import rendered, sent

if TYPE_CHECKING:
    from squidbot.core.messages import Message

FILES = 24


def done(turn: int) -> str:
    """Return what is done with the file of a turn; each file gets its turn once in a round."""
    if turn % FILES == 7:
        return "Created"
    return "read_file" if (turn // FILES + turn) % 3 == 0 else "edit_file"


def touching(turn: int) -> list[Message]:
    """Return a turn in which a tool reads or edits a file, or the assistant says that it made one."""
    path, filler = f"src/area/part_{turn % FILES}.py", " and so on" * 30
    if done(turn) == "Created":
        return [user(f"Question {turn}?{filler}"), assistant(f"[ARTIFACT] Created {path}\nIt is new.{filler}")]
    return [
        user(f"Question {turn}?{filler}"),
        assistant("", (f"t{turn}", done(turn), f'{{"path": "{path}", "number": {turn}}}')),
        result(f"t{turn}", f"content {turn}: " + "value " * 150),
        assistant(f"It is fine.{filler}"),
    ]


@pytest.mark.parametrize(
    ("window_tokens", "model"), [(2048, False), (20_000, False), pytest.param(20_000, True, marks=pytest.mark.slow)]
)
def test_last_action_on_each_file_stands_in_the_request(window_tokens: int, model: bool) -> None:  # noqa: FBT001
    """Two dozen files, each touched twice; the model's summaries name none of them."""
    setup = Setup(window_tokens, settings=strategy("balanced", window_tokens * 3 // 4))
    host = Host(InMemoryStore(), setup, watch=False)
    for turn in range(2 * FILES):
        host.run(touching(turn))
        if model:
            desk_of(host.store, setup).run(writer("<summary>Explained it by edit_file, read_file.</summary>"), limit=2)
    text = "\n".join(map(rendered, sent(requests(host.calls)[-1])))
    found = [number for number in range(FILES) if _trail(text, number) == done(FILES + number)]
    assert found == list(range(FILES))
    assert bool(shown(host)) is model


def _trail(text: str, number: int) -> str | None:
    """Return what a text says last of a file."""
    told = re.findall(rf"\b(Created|edit_file|read_file)\b[^;\n]*?\bpart_{number}\.py", text)
    return told[-1] if told else None
