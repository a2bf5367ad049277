"""Modes and the room for answers, through the Python face: what settings and hosts say, and what is sent."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import squidbot
from squidbot.cli import main
from squidbot.core.errors import BudgetError, ConfigError
from squidbot.core.prompts import MANDATES, MODES, SANITY, TEMPLATES
from squidbot.core.tokens.counters import builtin_counter
from squidbot.wiring.prompting import has_host_tools

from .listeners import Heard

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


TOOLS = [{"type": "function", "function": {"name": "run", "parameters": {"type": "object"}}}]
OWN = [
    {"type": "function", "function": {"name": "memory"}},
    {"name": "squidbot_history", "input_schema": {}},
    {"name": "goal"},
    {"name": "reindex_workspace"},
]
CALLING = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "run", "arguments": "{}"}}],
}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "ok"}
COMPLEX = "Analyze this code file, explain the architecture, identify issues, and suggest detailed improvements"
DEVELOPER = "\n\n".join((*MANDATES, *SANITY, *TEMPLATES["developer"]))


def session(window: int = 32_768, heard: Heard | None = None, **given: Any) -> squidbot.Session:  # noqa: ANN401
    """Return a session in memory."""
    return squidbot.load({"window": {"default": window}, **given}, extensions=[heard] if heard else []).session("s")


def stored(tmp_path: Path, **given: Any) -> squidbot.Engine:  # noqa: ANN401
    """Return an engine over a file."""
    return squidbot.load({"store": {"path": str(tmp_path / "s.db")}, **given})


def system_of(made: squidbot.Assembly) -> str:
    """Return the system text of a request."""
    first = made.messages[0]
    assert first["role"] == "system"
    return str(first["content"])


def extension(_name: str, /, **hooks: Callable[..., object]) -> SimpleNamespace:
    """Return an extension with these hooks."""
    return SimpleNamespace(__name__=_name, **{hook: squidbot.hookimpl(one) for hook, one in hooks.items()})


def talk(one: squidbot.Session, said: str, **given: Any) -> squidbot.Assembly:  # noqa: ANN401
    """Say something, answer it, and return the request."""
    made = one.assemble(said, **given)
    one.record(made.incoming, "Fine.")
    return made


# -- modes --------------------------------------------------------------------------------------------------------


def test_nothing_is_added_while_no_mode_is_set() -> None:
    """The request and all records are those of a session that knows of no modes; what is sent is the host's alone."""
    one = session()
    made = talk(one, "Hello", system="You are Bob.")
    assert made.messages == [{"role": "system", "content": "You are Bob."}, {"role": "user", "content": "Hello"}]
    assert (made.prompt, one.mode, made.max_output_tokens) == (None, "off", 4096)
    assert made.report.complexity is None
    (record,) = one.wired.store.records("s", "request")
    assert not any(word in record.body for word in ("mode", "reserve"))


def test_mode_stands_behind_the_host_s_system_text_and_is_counted() -> None:
    """In every request; what it costs is part of what the request costs, and of its limit nothing is hidden."""
    one = session(prompt={"mode": "developer"})
    made = talk(one, "Hello", system="You are Bob.")
    assert system_of(made) == f"You are Bob.\n\n{DEVELOPER}"
    assert made.prompt is not None
    assert made.prompt.text == DEVELOPER
    bare = talk(session(), "Hello", system="You are Bob.")
    assert made.report.cost.bound - bare.report.cost.bound >= builtin_counter("classes").count(DEVELOPER)
    assert system_of(talk(one, "Go on")) == DEVELOPER


def test_mode_that_changes_is_an_event_and_labels_the_turns_before() -> None:
    """W-01, C19: the next turn is in the new mode, what was said before is told to be of the other; then all grows."""
    heard = Heard()
    one = session(heard=heard, prompt={"mode": "developer"})
    talk(one, "Hello", tools=TOOLS)
    one.mode = "debugger"
    made = talk(one, "It fails", tools=TOOLS)
    assert made.event is not None
    assert made.event.cause == "mode-changed"
    assert TEMPLATES["debugger"][0] in system_of(made)
    label = "[from here on: mode debugger; before this: mode developer]"
    assert made.messages[-1]["content"] == f"It fails\n\n<notice>\n{label}\n</notice>"
    following = talk(one, "Still", tools=TOOLS)
    assert following.event is None
    assert following.messages[: len(made.messages)] == made.messages
    assert [event.cause for event in heard.events if event.name == "mode-changed"] == ["developer -> debugger"]


