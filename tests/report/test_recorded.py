"""The report of an imported session: the calls that its recording has, and nothing that squidbot would have done."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st

import squidbot
from squidbot.cli import main
from squidbot.cli.open_store import open_store
from squidbot.codecs.recordings import claude_code
from squidbot.core.messages import Message
from squidbot.core.transcript.recordings import RECORDING, SourceSession
from squidbot.replay.terms import SCORING
from squidbot.report.data import GrowingReport, ReportData, ReportSource, report_data, without_text
from squidbot.report.listing import SessionRows
from squidbot.services.recordings import RecordingImporter
from squidbot.testing.claude_code import ClaudeTranscript

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "claude-code/11111111-2222-4333-8444-555555555555"
SECRET = "sk-ant-api03-" + "Zx9" * 12
USAGE: dict[str, object] = {
    "input_tokens": 10,
    "output_tokens": 7,
    "cache_read_input_tokens": 900,
    "cache_creation_input_tokens": 90,
}


@pytest.fixture
def engine() -> Iterator[squidbot.Engine]:
    """Give an engine in memory without background work."""
    with squidbot.load({"summary": {"scheduler": "none"}}) as made:
        yield made


def imported(engine: squidbot.Engine, talk: ClaudeTranscript) -> squidbot.Session:
    """Import what is new in a transcript, and return the session."""
    wired = engine.wired
    RecordingImporter(wired.store, wired.meter(), wired.codecs).import_file(claude_code, talk.path)
    return engine.session(NAME)


def data_of(session: squidbot.Session, redact: Any = str) -> ReportData:  # noqa: ANN401  # takes texts
    """Return the data of a session."""
    return report_data(ReportSource(session.core, SCORING, redact), 5.0)


def calls_of(data: ReportData) -> list[tuple[str, list[str]]]:
    """Return the answer and the parts of each call as texts, put together as a reader of the data does."""
    values, texts, found, stack = data.values, data.texts, list[tuple[str, list[str]]](), list[int]()
    for call in values["calls"]:
        stack = [*stack[: call["keep"]], *call["add"]]
        answer = texts[values["messages"][call["answer"]]["text"]]
        found.append((answer, [texts[values["parts"][number]["text"]] for number in stack]))
    return found


def talked(folder: Path) -> ClaudeTranscript:
    """Return a transcript with two steps, a compaction, and one step behind it."""
    talk = ClaudeTranscript(folder)
    talk.usage = USAGE
    talk.say("Mend the parser")
    talk.call("Bash", {"command": "ls"}, "parser.py", text="I look.")
    talk.answer("It is mended.")
    talk.compact("The parser was mended.")
    talk.say("Now the tests")
    talk.answer("They pass.", model="claude-haiku-5")
    return talk


def test_each_answer_is_a_call_with_what_the_agent_can_have_sent(tmp_path: Path, engine: squidbot.Engine) -> None:
    """Messages of the line, word for word; behind its compaction the agent's summary and what follows."""
    data = data_of(imported(engine, talked(tmp_path)))
    look, summary = 'I look.\nBash {"command": "ls"}', (
        "This session is being continued from a previous conversation that ran out of context.\nThe parser was mended."
    )  # fmt: skip
    assert calls_of(data) == [
        (look, ["Mend the parser"]),
        ("It is mended.", ["Mend the parser", look, "parser.py"]),
        ("They pass.", [summary, "Now the tests"]),
    ]
    values = data.values
    assert values["source"] == "recording"
    assert values["recording"] == {"agent": "claude-code", "project": "/work/app", "title": None}
    assert {part["how"] for part in values["parts"]} == {"raw"}
    assert [part["group"] for part in values["parts"]] == ["user", "model", "tool", "carried", "user"]
    for call in values["calls"]:
        assert call["reported"] == {"input_tokens": 1_000, "output_tokens": 7, "cached_tokens": 900}
        assert (call["cached"], call["new"] + call["rewritten"], call["output"]) == (900, 100, 7)
        assert call["price"] == pytest.approx(0.1 * 900 + 1.25 * 100)
        assert (call["outside"], sum(call["by"].values())) == (0, call["tokens"])
        assert (call["bound"], call["limit"], call["is_same"], call["problem"]) == (None, None, None, None)
        assert call["time"] == values["messages"][call["answer"]]["time"]
    assert [call["model"] for call in values["calls"]] == ["claude-opus-5-5", "claude-opus-5-5", "claude-haiku-5"]


