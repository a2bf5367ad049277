"""What a policy parts is in no request, note, snapshot or search of another (C6, W-07)."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import squidbot
from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.errors import ConfigError, DamagedStoreError, NotFoundError
from squidbot.core.memories import NOBODY, HistoryIsolation, Scope
from squidbot.core.messages import Record
from squidbot.core.transcript.scopes import MODEL, SessionOwner, model_at, transcript_id

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.core.messages import StoredMessage

QWEN, LLAMA = "qwen2.5:7b", "llama3.1:8b"
ISOLATIONS: tuple[HistoryIsolation, ...] = get_args(HistoryIsolation)
ANN, BEN = Scope(user="ann"), Scope(user="ben")


def engine_of(isolation: str, path: Path | None = None) -> squidbot.Engine:
    """Return an engine under a policy, over a SQLite file or in memory."""
    store = {"path": str(path)} if path else {}
    return squidbot.load({"history": {"isolation": isolation}, "store": store, "memory": {"enabled": False}})


def said(session: squidbot.Session, text: str) -> str:
    """Return the request for a new question, as text, and record the exchange."""
    assembly = session.assemble(text, now=1000.0)
    session.record(assembly.incoming, f"Answer to {text}", now=1000.0)
    return str(assembly.messages)


def test_text_said_to_one_model_is_in_no_request_to_another(tmp_path: Path) -> None:
    """W-07: and in those to the same model, in another mode, after a restart, it is."""
    with engine_of("model", tmp_path / "s.db") as engine:
        said(engine.session("work", model=QWEN), "the key is 4711")
        assert "4711" not in said(engine.session("work", model=LLAMA), "which key?")
        asked = engine.session("work", model=QWEN).assemble("which key?", now=1001.0)
        assert "4711" in str(asked.messages)
        other_mode = engine.session("work", model=QWEN, mode="developer").assemble("which key?", now=1001.0)
        assert "4711" in str(other_mode.messages)
    with engine_of("model", tmp_path / "s.db") as engine:
        again = engine.session("work", model=QWEN).assemble("which key?", now=1001.0)
        assert again.messages == asked.messages
        assert engine.session("work", model=QWEN).session_id == "work@model:qwen2.5:7b"


def test_notes_snapshots_and_search_cross_no_policy(tmp_path: Path) -> None:
    """W-07, C6: nothing made of what was said under one model is found, restored or shown under another."""
    with engine_of("model", tmp_path / "s.db") as engine:
        mine = engine.session("work", model=QWEN, window_tokens=2000)
        for number in range(40):
            said(mine, f"[DECISION] the key number {number} is 4711, as agreed with the harbour master and the crew")
        mine.snapshot("kept")
        mine.compact()
        assert engine.wired.store.for_range(mine.session_id, 0, 80)
        other = engine.session("work", model=LLAMA, window_tokens=2000)
        assert "4711" not in said(other, "go on")
        assert not other.search("4711 harbour").hits
        assert "m0" not in other.history({"action": "search", "query": "harbour"}).text
        assert not other.snapshots()
        with pytest.raises(NotFoundError):
            other.restore("kept")
        assert "4711" in str(mine.assemble("go on", now=2000.0).messages)


@given(
    isolation=st.sampled_from(ISOLATIONS),
    turns=st.lists(
        st.tuples(st.sampled_from(("", "a", "b")), st.sampled_from(("", "a", "b")), st.sampled_from(("", "t", "a/b"))),
        min_size=1,
        max_size=8,
    ),
)
def test_each_request_has_what_its_own_part_said_and_nothing_else(
    isolation: HistoryIsolation, turns: list[tuple[str, str, str]]
) -> None:
    """W-07, C6: whichever bots, agents, models and tenants take turns in one session, in any order.

    Users share it only where the policy is "global"; where it is "user", tenants share none either.
    """
    with engine_of(isolation) as engine:
        keys = []
        for number, (part, model, firm) in enumerate(turns):
            user = f"user {number}" if isolation == "global" else "ann"
            tenant = "" if isolation == "user" else firm
            scope = Scope(tenant=tenant, bot=part, agent=part, user=user)
            mine = {"bot": part, "agent": part, "model": model}.get(isolation, "")
            request = said(engine.session("s", model=model, scope=scope), f"<text {number}>")
            keys.append(("" if isolation == "global" else tenant, mine))
            due = [one for one, key in enumerate(keys) if key == keys[-1]]
            assert [one for one in range(number + 1) if f"'<text {one}>" in request] == due


@pytest.mark.parametrize("isolation", [one for one in ISOLATIONS if one != "global"])
@pytest.mark.parametrize("other", [BEN, Scope(user="ann", tenant="firm"), Scope(thread="s")], ids=str)
def test_a_conversation_of_one_user_is_refused_to_others(
    isolation: HistoryIsolation, other: Scope, tmp_path: Path
) -> None:
    """Where it is opened; whoever names nobody, for a conversation, is another one, too; the program reads it all."""
    with engine_of(isolation, tmp_path / "s.db") as engine:
        said(engine.session("s", scope=ANN), "the key is 4711")
        if other.tenant and isolation != "user":
            assert "4711" not in said(engine.session("s", scope=other), "which key?"), "tenants have transcripts"
            return
        with pytest.raises(ConfigError, match=r"'s' belongs to another user.*history\.isolation"):
            engine.session("s", scope=other)
        assert "4711" in str(engine.session("s", scope=NOBODY).assemble("which key?").messages)
    with engine_of("global", tmp_path / "s.db") as engine:
        assert "4711" in said(engine.session("s", scope=other), "a group's"), "unless it is a group's"


def test_nobody_s_conversation_becomes_that_of_the_first_user() -> None:
    """As of one who talks first, and signs in then."""
    with engine_of("user") as engine:
        said(engine.session("s", scope=Scope(thread="s")), "the key is 4711")
        assert "4711" in said(engine.session("s", scope=ANN), "which key?")
        with pytest.raises(ConfigError):
            engine.session("s", scope=Scope(thread="s"))


def test_two_users_who_begin_a_conversation_at_once_never_share_it() -> None:
    """Neither in a request nor by a tool; nothing of the second one is recorded: the store settles who was first."""
    with engine_of("user") as engine:
        of_ann, of_ben = (engine.session("s", scope=scope) for scope in (ANN, BEN))
        sent = [session.assemble("Hi", now=1000.0) for session in (of_ann, of_ben)]
        of_ann.record({"role": "user", "content": "the key is 4711"}, "Noted.", now=1000.0)
        for act in (
            lambda: of_ben.record(sent[1].incoming, "Hello.", now=1000.0),
            lambda: of_ben.assemble("which key?", now=1000.0),
            lambda: of_ben.search("4711"),
            lambda: of_ben.history({"action": "search", "query": "4711"}),
        ):
            with pytest.raises(ConfigError, match="belongs to another user"):
                act()
        assert engine.wired.store.head("s")[0] == 2


def test_two_who_begin_a_session_at_once_never_share_it() -> None:
    """C6: which transcript it is follows from what was stored before, so that no second one takes it for its own."""
    with engine_of("bot") as engine:
        one, other = (engine.session("s", scope=Scope(bot=bot)) for bot in ("a", "b"))
        said(one, "for a")
        assert "for a" not in said(other, "for b")
        assert (one.session_id, other.session_id) == ("s@bot:a", "s@bot:b")


def test_store_from_before_there_was_a_policy_opens_as_before(tmp_path: Path) -> None:
    """C6: a session of one model or bot stays its own; one of several is nobody's, and is left as it is."""
    path = tmp_path / "old.db"
    with engine_of("global", path) as engine:
        said(engine.session("alone", model=QWEN), "The boat is red.")
        for model in (QWEN, LLAMA):
            said(engine.session("mixed", model=model), "the key is 4711")
        said(engine.session("bots", scope=Scope(bot="squid")), "For squid.")
        said(engine.session("plain"), "For nobody.")
    with engine_of("model", path) as engine:
        assert engine.session("alone", model=QWEN).session_id == "alone"
        assert "The boat is red." in said(engine.session("alone", model=QWEN), "which?")
        assert "The boat" not in said(engine.session("alone", model=LLAMA), "which?")
        for model in (QWEN, LLAMA):
            assert "4711" not in said(engine.session("mixed", model=model), "which key?")
        assert engine.wired.store.head("mixed")[0] == 4
    with engine_of("bot", path) as engine:
        assert "For squid." in said(engine.session("bots", scope=Scope(bot="squid")), "go on")
        assert "For squid." not in said(engine.session("bots", scope=Scope(bot="whale")), "go on")
        assert "For nobody." in said(engine.session("plain"), "go on")
    with engine_of("global", path) as engine:
        assert "4711" in said(engine.session("mixed", model=LLAMA), "which key?")