def test_mode_changes_at_the_next_turn_where_a_tool_loop_is_open() -> None:
    """The prefix of the current turn stays, and the tools do."""
    one = session(prompt={"mode": "developer"})
    first = one.assemble("Run it", tools=TOOLS)
    one.record(first.incoming, CALLING)
    one.mode = "planning"
    second = one.assemble(RESULT, tools=TOOLS)
    assert second.event is None
    assert second.messages[: len(first.messages)] == first.messages
    one.record(second.incoming, "It ran.")
    third = one.assemble("Next", tools=TOOLS)
    assert TEMPLATES["planning"][0] in system_of(third)


def test_mode_that_somebody_chose_is_kept_with_the_session(tmp_path: Path) -> None:
    """Another process goes on in it; the settings' own is followed where nobody chose one; "off" is a choice, too."""
    with stored(tmp_path, prompt={"mode": "developer"}) as engine:
        one = engine.session("s")
        talk(one, "Hello", now=1.0)
        one.mode = "planning"
        sent = talk(one, "Plan", now=2.0)
    with stored(tmp_path) as engine:
        one = engine.session("s")
        assert one.mode == "planning"  # before anything is asked, too
        made = talk(one, "Go on", now=3.0)
        assert one.mode == "planning"
        assert made.event is None
        assert made.messages[: len(sent.messages)] == sent.messages
        assert one.request().messages == made.messages
        assert one.request(1).messages == sent.messages
        one.mode = "off"
        talk(one, "No more", now=4.0)
    with stored(tmp_path, prompt={"mode": "debugger"}) as engine:
        assert engine.session("s").assemble("x", now=5.0).messages[0]["role"] == "user"
        again = engine.session("s", mode="debugger").assemble("x", now=5.0)
        assert TEMPLATES["debugger"][0] in system_of(again)


def test_mode_of_the_settings_is_followed_where_nobody_chose_one(tmp_path: Path) -> None:
    """What was said under the settings before is labelled so."""
    with stored(tmp_path) as engine:
        talk(engine.session("s"), "Hello", now=1.0)
    with stored(tmp_path, prompt={"mode": "planning"}) as engine:
        made = engine.session("s").assemble("Plan", now=2.0)
        assert "[from here on: mode planning, without tools; before this: no mode]" in str(made.messages[-1])
        assert made.event is not None
        assert made.event.cause == "mode-changed"


def test_message_that_was_recorded_before_its_request_opens_its_turn() -> None:
    """The mode is the new one; the label comes with the first message that a call brings."""
    one = session(prompt={"mode": "developer"})
    talk(one, "Hello")
    one.mode = "planning"
    one.record({"role": "user", "content": "Plan"})
    assert TEMPLATES["planning"][0] in system_of(one.assemble())
    one.record("Planned.")
    assert "before this: mode developer" in str(talk(one, "And now?").messages[-1])


def test_tools_that_come_are_told_of_in_a_mode() -> None:
    """Turns without tools taught the model to call none."""
    one = session(prompt={"mode": "developer"})
    talk(one, "Hello", tools=OWN)
    label = "[from here on: mode developer; before this: mode developer, without tools]"
    assert label in str(talk(one, "Run it", tools=TOOLS).messages[-1])
    assert label not in str(talk(one, "Again", tools=TOOLS).messages[-1])


@pytest.mark.parametrize(("tools", "is_host"), [([], False), (OWN, False), (TOOLS, True), ([{"type": "search"}], True)])
def test_tools_are_the_host_s_where_one_is_not_ours(tools: list[dict[str, object]], is_host: bool) -> None:  # noqa: FBT001
    """Ours come with every session (C19)."""
    assert has_host_tools(tools) is is_host


def test_assistant_is_refused_in_a_small_window() -> None:
    """O-11: from tier 4 on; the session is not opened, and a mode that is set is not taken."""
    with pytest.raises(ConfigError, match="'assistant' is for windows of tier 4 and above; this one of 16,384 tokens"):
        session(16_384, prompt={"mode": "assistant"})
    one = session(16_384)
    with pytest.raises(ConfigError, match="tier 4"):
        one.mode = "assistant"
    assert one.mode == "off"
    assert TEMPLATES["assistant"][0] in system_of(session(prompt={"mode": "assistant"}).assemble("Hello"))


