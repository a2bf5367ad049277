"""Whole runs: recordings through the engine, checked against the rules that every request keeps."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.sqlite3 import SqliteStore
from squidbot.adapters.stdlib import InMemoryStore
from squidbot.cli.replay_results import to_json
from squidbot.core import session
from squidbot.core.compaction import turn as one_call
from squidbot.core.compaction.turn import build
from squidbot.core.errors import BudgetError, ConfigError
from squidbot.core.messages import Kind
from squidbot.core.plan import PlanRecord
from squidbot.core.settings import STRATEGIES
from squidbot.replay.metrics import Ruler
from squidbot.replay.rivals import RIVALS
from squidbot.replay.runner import Places, ReplayCall, ReplayOutcome, Results, conversations_of, replay, run, ticks_of
from squidbot.replay.terms import Terms, open_counter, terms_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from squidbot.core.view.assembly import CoreAssembly

Message = dict[str, object]
BENCH = Path(__file__).parents[3] / "shared" / "bench" / "score.py"
RANKS = Path(__file__).parents[3] / "shared" / "data" / "tokenizers" / "o200k_base.tiktoken"


def talk(turns: int, *, size: int = 30, began: float = 1_700_000_000.0) -> list[Message]:
    """Return a conversation with tools: a turn is a question, two calls with results of `size` lines, an answer."""
    said: list[Message] = [{"role": "system", "content": "You mend code in /srv/shop."}]
    for turn in range(turns):
        time = began + 60 * turn + (900 if turn == turns // 2 else 0)
        said.append({"role": "user", "content": f"Please mend order_{turn} in src/part_{turn}.py", "timestamp": time})
        for step in range(2):
            key, path = f"call_{turn}_{step}", f"src/part_{turn - step}.py"
            function = {"name": "read_file", "arguments": json.dumps({"path": path})}
            text = "".join(f"def part_{turn}_{line}(order): return {line * 7919 + turn}\n" for line in range(size))
            said.append(
                {
                    "role": "assistant",
                    "content": f"I read {path}.",
                    "tool_calls": [{"id": key, "type": "function", "function": function}],
                    "timestamp": time + 5,
                    "usage": {"prompt_tokens": 999_999, "completion_tokens": 5},
                }
            )
            said.append({"role": "tool", "tool_call_id": key, "content": text, "timestamp": time + 6})
        said.append({"role": "assistant", "content": f"Mended part_{turn}_3 of order_{turn}.", "timestamp": time + 9})
    return said


def written(path: Path, messages: list[Message]) -> str:
    """Write a transcript and return its path."""
    path.write_text("".join(json.dumps(message) + "\n" for message in messages), encoding="utf-8")
    return str(path)


def terms(window: int, reserve: int | None = None, *, counter: str = "bytes", strategy: str = "balanced") -> Terms:
    """Return terms, by default with the counter that costs the least time."""
    return terms_for(window, reserve, strategy, open_counter(counter), "tokens")


def results(places: Places, under: Terms, *, compare: bool = False) -> Results:
    """Run without a progress bar."""
    beside = [under.with_strategy(name) for name in STRATEGIES] if compare else []
    return run(conversations_of(places), under, places, beside=beside, tick=lambda: None)


def dumped(path: Path) -> list[Mapping[str, object]]:
    """Return the lines of a dump."""
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


def holds(value: object) -> list[Mapping[str, object]]:
    """Return a list of a dump's line, typed."""
    assert isinstance(value, list)
    return value


def extends(blocks: list[Mapping[str, object]], before: list[Mapping[str, object]]) -> bool:
    """Return whether a request repeats the one before it from its beginning."""
    shown = [(block["role"], block["text"]) for block in blocks]
    return shown[: len(before)] == [(block["role"], block["text"]) for block in before]


