"""A fact that is forgotten is gone from every prompt, and from the bytes of what sessions keep of requests."""

from __future__ import annotations

import re
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import squidbot
from squidbot.adapters.stdlib import InMemoryStore
from squidbot.cli import main
from squidbot.core.memory.view import MemoryQuery, NewMemory
from squidbot.core.messages import Record
from squidbot.core.transcript.removals import INJECTION
from squidbot.memory import retract
from squidbot.testing import made_message
from squidbot.wiring.extensions import Relay

from .listeners import Heard

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.core.memories import FactCategory

NOW = 1_700_000_000.0
ANN, BEN = squidbot.Scope(user="ann", bot="b"), squidbot.Scope(user="ben", bot="b")
TOOLS = [squidbot.memory_tool(write=True)]
CALL = {"id": "c1", "type": "function", "function": {"name": "memory", "arguments": "{}"}}
SEARCH = {"action": "search", "query": "boat"}
ACTS = ("turn", "ask", "learn", "forget", "undo", "compact", "reopen", "system")


def learned(
    engine: squidbot.Engine, text: str, category: FactCategory = "core", scope: squidbot.Scope = ANN, replaces: str = ""
) -> str:
    """Remember a fact of the user's, and return its id."""
    added = engine.memories(scope).add(NewMemory(text, category, replaces, trust="user"), NOW)
    return added.memories[0].memory_id


def said_in(assembly: squidbot.Assembly) -> str:
    """Return all that a request says."""
    return "\n".join(str(message["content"]) for message in assembly.messages)


def turn(session: squidbot.Session, text: str, reply: str = "I see.", **more: object) -> squidbot.Assembly:
    """Say something, and record what the model says to it."""
    assembly = session.assemble(text, tools=TOOLS, now=NOW, **more)  # type: ignore[arg-type]  # arguments of assemble
    session.record(*assembly.incoming, reply, now=NOW)
    return assembly


def asked(session: squidbot.Session, arguments: dict[str, object] | None = None) -> None:
    """Let the model call the tool memory, and record what it is answered."""
    assembly = session.assemble("Look it up.", tools=TOOLS, now=NOW)
    session.record(*assembly.incoming, {"role": "assistant", "content": None, "tool_calls": [CALL]}, now=NOW)
    answer = session.memory(arguments or SEARCH, now=NOW)
    session.record({"role": "tool", "tool_call_id": "c1", "content": answer.text}, "Done.", now=NOW)


def bytes_of(folder: Path) -> bytes:
    """Return what the files of a folder hold, and what any compressed text in them says, as far as it goes."""
    plain = b"".join(one.read_bytes() for one in folder.iterdir() if one.is_file())
    places = [place.start() for place in re.finditer(zlib.compress(b"")[:2], plain)]
    return b"\n".join((plain, *(_unpacked(plain[place : place + 65_536]) for place in places)))


def _unpacked(data: bytes) -> bytes:
    with suppress(zlib.error):
        return zlib.decompressobj().decompress(data)
    unpacking, found = zlib.decompressobj(), b""
    with suppress(zlib.error):
        for place in range(len(data)):  # byte by byte: what a page's end cuts off says what stands before it
            found += unpacking.decompress(data[place : place + 1])
    return found


@pytest.mark.parametrize("memory", [{}, {"profile_tokens": 0, "index_tokens": 0}])
def test_forgotten_fact_is_in_no_later_prompt_and_in_no_byte(memory: dict[str, object], tmp_path: Path) -> None:
    """Of head, first words and answers; by the tool, in the session that is spoken in and in others."""
    path = tmp_path / "s.db"
    with squidbot.load({"store": {"path": str(path)}, "memory": memory}) as engine:
        boat = learned(engine, "The boat is called Dorothea.")
        learned(engine, "Ann lives in Lisbon.")
        sessions = [engine.session(name, scope=ANN) for name in ("s", "t")]
        for session in sessions:
            assert "Dorothea" in said_in(turn(session, "What is the boat called?"))
            asked(session)
        assert said_in(turn(sessions[0], "And?")).count("Dorothea") >= 2
        assert b"Dorothea" in bytes_of(tmp_path)
        asked(sessions[0], {"action": "forget", "id": boat})
        assert b"Dorothea" not in bytes_of(tmp_path)
        for session in sessions:
            made = turn(session, "And now?")
            assert "Dorothea" not in said_in(made)
            assert made.event is not None
            assert made.event.cause == "forget"
            assert turn(session, "Still?").event is None
            assert ("Lisbon" in said_in(made)) == (not memory)
    assert b"Dorothea" not in bytes_of(tmp_path)