def test_a_compaction_of_the_agents_is_one_of_the_report(tmp_path: Path, engine: squidbot.Engine) -> None:
    """Before which call it stands, what it left out, and what it cannot have cost squidbot."""
    values = data_of(imported(engine, talked(tmp_path))).values
    tokens = [message["tokens"] for message in values["messages"]]
    [row] = values["compactions"]
    assert (row["cause"], row["call"], row["from"], row["made_at"]) == ("agent", 2, 0, 4)
    assert (row["before"], row["after"]) == (sum(tokens[:4]), tokens[4])
    assert (row["plan"], row["price"], row["pays_after"], row["paid_at"]) == (None, None, None, None)
    totals = values["totals"]
    assert (totals["compactions"], totals["calls"], totals["reported"], totals["rebuilt"]) == (1, 3, 3, 0)
    assert (values["policies"], totals["everything_price"]) == ([], None)
    assert (values["window"]["tokens"], values["window"]["limit"]) == (None, None)
    assert values["window"]["model"] == "claude-haiku-5"


STEPS = st.sampled_from(["say", "answer", "call", "compact", "back"])
CARRIED = "This session is being continued from a previous conversation that ran out of context."


class Tree:
    """A transcript, and beside it what each entry says and which one stands before it: none before a summary."""

    def __init__(self, folder: Path) -> None:
        """Begin with what the user says."""
        self.talk = ClaudeTranscript(folder)
        self.said: dict[str | None, tuple[str | None, str]] = {}
        # Where somebody can go back to, and the parts of the call of each answer.
        self.ends: list[str] = []
        self.wanted: dict[str, list[str]] = {}
        self.step("say", 99, 0)

    def step(self, step: str, number: int, place: int) -> None:
        """Say one thing more."""
        talk = self.talk
        if step == "back":
            talk.tip = self.ends[place % len(self.ends)]
        before, text = talk.tip, f"{step} {number}"
        if step == "answer":
            self.wanted[text] = self._way(before)
            talk.answer(text)
        elif step == "call":
            asked = f"look {number}\nBash {{}}"
            self.wanted[asked] = self._way(before)
            self.said[asked] = before, asked
            before = asked
            talk.call("Bash", {}, text, text=f"look {number}")
        elif step == "compact":
            talk.compact(text)
            before, text = None, f"{CARRIED}\n{text}"
        else:
            talk.say(text)
        self.said[talk.tip] = before, text
        self.ends += [talk.tip or ""] if step != "call" else []

    def _way(self, entry: str | None) -> list[str]:
        found: list[str] = []
        while entry is not None:
            entry, text = self.said[entry]
            found.append(text)
        return found[::-1]


@example(steps=[("answer", 0), ("compact", 0), ("answer", 0), ("say", 0), ("back", 3), ("answer", 0)])
@example(steps=[("call", 0), ("answer", 0), ("compact", 0), ("say", 0), ("answer", 0), ("back", 1), ("answer", 0)])
@given(steps=st.lists(st.tuples(STEPS, st.integers(0, 99)), max_size=14))
def test_parts_are_the_messages_of_the_line_behind_the_newest_summary(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    """In order and complete, wherever the user went back to: by the links of the transcript alone."""
    tree = Tree(tmp_path_factory.mktemp("talk"))
    for number, (step, place) in enumerate(steps):
        tree.step(step, number, place)
    with squidbot.load({"summary": {"scheduler": "none"}}) as engine:
        assert dict(calls_of(data_of(imported(engine, tree.talk)))) == tree.wanted


def test_a_report_that_goes_on_is_the_one_made_anew(tmp_path: Path, engine: squidbot.Engine) -> None:
    """After each import of what the agent said meanwhile; calls that are known are not made again."""
    talk, growing = ClaudeTranscript(tmp_path), GrowingReport()
    known: list[dict[str, Any]] = []
    for step in range(9):
        talk.say(f"Question {step}")
        talk.answer(f"Answer {step}")
        if step % 3 == 2:
            talk.compact(f"Summary {step}")
        source = ReportSource(imported(engine, talk).core, SCORING)
        gone_on, anew = growing.report(source), report_data(source)
        assert gone_on.to_json() == anew.to_json()
        calls = gone_on.values["calls"]
        assert all(one is other for one, other in zip(known, calls, strict=False))
        known = calls[:-1]
    assert len(known) == 8


def test_calls_without_a_report_are_estimated(tmp_path: Path, engine: squidbot.Engine) -> None:
    """By the messages that they share with the call before, while a provider would have kept them."""
    talk = ClaudeTranscript(tmp_path)
    talk.usage = {}
    for step in range(4):
        talk.say(f"Question {step} " * 20)
        talk.answer(f"Answer {step}")
    calls = data_of(imported(engine, talk)).values["calls"]
    assert [call["reported"] for call in calls] == [None] * 4
    assert [call["cached"] for call in calls] == [0, *(call["tokens"] for call in calls[:-1])]
    assert all(call["cached"] + call["new"] == call["tokens"] for call in calls)


def test_a_session_that_squidbot_goes_on_with_has_its_requests(tmp_path: Path, engine: squidbot.Engine) -> None:
    """They are recorded as they were sent: the report shows these."""
    session, growing = imported(engine, talked(tmp_path)), GrowingReport()
    assert growing.report(ReportSource(session.core, SCORING)).values["source"] == "recording"
    made = session.assemble("And the docs?", now=2e9)
    session.record(*made.incoming, {"role": "assistant", "content": "Done."}, now=2e9)
    for data in (growing.report(ReportSource(session.core, SCORING)), data_of(session)):
        values = data.values
        assert (values["source"], values["recording"], len(values["calls"])) == ("store", None, 1)
        assert values["calls"][0]["is_same"]
        assert values["window"]["limit"]


def test_the_figures_to_share_name_nothing(tmp_path: Path, engine: squidbot.Engine) -> None:
    """No agent, project, title or model."""
    data = without_text(data_of(imported(engine, talked(tmp_path))))
    assert data.values["recording"] == {"agent": None, "project": None, "title": None}
    told = json.dumps(data.to_json())
    assert [word for word in ("claude", "opus", "work", "parser") if word in told] == []


def test_secrets_are_taken_out_of_what_a_recording_is_called(engine: squidbot.Engine) -> None:
    """A title may quote a prompt, and a model's name is any text."""
    session = engine.session("s")
    session.record({"role": "user", "content": "Go on"})
    store, (messages, _) = engine.wired.store, engine.wired.store.head("s")
    payload = json.dumps({"role": "assistant", "content": "Gone.", "model": SECRET})
    session.core.record(Message("assistant", "Gone.", payload, "openai.chat"))
    store.append("s", messages + 1, [], [RECORDING.record(0, SourceSession("codex", "x", f"/{SECRET}", SECRET))])
    told = json.dumps(data_of(session, lambda text: text.replace(SECRET, "*")).to_json())
    assert '"recording": {"agent": "codex", "project": "/*", "title": "*"}' in told
    assert SECRET not in told


KEYS = st.sampled_from(["input_tokens", "output_tokens", "cache_read_input_tokens", "prompt_tokens", "input", "x"])
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.just(10**400),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=6,
)