def parted(blocks: list[Mapping[str, object]]) -> bool:
    """Return whether a request has a result without its call before it, or a call without its result behind it."""
    waiting: set[object] = set()
    for block in blocks:
        result = block["tool_result"]
        if result is not None and result not in waiting:
            return True
        waiting.discard(result)
        waiting.update(holds(block["tool_calls"]))
    return bool(waiting)


# -- every request --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("window", [2_000, 6_000, 40_000])
def test_dump_keeps_the_rules_and_names_every_break(tmp_path: Path, window: int) -> None:
    """No request is over, none parts a pair, and each that does not extend the one before came with an event."""
    places = Places((written(tmp_path / "talk.jsonl", talk(7)),), dump=str(tmp_path / "d.jsonl"))
    under = terms(window, 500)
    outcome = results(places, under).outcomes[0]
    lines = dumped(tmp_path / "d.jsonl")
    assert [line["call"] for line in lines] == list(range(21))
    broken, before = [], holds([])
    for line in lines:
        blocks = holds(line["blocks"])
        bound = sum(len(str(block["text"]).encode()) + 4 for block in blocks)
        assert bound <= int(str(line["reported_tokens"])) <= window - 500
        assert not parted(blocks)
        assert line["jobs"] == []
        if not extends(blocks, before):
            broken.append(line["call"])
        before = blocks
    assert set(broken) <= {event.call for event in outcome.events}
    assert len(broken) == outcome.tally.breaks
    assert bool(broken) == (window < 40_000)
    assert (outcome.tally.over, outcome.tally.pairs_broken, outcome.unexplained) == (0, 0, [])


def test_sources_of_a_request_name_every_message_before_it_once(tmp_path: Path) -> None:
    """Verbatim, slimmed, in a summary or behind a pointer: the blocks of a request partition what was said."""
    places = Places((written(tmp_path / "talk.jsonl", talk(8)),), dump=str(tmp_path / "d.jsonl"))
    outcome = results(places, terms(3_000, 500)).outcomes[0]
    assert outcome.events
    calls = [at for at, message in enumerate(conversations_of(places)[0].messages) if message.role == "assistant"]
    kinds = set()
    for line, before in zip(dumped(tmp_path / "d.jsonl"), calls, strict=True):
        blocks = holds(line["blocks"])
        sources = [place for block in blocks for place in holds(block["source"])]
        assert sorted(map(str, sources)) == sorted(map(str, range(before)))
        kinds |= {block["kind"] for block in blocks}
    assert {"system", "message", "summary"} <= kinds <= {kind.value for kind in Kind}


def test_replay_does_not_learn_from_the_usage_of_the_recording(tmp_path: Path) -> None:
    """It belongs to other requests: with and without it the requests are the same."""
    with_usage = talk(4)
    without = [{key: value for key, value in message.items() if key != "usage"} for message in with_usage]
    for name, messages in (("with", with_usage), ("without", without)):
        path = written(tmp_path / f"{name}.jsonl", messages)
        results(Places((path,), dump=str(tmp_path / f"{name}.dump")), terms(3_000, 500))
    assert (tmp_path / "with.dump").read_text() == (tmp_path / "without.dump").read_text()


def test_replay_tells_the_engine_when_each_message_came(tmp_path: Path) -> None:
    """Pauses are the recording's: an event on a cold cache writes nothing that would not be written anyway."""
    messages = talk(10, size=20)
    path = written(tmp_path / "talk.jsonl", messages)
    outcome = results(Places((path,)), terms(9_000, 500)).outcomes[0]
    times = [message.get("timestamp") for message in messages]
    for call, plan in outcome.events:
        before = [at for at, message in enumerate(messages) if message["role"] == "assistant"][call] - 1
        assert plan.created_at == times[before]
    assert outcome.events