def test_fact_that_another_process_forgets_is_out_of_the_next_request(tmp_path: Path) -> None:
    """Whoever forgets it, however: what still stands is looked for in the store before each request."""
    config = {"store": {"path": str(tmp_path / "s.db")}, "memory": {"path": str(tmp_path / "facts.db")}}
    with squidbot.load(config) as engine:
        boat = learned(engine, "The boat is called Dorothea.")
        session = engine.session("s", scope=ANN)
        turn(session, "What is the boat called?")
        with squidbot.load({"memory": config["memory"]}) as other:
            other.memories(ANN).store.forget([boat])
        assert b"Dorothea" in bytes_of(tmp_path)
        made = session.assemble("And now?", tools=TOOLS, now=NOW)
        assert "Dorothea" not in said_in(made)
        assert made.event is not None
        assert made.event.cause == "forget"
        assert b"Dorothea" not in bytes_of(tmp_path)


def test_fact_that_is_forgotten_while_its_request_is_answered_is_not_kept(tmp_path: Path) -> None:
    """Its message is recorded behind that, and loses it again."""
    with squidbot.load({"store": {"path": str(tmp_path / "s.db")}}) as engine:
        boat = learned(engine, "The boat is called Dorothea.", "background")
        session = engine.session("s", scope=ANN)
        made = session.assemble("What is the boat called?", now=NOW)
        assert "Dorothea" in said_in(made)
        engine.memories(ANN).forget(boat)
        session.record(*made.incoming, "It has a name.", now=NOW)
        assert b"Dorothea" not in bytes_of(tmp_path)
        following = session.assemble("And now?", now=NOW)
        assert "Dorothea" not in said_in(following)
        assert following.event is not None


def test_request_that_told_a_forgotten_fact_is_not_made_again(tmp_path: Path) -> None:
    """Others are, byte for byte; undo brings back no word of it."""
    with squidbot.load({"store": {"path": str(tmp_path / "s.db")}}) as engine:
        session = engine.session("s", scope=ANN)
        early = engine.session("early", scope=ANN)
        plain = turn(early, "Hello.")
        boat = learned(engine, "The boat is called Dorothea.")
        turn(session, "What is the boat called?")
        told = session.assemble("And?", tools=TOOLS, system="Be brief.", now=NOW)
        session.record(*told.incoming, "Dora?", now=NOW)
        asked(early)
        engine.memories(ANN).forget(boat)
        for number in (0, 1):
            with pytest.raises(squidbot.NotFoundError, match="a fact that it told was forgotten since"):
                session.request(number, system="Be brief." * number)
        assert early.request(0).core.payloads == plain.core.payloads
        session.undo()
        assert "Dorothea" not in said_in(session.assemble("And now?", tools=TOOLS, now=NOW))
        late = turn(session, "So?")
        newest = session.request()
        assert newest.core.payloads == late.core.payloads


def test_older_version_is_gone_from_answers_that_quote_it(tmp_path: Path) -> None:
    """What took its place told what had been before."""
    with squidbot.load({"store": {"path": str(tmp_path / "s.db")}}) as engine:
        old = learned(engine, "The boat is called Dorothea.")
        learned(engine, "The boat is called Emma.", replaces=old)
        session = engine.session("s", scope=ANN)
        asked(session)
        assert "Dorothea" in said_in(turn(session, "And?"))
        engine.memories(ANN).forget(old)
        assert "Dorothea" not in said_in(turn(session, "And now?"))
        assert b"Dorothea" not in bytes_of(tmp_path)


def test_what_was_said_in_the_conversation_stays(tmp_path: Path) -> None:
    """A fact is forgotten, not the message that it is from: that has a `forget` of its own."""
    with squidbot.load({"store": {"path": str(tmp_path / "s.db")}}) as engine:
        boat = learned(engine, "The boat is called Dorothea.")
        session = engine.session("s", scope=ANN)
        turn(session, "My boat is the Dorothea.", notice="It is noon.")
        engine.memories(ANN).forget(boat)
        made = said_in(turn(session, "And now?"))
        assert made.startswith("My boat is the Dorothea.\n\n<notice>\nIt is noon.\n</notice>")
        assert made.count("Dorothea") == 1


def test_session_that_another_user_goes_on_with_tells_him_nothing_of_the_first(tmp_path: Path) -> None:
    """Head, first words and answers of another's scope go, as if they were forgotten; the facts are still there."""
    store = {"path": str(tmp_path / "s.db")}
    with squidbot.load({"store": store, "history": {"isolation": "global"}}) as engine:
        learned(engine, "The boat is called Dorothea.")
        turn(engine.session("s", scope=ANN), "What is the boat called?")
        made = turn(engine.session("s", scope=BEN), "And?")
        assert "Dorothea" not in said_in(made)
        assert "Dorothea" in engine.memories(ANN).search(MemoryQuery("boat"), NOW).text