@example(usage={"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 9}}, model="m")
@given(usage=JSON | st.dictionaries(KEYS, JSON), model=JSON)
def test_no_usage_of_a_recording_breaks_its_report(usage: object, model: object) -> None:
    """What is no count of tokens is no report; counts stay what they are."""
    with squidbot.load({"summary": {"scheduler": "none"}}) as engine:
        session, store = engine.session("s"), engine.wired.store
        payload = json.dumps({"role": "assistant", "content": "Yes.", "model": model, "usage": usage})
        session.record({"role": "user", "content": "Well?"})
        session.core.record(Message("assistant", "Yes.", payload, "openai.chat"))
        store.append("s", store.head("s")[0], [], [RECORDING.record(0, SourceSession("codex", "x"))])
        [call] = data_of(session).values["calls"]
    if call["reported"]:
        assert 0 < call["reported"]["input_tokens"] <= 10**12
    assert min(call["cached"], call["new"], call["rewritten"], call["price"]) >= 0
    assert call["model"] == (model if isinstance(model, str) and model else None)


def test_calls_share_their_parts(engine: squidbot.Engine) -> None:
    """Each part is added once, and the list of a call is the one of the call before, however long it is."""
    session, store = engine.session("s"), engine.wired.store
    for number in range(150):
        session.core.record(Message("user", "?", f'{{"role": "user", "content": "{number}?"}}', "openai.chat"))
        session.core.record(Message("assistant", "!", f'{{"role": "assistant", "content": "{number}"}}', "openai.chat"))
    store.append("s", 300, [], [RECORDING.record(0, SourceSession("codex", "x"))])
    calls = data_of(session).values["calls"]
    assert [(call["keep"], len(call["add"])) for call in calls] == [(0, 1), *((2 * at - 1, 2) for at in range(1, 150))]


# -- the list --------------------------------------------------------------------------------------------------------


def test_the_list_says_where_a_session_is_from(tmp_path: Path) -> None:
    """Its agent, project and title, without secrets; and it is found by project and title."""
    talk = talked(tmp_path / "p")
    talk.add("ai-title", aiTitle=f"Mend it with {SECRET}")
    path = str(tmp_path / "a.db")
    done = CliRunner().invoke(main, ["import", str(talk.path), "--store", path])
    assert done.exit_code == 0, done.output
    with open_store(path) as place:
        rows = SessionRows(place)
        [row] = rows.page(lambda *_: True)["sessions"]
        assert (row["agent"], row["project"], row["requests"]) == ("claude-code", "/work/app", 0)
        assert row["title"].startswith("Mend it with ")
        assert SECRET not in row["title"]
        found = {name: rows.page(lambda *_: True, name=name)["total"] for name in ("work/app", "Mend it", "project")}
        assert found == {"work/app": 1, "Mend it": 1, "project": 0}
        assert rows.page(lambda *_: False, name="Mend it")["total"] == 0