def test_watch_is_told_each_call_as_soon_as_it_is_decided(tmp_path: Path) -> None:
    """Before the next message is recorded: a dump is written as the replay goes."""
    talked = conversations_of(Places((written(tmp_path / "talk.jsonl", talk(2)),)))[0]
    store = InMemoryStore()
    seen: list[tuple[int, int, int]] = []

    def watch(call: ReplayCall) -> None:
        seen.append((call.number, call.index, store.head("talk")[0]))

    under = terms(20_000)
    outcome = replay(talked, under, store, Ruler(under.meter.physical), watch)
    assert seen == [(number, index, index) for number, index in enumerate([2, 4, 6, 8, 10, 12])]
    assert outcome.calls == 6
    assert len(outcome.seconds) == 6


# -- calls without a request ----------------------------------------------------------------------------------------


def test_replay_goes_on_behind_a_call_that_can_not_fit(tmp_path: Path) -> None:
    """The call is counted with its culprit and amounts, has no line, and the calls behind it are there."""
    messages = talk(2, size=2)
    messages.insert(7, {"role": "user", "content": "x" * 5_000})
    messages.insert(8, {"role": "assistant", "content": "Too long."})
    places = Places((written(tmp_path / "talk.jsonl", messages),), dump=str(tmp_path / "d.jsonl"))
    made = results(places, terms(3_000, 500))
    failures = made.outcomes[0].failures
    assert failures
    assert all(isinstance(failure.error, BudgetError) for failure in failures)
    missing = {failure.call for failure in failures}
    assert {line["call"] for line in dumped(tmp_path / "d.jsonl")} == set(range(7)) - missing
    assert 3 in missing
    assert made.outcomes[0].tally.calls == 7 - len(missing)
    assert made.outcomes[0].unexplained == []
    errors = holds(to_json(made)["budget_errors"])
    assert errors[0].keys() == {"call", "culprit", "cost", "budget", "unit", "key"}
    assert (errors[0]["call"], errors[0]["budget"]) == (3, 2_500)


def test_replay_answers_for_an_agent_that_speaks_first(tmp_path: Path) -> None:
    """A greeting behind the system text has a request too: a notice stands where the user would."""
    messages: list[Message] = [
        {"role": "system", "content": "be kind"},
        {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "How can I help?"},
    ]
    outcome = results(Places((written(tmp_path / "talk.jsonl", messages),)), terms(3_000)).outcomes[0]
    assert (outcome.calls, outcome.tally.calls, outcome.failures) == (2, 2, [])


def test_failed_attempt_leaves_no_plan_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that fails after its event was chosen changes nothing: the next call makes the event."""
    failed: list[str] = []

    def fails_once(*given: object) -> CoreAssembly:
        event = given[-1]
        # Once more where the outputs of the newest step are cut.
        if isinstance(event, PlanRecord) and len(failed) < 2:
            failed.append(event.cause)
            raise BudgetError("a test", cost=2, budget=1, unit="tokens", key="none")
        return build(*given)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr(one_call, "build", fails_once)
    outcome = results(Places((written(tmp_path / "talk.jsonl", talk(4)),)), terms(3_000, 500)).outcomes[0]
    assert [str(failure.error.args[0])[:6] for failure in outcome.failures] == ["a test"]
    call = outcome.failures[0].call
    assert [event.plan.cause for event in outcome.events if event.call <= call] == []
    assert outcome.events[0].plan.plan_id == 0
    assert outcome.unexplained == []


def test_break_without_an_event_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were the engine to change a request without saying so, the outcome would name the calls."""
    assemble = session.CoreSession.assemble

    def silent(self: session.CoreSession, *given: object) -> CoreAssembly:
        return replace(assemble(self, *given), event=None)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr(session.CoreSession, "assemble", silent)
    under = terms(3_000, 500)
    talked = conversations_of(Places((written(tmp_path / "talk.jsonl", talk(4)),)))[0]
    outcome = replay(talked, under, InMemoryStore(), Ruler(under.meter.physical), lambda _: None)
    assert len(outcome.unexplained) == outcome.tally.breaks > 0
    assert to_json(Results(under, (outcome,)))["breaks_without_event"] == outcome.unexplained


# -- the outcome ----------------------------------------------------------------------------------------------------