def test_unknown_mode_is_refused_where_it_is_named() -> None:
    """In the settings with the key's path, at a session, at a change."""
    known = "known: off, developer, planning, assistant, debugger"
    with pytest.raises(ConfigError, match=f"unknown mode 'poet', {known} @ argument.prompt.mode"):
        squidbot.load({"prompt": {"mode": "poet"}})
    with pytest.raises(ConfigError, match=f"unknown mode 'poet', {known}"):
        squidbot.load({}).session("s", mode="poet")


# -- the user's own texts -----------------------------------------------------------------------------------------


def test_files_bring_modes_and_take_the_place_of_our_words(tmp_path: Path) -> None:
    """A file for each mode, its paragraphs in order of weight; mandates and sanity stand in front of every one."""
    (tmp_path / "mandates.md").write_text("Never lie.\n\nNever guess.\n")
    (tmp_path / "reviewer.md").write_text("- Review.\n- Be kind.\n\nKeep: findings,\nand who is to fix them.\n")
    prompt = {"folder": str(tmp_path), "mode": "reviewer"}
    made = session(prompt=prompt).assemble("Hello")
    expected = [
        "Never lie.",
        "Never guess.",
        *SANITY,
        "- Review.\n- Be kind.",
        "Keep: findings,\nand who is to fix them.",
    ]
    assert system_of(made) == "\n\n".join(expected)
    engine = squidbot.load({"prompt": prompt})
    assert engine.wired.summary_settings().keeps == {**MODES, "reviewer": "findings, and who is to fix them"}
    assert system_of(engine.session("p", mode="planning").assemble("x")).startswith("Never lie.\n\nNever guess.\n\n")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "no *.md files in"),
        ({"off.md": "x"}, "off is not allowed as a mode name"),
        ({"mine.md": " \n\n"}, "mine.md is empty"),
        ({"mine.md": b"\xff"}, "cannot read it"),
    ],
)
def test_folder_of_texts_that_cannot_be_used_is_refused_with_its_key(
    tmp_path: Path, files: dict[str, str | bytes], message: str
) -> None:
    """What is wrong, and where."""
    for name, text in files.items():
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError) as caught:
        squidbot.load({"prompt": {"folder": str(tmp_path)}})
    assert message in str(caught.value)
    assert str(caught.value).endswith("@ argument.prompt.folder")


def test_text_that_does_not_fit_under_the_cap_is_refused_when_the_session_is_opened(tmp_path: Path) -> None:
    """The mode's first paragraph has to; the error names amounts and key."""
    (tmp_path / "long.md").write_text("word " * 2000)
    with pytest.raises(BudgetError, match=r"mode 'long': \d+ .* of 1800 tokens; .* prompt.mode"):
        session(prompt={"folder": str(tmp_path), "mode": "long"})


# -- the room for answers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "tools", "score", "percent"),
    [("hi", TOOLS, 0.10, 17), (COMPLEX, TOOLS, 0.80, 31), ("x" * 150, [], 0.20, 17), (COMPLEX, [], 0.75, 22.5)],
)
def test_answer_gets_room_by_its_question(
    said: str, tools: list[dict[str, object]], score: float, percent: float
) -> None:
    """W-10, V9, V10 and V26: the score within .03 of the document's, the response within a percent of the window."""
    made = session(100_000, allocation={"adaptive": True}).assemble(said, tools=tools)
    assert made.report.complexity == pytest.approx(score, abs=0.03)
    assert made.max_output_tokens / 1000 == pytest.approx(percent, abs=1)
    assert made.report.max_output_tokens == made.max_output_tokens
    assert made.report.limit.bound == 100_000 - made.max_output_tokens


def test_room_of_a_turn_stays_until_the_next_one(tmp_path: Path) -> None:
    """Through its tool loop, and through a restart inside of it; the next question has its own."""
    detailed: dict[str, Any] = {"allocation": {"adaptive": True, "verbosity": "detailed"}}
    with stored(tmp_path, **detailed) as engine:
        one = engine.session("s")
        first = one.assemble(COMPLEX, tools=TOOLS)
        one.record(first.incoming, CALLING)
    with stored(tmp_path, **detailed) as engine:
        one = engine.session("s")
        second = one.assemble(RESULT, tools=TOOLS)
        assert second.max_output_tokens == first.max_output_tokens == int(0.39 * 32_768)
        one.record(second.incoming, "Done.")
        assert one.request(0).max_output_tokens == first.max_output_tokens
        third = one.assemble("hi", tools=TOOLS)
        assert third.max_output_tokens < first.max_output_tokens
        assert third.event is None