def test_command_line_takes_it_out_of_the_sessions_of_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And says out of how many; a file that is named has its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "squidbot.toml").write_text('[store]\npath = "s.db"\n', encoding="utf-8")
    with squidbot.load() as engine:
        boat = learned(engine, "The boat is called Dorothea.")
        turn(engine.session("s", scope=ANN), "What is the boat called?")
        turn(engine.session("t", scope=BEN), "What is the boat called?")
    assert b"Dorothea" in bytes_of(tmp_path)
    done = CliRunner().invoke(main, ["memory", "forget", boat, "--yes", "--user", "ann", "--bot", "b"])
    assert done.exit_code == 0, done.output
    assert "removed from the requests of 1 session" in done.output
    assert b"Dorothea" not in bytes_of(tmp_path)


@given(
    acts=st.lists(
        st.sampled_from(["turn", "ask", "learn", "forget", "undo", "compact", "reopen", "system"]), max_size=14
    ),
    window=st.sampled_from([2048, 4096, 32_768]),
)
@settings(deadline=None, max_examples=25)
def test_whatever_happens_no_forgotten_word_is_sent_and_every_request_fits(acts: list[str], window: int) -> None:
    """Facts come and go in any order: requests fit, break only with an event, and tell nothing that was forgotten."""
    with squidbot.load({"window": {"default": window}}) as engine:
        session = engine.session("s", scope=ANN)
        ids: dict[str, str] = {}
        gone: set[str] = set()
        before: tuple[str, ...] = ()
        for number, act in enumerate(("learn", *acts)):
            if act == "learn":
                ids[f"word{number}x"] = learned(engine, f"The boat is called word{number}x.")
            elif act == "forget" and ids:
                word, memory_id = ids.popitem()
                engine.memories(ANN).forget(memory_id)
                gone.add(word)
            elif act == "ask":
                asked(session)
            elif act in {"undo", "compact"}:
                _by_hand(session, act)
            elif act == "reopen":
                session = engine.session("s", scope=ANN)
            made = turn(session, "What is the boat called?", system="Be brief." * (act == "system"))
            assert not any(word in said_in(made) for word in gone)
            assert made.report.cost.bound <= made.report.limit.bound
            if act in {"learn", "turn", "reopen"} and made.event is None:
                assert made.core.payloads[: len(before)] == before
            assert session.request(system="Be brief." * (act == "system")).core.payloads == made.core.payloads
            before = made.core.payloads


def _by_hand(session: squidbot.Session, act: str) -> None:
    try:
        session.undo() if act == "undo" else session.compact()
    except (squidbot.NotFoundError, squidbot.BudgetError):
        return


def test_store_that_fails_leaves_the_rest_for_the_next_request(tmp_path: Path) -> None:
    """The fact is forgotten all the same, and an event says what is left."""
    heard = Heard()
    with squidbot.load({"store": {"path": str(tmp_path / "s.db")}}, extensions=[heard]) as engine:
        boat = learned(engine, "The boat is called Dorothea.")
        session = engine.session("s", scope=ANN)
        turn(session, "What is the boat called?")
        working = engine.wired.engine.remove_facts
        engine.wired.engine.remove_facts = _fails  # type: ignore[method-assign]
        engine.memories(ANN).forget(boat)
        engine.wired.engine.remove_facts = working  # type: ignore[method-assign]
        assert any("not yet retracted from this session: disk full" in cause for cause in heard.degraded)
        assert "Dorothea" not in said_in(turn(session, "And now?"))
        assert b"Dorothea" not in bytes_of(tmp_path)
        assert any(cause.startswith("a fact in the requests was forgotten") for cause in heard.causes("forgotten"))


def _fails(*_: object, **__: object) -> None:
    raise squidbot.StoreError("disk full")


def test_only_sessions_that_were_told_of_a_fact_are_looked_at() -> None:
    """Of ten thousand others none is opened; a store that can only list its sessions has all of them looked at."""
    store, looked = InMemoryStore(), list[str]()
    for name, told in (("s", "f-one"), ("t", "f-other")):
        store.append(
            name, 0, [made_message(0)], [Record(INJECTION.name, 0, f'{{"rows":[0],"plans":[],"memories":["{told}"]}}')]
        )

    def look(session_id: str) -> None:
        looked.append(session_id)

    class Lists:
        def sessions(self) -> list[tuple[str, int]]:
            """List them."""
            return store.sessions()

    assert retract(store, ["f-one", "f-two"], look, Relay()) == []
    assert looked == ["s"]
    retract(Lists(), ["f-one"], look, Relay())
    assert looked == ["s", "s", "t"]