def test_to_json_has_the_keys_that_are_promised(tmp_path: Path) -> None:
    """One object for one conversation, JSON types throughout."""
    made = to_json(results(Places((written(tmp_path / "talk.jsonl", talk(8)),)), terms(3_000, 500)))
    promised = {"transcript", "window", "reserve", "calls", "messages", "over", "pairs_broken", "events", "mean_tokens"}
    promised |= {"largest_tokens", "reuse", "bite", "users_verbatim", "seconds_per_call"}
    assert promised <= made.keys()
    assert json.loads(json.dumps(made, allow_nan=False)) == json.loads(json.dumps(made))
    assert (made["window"], made["reserve"], made["calls"], made["messages"]) == (3_000, 500, 24, 49)
    events = holds(made["events"])
    assert len(events) > 1
    for event in events:
        assert event.keys() == {"call", "cause", "first_changed", "tokens_before", "tokens_after", "price"}
    first, price = events[-1]["first_changed"], events[-1]["price"]
    assert isinstance(first, dict)
    assert first.keys() == {"index", "seq", "token_offset"}
    assert isinstance(price, dict)
    assert "written_tokens" in price
    assert made["breaks_without_event"] == []


def test_to_json_of_many_conversations_has_each_and_the_totals(tmp_path: Path) -> None:
    """Sums are sums, means are over all calls."""
    for name, turns in (("a", 2), ("b", 6)):
        written(tmp_path / f"{name}.jsonl", talk(turns))
    made = to_json(results(Places((str(tmp_path),)), terms(3_000, 500)))
    each, totals = holds(made["conversations"]), made["totals"]
    assert isinstance(totals, dict)
    assert [one["id"] for one in each] == ["a", "b"]
    for key in ("calls", "messages", "over", "pairs_broken"):
        assert totals[key] == sum(int(str(one[key])) for one in each)
    assert totals["conversations"] == 2
    assert totals["events"] == sum(len(holds(one["events"])) for one in each)
    bites = [float(str(one["bite"])) * int(str(one["calls"])) for one in each]
    assert totals["bite"] == pytest.approx(sum(bites) / totals["calls"])


def test_totals_of_no_call_divide_by_nothing(tmp_path: Path) -> None:
    """A recording in which nobody answered is no error."""
    made = results(Places((written(tmp_path / "t.jsonl", [{"role": "user", "content": "hello?"}]),)), terms(3_000))
    totals = ReplayOutcome.total(made.outcomes)
    assert (totals.calls, totals.everything_bite) == (0, 0.0)
    assert to_json(made)["seconds_per_call"] == {"p50": None, "p99": None}


# -- comparing ------------------------------------------------------------------------------------------------------


def test_compare_sets_rivals_and_all_strategies_side_by_side(tmp_path: Path) -> None:
    """Each policy scores every call; the chosen strategy's row is the replay itself."""
    places = Places((written(tmp_path / "a.jsonl", talk(5)), written(tmp_path / "b.jsonl", talk(3))))
    ticks: list[None] = []
    conversations = conversations_of(places)
    under = terms(3_000, 500)
    beside = [under.with_strategy(name) for name in STRATEGIES]
    made = run(conversations, under, places, beside=beside, tick=lambda: ticks.append(None))
    names = [row.name for row in made.rows]
    assert names == [kind.name for kind in RIVALS] + [f"squidbot {name}" for name in STRATEGIES]
    assert [row.tally.calls for row in made.rows] == [24] * len(names)
    assert len(ticks) == ticks_of(conversations, beside) == 24 * len(names)
    rows = {row.name: row.tally for row in made.rows}
    assert rows["squidbot balanced"].billed == pytest.approx(sum(outcome.tally.billed for outcome in made.outcomes))
    everything = rows["send everything"]
    assert everything.billed == pytest.approx(ReplayOutcome.total(made.outcomes).everything_billed)
    assert everything.over > 0
    assert everything.breaks == 0
    assert everything.nlr[0] == 1.0
    assert all(row.tally.over == row.tally.pairs_broken == 0 for row in made.rows if row.ours)
    compared = holds(to_json(made)["compare"])
    assert [row["squidbot"] for row in compared] == [False] * len(RIVALS) + [True] * len(STRATEGIES)