def test_room_is_never_more_than_the_longest_answer_or_what_is_reserved() -> None:
    """The model's `max_tokens` and `budget.reserved_output_tokens` are ceilings."""
    model = {"m": {"context_window": 100_000, "max_tokens": 20_000}}
    engine = squidbot.load({"allocation": {"adaptive": True}, "models": model})
    made = engine.session("s", model="m").assemble(COMPLEX, tools=TOOLS)
    assert (made.max_output_tokens, made.core.window.reserved_output_tokens) == (20_000, 20_000)
    one = session(allocation={"adaptive": True}, budget={"reserved_output_tokens": 1000})
    assert one.assemble(COMPLEX, tools=TOOLS).max_output_tokens == 1000


def test_words_of_another_language_are_those_of_the_settings() -> None:
    """Beside English, or in its place."""
    german = {"create": ["erstelle"], "analyse": ["Prüfe"], "request": ["erkläre"]}
    words: dict[str, Any] = {"adaptive": True, "words": {"german": german}}
    one = session(allocation=words)
    assert one.assemble("Prüfe und erkläre das").report.complexity == pytest.approx(0.471)
    assert session(allocation={"adaptive": True}).assemble("Prüfe und erkläre das").report.complexity == pytest.approx(
        0.071
    )
    chinese = {"analyse": ["分析"], "question_marks": "?\uff1f", "spaced": False}
    english = {"english": {"create": ["forge"]}, "chinese": chinese}
    one = session(allocation={"adaptive": True, "words": english})
    assert one.assemble("请分析代码\uff1f\uff1f").report.complexity == pytest.approx(0.457)
    assert one.assemble("create").report.complexity == pytest.approx(0.056)


@settings(max_examples=30)
@given(
    window=st.integers(2048, 131_072),
    said=st.lists(st.text(max_size=300), min_size=1, max_size=5),
    mode=st.sampled_from(["off", "developer", "planning", "debugger"]),
    tools=st.booleans(),
    verbosity=st.sampled_from(["concise", "balanced", "detailed"]),
)
def test_request_and_answer_fit_the_window_whatever_is_asked(
    window: int,
    said: list[str],
    mode: str,
    tools: bool,  # noqa: FBT001
    verbosity: str,
) -> None:
    """Windows from 2K to 128K, any text, with a mode and without: never over, and nothing moves without an event."""
    one = session(window, allocation={"adaptive": True, "verbosity": verbosity}, prompt={"mode": mode})
    before: list[dict[str, object]] = []
    for text in said:
        made = talk(one, text, tools=TOOLS if tools else [])
        assert made.report.cost.bound + made.max_output_tokens <= window
        assert made.event is not None or made.messages[: len(before)] == before
        before = made.messages


def test_extensions_score_and_give_room_in_our_place() -> None:
    """Asked once where a turn opens; the first by name wins; never more than the session was opened with."""
    asked: list[tuple[str, bool]] = []

    def score(text: str, tools_mode: bool) -> float:  # noqa: FBT001  # as the hook has it
        asked.append((text, tools_mode))
        return 0.5

    def room(score: float, window_tokens: int, reserved_tokens: int) -> int:
        assert (score, window_tokens, reserved_tokens) == (0.5, 32_768, int(0.25 * 32_768))
        return 10**9

    rooms = [extension("a", score_complexity=score), extension("b", score_complexity=lambda: 1, allocate=room)]
    one = squidbot.load({"allocation": {"adaptive": True}}, extensions=rooms).session("s")
    first = one.assemble("hi", tools=TOOLS)
    assert first.report.complexity == 0.5
    assert first.max_output_tokens == one.window.reserved_output_tokens == int(0.35 * 32_768)
    one.record(first.incoming, CALLING)
    one.assemble(RESULT, tools=TOOLS)
    assert asked == [("hi", True)]


