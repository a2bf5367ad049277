"""`squidbot chat` driven through a real terminal, as a person would."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len

import squidbot
from squidbot.adapters.sqlite3 import SqliteStore
from squidbot.chat.conversation import BY_USER
from squidbot.core.transcript.bookkeeping import CUT, BrokenAnswer
from squidbot.testing import offline_chat_model

from .conftest import ESCAPES, TYPING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import Terminal

pytest.importorskip("pexpect")


def said(folder: Path) -> list[tuple[str, str]]:
    """Return role and content of what the session has in the store."""
    store = SqliteStore(str(folder / "kept.db"), create=False)
    try:
        rows = [json.loads(row.payload) for row in store.read("chat", 0, 10_000)]
        return [(row["role"], row.get("content") or "") for row in rows]
    finally:
        store.close()


def test_session_is_there_again_after_a_restart(terminal: Callable[..., Terminal], folder: Path) -> None:
    """It goes on where it was: the screen shows the last words, the model gets the first ones; cost is seen.

    An answer that Ctrl-C stopped, in the middle of it, is kept as far as it came and flagged; the next turn, and the
    next start, tell so. The next start is one with NO_COLOR: no escape that colours anything stands in what is shown
    of a turn.
    """
    talk = terminal()
    seen = talk.say("my cat is called Ophelia", " out; worth ")
    assert "You said: my cat is called Ophelia" in seen
    assert re.search(r"\[#+\.+\] [\d,]+ of 6,144 tokens \(\d+ %\)", seen)
    talk.type("slowly word")
    talk.wait("word-7")
    talk.spawned.sendintr()
    talk.wait("! stopped; your message is kept, and the partial answer")
    asked, (role, answer) = said(folder)[-2:]
    assert asked == ("user", "slowly word")
    assert role == "assistant"
    assert "word-6 " in answer
    assert "word-399" not in answer
    store = SqliteStore(str(folder / "kept.db"), create=False)
    assert CUT.newest(store, "chat") == BrokenAnswer(3, BY_USER)
    store.close()
    assert "squidbot chat --session chat continues from here" in talk.end()

    again = terminal(NO_COLOR="1")
    assert "The first thing you said was: my cat is called Ophelia" in again.say("first")
    assert "You said: and now?" in again.say("and now?")
    again.type("break")
    again.spawned.expect_exact("your message is kept, and the partial answer")
    assert not re.search(r"\x1b\[(?:3[0-7]|9[0-7]|38)", again.spawned.before)
    assert "! unreachable: the server closed the connection" in ESCAPES.sub("", again.spawned.before)
    assert said(folder)[-1] == ("assistant", "The answer begins ")
    again.spawned.expect_exact(TYPING)
    again.spawned.sendintr()
    again.wait("Ctrl-D or /quit ends")
    again.end()
    assert [role for role, _ in said(folder)] == ["user", "assistant"] * 5


@pytest.mark.slow
def test_commands_tell_of_the_session_and_a_wrong_one_is_named(terminal: Callable[..., Terminal]) -> None:
    """None of them reaches the model. /compact shortens what is sent, /undo sends it as it was said; /explain tells."""
    talk = terminal("--user", "ann")
    talk.say("I live in Trieste and I keep bees.\\\r[GOAL] mend the roof", " out; worth ")
    talk.type("/status")
    assert "chat/ann, 2 messages" in talk.wait("history, memory")
    talk.type("/journal")
    talk.wait("mend the roof\r\n")
    talk.type("/goals set Ship the parser")
    talk.wait("goal: Ship the parser")
    talk.type("/goals dance")
    talk.wait("for example /goals set")
    talk.type("/memory Trieste")
    assert "live in Trieste" in talk.wait("scores are guesses")
    talk.type("/frobnicate")
    talk.wait("! unknown command /frobnicate; there are /undo, /compact")
    talk.type("/help")
    talk.wait("Alt-Enter")
    assert "was: I live in Trieste" in talk.say("first")

    for number in range(4):
        talk.say(f"number {number}: " + f"pear-{number} " * 60, " out; worth ")
    talk.type("/explain")
    assert "12 word for word" in talk.wait("reliability 100 %")
    assert re.search(r"shortened; plan \d+, manual: [\d,]+ -> [\d,]+", talk.say("/compact", "/undo takes it back"))
    talk.type("/explain")
    assert "in notes" in talk.wait("reliability 85 %")
    talk.type("/undo")
    talk.wait("everything is sent verbatim")
    assert "was: I live in Trieste" in talk.say("first")
    talk.type("/undo")
    talk.wait("! there is nothing to undo")
    talk.type("/quit")
    talk.wait("continues from here")


@pytest.mark.parametrize("is_shown", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_what_came_before_and_what_comes_is_shown_as_wide_as_the_terminal_is(
    terminal: Callable[..., Terminal], folder: Path, *, is_shown: bool
) -> None:
    """At the start of a session that goes on, the last words stand without their reasoning.

    There is one line each for the call of a tool and for its answer: how it begins where that is wanted (P-05), else
    how long it is. Lines that are pasted, which a terminal marks, are one message: a line end in it says nothing yet.
    The terminal is made narrower between two turns.
    """
    settings = folder / "squidbot.toml"
    wanted = f"[ui]\nshow_context_messages = {str(is_shown).lower()}\n"
    settings.write_text(f"{settings.read_text(encoding='utf-8')}\n{wanted}", encoding="utf-8")
    thought = {"type": "thinking", "thinking": "I had better greet.", "signature": "s"}
    with squidbot.load({"store": {"path": str(folder / "kept.db")}}) as engine:
        session = engine.session("chat", form="anthropic.messages")
        answer = {"role": "assistant", "content": [thought, {"type": "text", "text": "Hello."}]}
        session.record({"role": "user", "content": "hi"}, answer)
    talk = terminal(columns=100)
    shown = ESCAPES.sub("", talk.spawned.before)
    assert "  model: Hello." in shown
    assert "better" not in shown

    talk.say("the squid eats herring")
    seen = talk.say("look herring", "2 requests: ")
    assert '-> history action="search", query="herring"' in seen
    result = "Nothing is remembered yet." if is_shown else "4 lines of output"
    assert f'-> memory action="search", query="herring"\n   {result}' in seen
    assert "there is no tool 'weather'" in seen

    talk.type("\x1b[200~Traceback:\r  line 1\r  line 2\x1b[201~")
    talk.wait(" tokens (")
    assert said(folder)[-2] == ("user", "Traceback:\n  line 1\n  line 2")

    wide = talk.say("word " * 30, "You said:") + talk.wait(" tokens (")
    assert max(map(cell_len, wide.splitlines())) > 80
    talk.spawned.setwinsize(40, 50)
    time.sleep(0.2)
    talk.type("first")
    talk.wait("The first thing")
    narrow = talk.wait("[#")
    assert max(map(cell_len, narrow.splitlines())) <= 50
    talk.end()


@pytest.mark.slow
def test_tiny_model_chats_in_its_own_window(terminal: Callable[..., Terminal], folder: Path) -> None:
    """A real runtime over a GGUF file, which tells nothing of its own on the screen; a restart goes on with it."""
    pytest.importorskip("xllamacpp")
    offline_chat_model(folder / "tiny.gguf")
    with (folder / "squidbot.toml").open("a", encoding="utf-8") as settings:
        settings.write('[models.tiny]\nadapter = "xllamacpp"\npath = "tiny.gguf"\nmax_tokens = 24\n')
    for turn in range(2):
        talk = terminal("--model", "tiny", "--no-tools", "--system", "Be brief.")
        shown = [line for line in ESCAPES.sub("", talk.spawned.before).splitlines() if line.strip()]
        assert [line.split()[0] for line in shown[:3]] == ["*", "squidbot", "session"], shown
        seen = talk.say(f"hello {turn}", " out; worth ")
        # Its weights are random: some answers end by themselves before.
        out = re.search(r"(\d+) out; worth", seen)
        assert out is not None
        assert 0 < int(out[1]) <= 24
        assert int(out[1]) == 24 or "the answer ended at its limit" not in seen
        talk.end()
    assert [role for role, _ in said(folder)] == ["user", "assistant"] * 2