# -- transcripts and stores -----------------------------------------------------------------------------------------


def test_conversations_of_numbers_an_id_that_comes_again(tmp_path: Path) -> None:
    """Each conversation is a session of its own; the same file twice is replayed twice."""
    (tmp_path / "x").mkdir()
    one = written(tmp_path / "talk.jsonl", talk(1))
    other = written(tmp_path / "x" / "talk.jsonl", talk(2))
    found = conversations_of(Places((one, other, one)))
    assert [each.id for each in found] == ["talk", "talk-2", "talk-3"]
    assert ticks_of(found, []) == 12


def test_store_keeps_the_sessions_and_takes_each_only_once(tmp_path: Path) -> None:
    """What is replayed can be looked at; a second replay would continue the session, so it is refused."""
    path = written(tmp_path / "talk.jsonl", talk(4))
    places = Places((path,), store=str(tmp_path / "s.db"), dump=str(tmp_path / "d.jsonl"))
    results(places, terms(3_000, 500))
    with SqliteStore(tmp_path / "s.db") as store:
        assert store.head("talk")[0] == 25
        assert store.records("talk", "plan")
    (tmp_path / "d.jsonl").write_text("kept")
    with pytest.raises(ConfigError, match=r"already has a session 'talk'"):
        results(places, terms(3_000, 500))
    assert (tmp_path / "d.jsonl").read_text() == "kept"
    results(replace(places, transcripts=(written(tmp_path / "other.jsonl", talk(1)),)), terms(3_000, 500))


@pytest.mark.parametrize("option", ["--store", "--dump"])
def test_run_refuses_to_write_over_what_it_reads(tmp_path: Path, option: str) -> None:
    """The recording stays, whatever path leads to it."""
    path = written(tmp_path / "talk.jsonl", talk(1))
    around = str(tmp_path / "." / "talk.jsonl")
    places = Places((path,), **{option.removeprefix("--"): around})
    with pytest.raises(ConfigError, match=f"{option} .* is an input transcript"):
        conversations_of(places)
    with pytest.raises(ConfigError, match="are the same file"):
        conversations_of(Places((path,), store="x.db", dump="./x.db"))


# -- the scorer of dumps --------------------------------------------------------------------------------------------


@pytest.mark.skipif(not (BENCH.exists() and RANKS.exists()), reason="the scorer and its token ranks are not here")
def test_measures_are_those_of_the_scorer_of_dumps(tmp_path: Path) -> None:
    """Same recording, same dump, same tokenizer: the same numbers."""
    pytest.importorskip("tiktoken")
    path = written(tmp_path / "talk.jsonl", talk(9))
    places = Places((path,), dump=str(tmp_path / "d.jsonl"))
    outcome = results(places, terms(4_000, 512, counter=str(RANKS))).outcomes[0]
    command = [sys.executable, str(BENCH), path, str(tmp_path / "d.jsonl"), "--window", "4000", "--reserve", "512"]
    scored = json.loads(subprocess.run([*command, "--json"], capture_output=True, check=True, text=True).stdout)
    tally = outcome.tally
    assert (scored["over"], scored["pairs"], scored["under"], scored["missing"]) == (0, 0, 0, 0)
    assert (scored["calls"], scored["breaks"], scored["largest"]) == (27, tally.breaks, tally.largest_tokens)
    assert scored["breaks"] > 0
    for name, ours in (
        ("bite", tally.bite),
        ("reuse", tally.reuse),
        ("mean", tally.mean_tokens),
        ("users", tally.users_verbatim),
    ):
        assert scored[name] == pytest.approx(ours), name
    assert {int(age): share for age, share in scored["nlr"].items()} == pytest.approx(tally.nlr)