@pytest.mark.parametrize("rubbish", [2, -0.1, float("nan"), True, "much", None])
def test_rubbish_of_an_extension_leaves_our_own_score_and_room(rubbish: object) -> None:
    """And so does one that fails."""

    def fails() -> None:
        raise RuntimeError

    bad = extension("bad", score_complexity=lambda: rubbish, allocate=lambda: rubbish if rubbish != 2 else 0)
    for one in (bad, extension("worse", score_complexity=fails, allocate=fails)):
        made = squidbot.load({"allocation": {"adaptive": True}}, extensions=[one]).session("s").assemble("hi")
        assert made.report.complexity == pytest.approx(0.052)
        assert made.max_output_tokens == int(0.1552 * 32_768)


# -- what is seen of it -------------------------------------------------------------------------------------------


def test_commands_show_the_mode_s_text_and_the_room_of_the_newest_turn(tmp_path: Path) -> None:
    """`explain` of a session, `status` of each model; in words and as JSON."""
    file, settings_file = tmp_path / "s.db", tmp_path / "squidbot.toml"
    settings_file.write_text(
        f'[store]\npath = "{file}"\n[prompt]\nmode = "planning"\n[allocation]\nadaptive = true\n'
        '[window]\ndefault = 4096\n[gpu]\nprobe = "none"\n'
    )
    with squidbot.load(settings_file) as engine:
        made = talk(engine.session("s"), "hi")
    assert made.prompt is not None
    said = f"mode planning: {made.prompt.cost.estimate} of at most 400 tokens (mandates 201, planning "
    run = CliRunner()
    explained = run.invoke(main, ["session", "explain", "s", "--store", str(file)])
    assert said in explained.output
    assert "paragraphs left out" in explained.output
    told = json.loads(run.invoke(main, ["session", "explain", "s", "--store", str(file), "--json"]).output)
    assert told["prompt"]["tokens"] == made.prompt.cost.estimate
    assert (told["budget"]["reserve"], told["complexity"]) == (made.max_output_tokens, made.report.complexity)
    shown = run.invoke(main, ["status", "--all", "--config", str(settings_file)])
    assert said in shown.output
    assert "up to 1,433 of them for the answer" in shown.output
    model = json.loads(run.invoke(main, ["status", "--config", str(settings_file), "--json"]).output)["models"][0]
    assert model["prompt"] == told["prompt"]


def test_status_says_that_a_mode_is_not_for_a_model_s_window(tmp_path: Path) -> None:
    """A problem, with what to do."""
    settings_file = tmp_path / "squidbot.toml"
    settings_file.write_text('[prompt]\nmode = "assistant"\n[window]\ndefault = 4096\n[gpu]\nprobe = "none"\n')
    shown = CliRunner().invoke(main, ["status", "--config", str(settings_file)])
    assert shown.exit_code == 1
    assert "mode 'assistant' is for windows of tier 4 and above" in " ".join(shown.output.split())


# -- the budgets of a request, by the names of document 002 ------------------------------------------------------------


def test_report_has_the_budgets_of_the_document() -> None:
    """W-20, W-02: `'budget_used': self._count_tokens(messages), 'budget_available': history_budget`.

    What is used is what the messages cost, without tools. What is available does not shrink as history grows.
    """
    talk = session(allocation={"adaptive": True})
    reports = []
    for number in range(4):
        made = talk.assemble(f"Question {number}: {'word ' * 40}", system="You are a helpful assistant.", tools=TOOLS)
        reports.append(made.report)
        talk.record(*made.incoming, "Answer.")
    used, costs = [one.budget_used for one in reports], [one.cost.bound for one in reports]
    assert used == sorted(set(used))
    assert {cost - sent for cost, sent in zip(costs, used, strict=True)} == {costs[0] - used[0]}
    assert 0 < used[0] < costs[0]
    (available,) = {one.budget_available for one in reports}
    assert used[-1] < available < reports[-1].limit.bound
    assert talk.assemble("And without any?").report.budget_available > available


def test_response_percentage_grows_with_the_question_and_not_with_the_window() -> None:
    """W-10, W-13: `complex_response_pct > simple_response_pct`; `abs(small_pct - large_pct) < 0.01`."""
    share = {
        (text, window): session(window, allocation={"adaptive": True})
        .assemble(text, tools=TOOLS)
        .report.response_percentage
        for text in ("hi", "test", COMPLEX)
        for window in (8_192, 131_072)
    }
    assert share["hi", 8_192] == pytest.approx(0.17, abs=0.001)
    assert share[COMPLEX, 8_192] == pytest.approx(0.31, abs=0.001)
    for text in ("hi", "test", COMPLEX):
        assert abs(share[text, 8_192] - share[text, 131_072]) < 0.01