def test_model_of_each_message_is_stored_once_for_each_change() -> None:
    """C6: whatever the policy; where no model was ever named nothing is stored."""
    with engine_of("global") as engine:
        for model in ("", "", QWEN, QWEN, LLAMA, ""):
            said(engine.session("s", model=model), "hello")
        store = engine.wired.store
        models = MODEL.state(store, "s")
        assert [model_at(models, seq) for seq in range(0, 12, 2)] == ["", "", QWEN, QWEN, LLAMA, ""]
        assert len(store.records("s", MODEL.name)) == 3
        said(engine.session("plain"), "hello")
        assert not store.records("plain", MODEL.name)
        assert model_at(MODEL.state(store, "plain"), 1) == ""


def test_part_is_spelled_so_that_no_other_is_spelled_alike() -> None:
    """C6: a tenant with a slash, a part with an at sign, and ids that would become too long."""
    store = InMemoryStore()
    scopes = [Scope("a", bot="b/c"), Scope("a/b", bot="c"), Scope("a%2Fb", bot="c"), Scope(bot="a/b/c")]
    ids = [transcript_id(store, "s", SessionOwner(scope, "", "bot")) for scope in (*scopes, Scope(bot="b@bot:c"))]
    ids.append(transcript_id(store, "s@bot:b", SessionOwner(Scope(bot="c"), "", "bot")))
    assert len(set(ids)) == 6
    long = [transcript_id(store, "s" * 1000, SessionOwner(Scope(bot=bot * 500), "", "bot")) for bot in ("a", "b")]
    assert [len(one) for one in long] == [1024, 1024]
    assert long[0] != long[1]


def test_damaged_record_of_a_model_is_named() -> None:
    """C6: nothing is shown to a model that it may not see."""
    store = InMemoryStore()
    rows: list[StoredMessage] = []
    store.append("s", 0, rows, [Record(MODEL.name, 0, "{")])
    with pytest.raises(DamagedStoreError, match="model 0 can't be read"):
        MODEL.state(store, "s")
