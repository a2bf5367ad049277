"""`squidbot session explain`: each message is accounted for once, and its story is told."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import squidbot
from squidbot.core.memory.view import NewMemory
from squidbot.core.tokens.counters import REQUEST_TOKENS

from .conftest import BEGAN

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result


def seqs_of(first: str, last: str) -> list[int]:
    """Return the seqs of a run that ids name."""
    return list(range(int(first[1:]), int(last[1:]) + 1))


def test_explain_has_each_message_once(run: Callable[..., Result]) -> None:
    """Runs and spans are partitions of the transcript, and agree on what is sent word for word."""
    made = json.loads(run("session", "explain", "support/42", "--json").output)
    for name in ("runs", "spans"):
        assert [seq for one in made[name] for seq in seqs_of(one["first"], one["last"])] == list(range(96))
    verbatim = {
        seq
        for one in made["spans"]
        if one["how"] in {"verbatim", "slimmed"}
        for seq in seqs_of(one["first"], one["last"])
    }
    sent = set()
    for one in made["runs"]:
        hidden = one["how"] in {"summary", "absent"}
        sent |= {int(seq[1:]) for seq in one["sent"]} if hidden else {*seqs_of(one["first"], one["last"])}
    assert verbatim == sent
    assert {one["how"] for one in made["runs"]} >= {"summary", "verbatim"}


def test_explain_tells_what_the_next_request_really_holds(run: Callable[..., Result]) -> None:
    """What it calls verbatim is a part of the request, what it calls told by notes is not."""
    made = json.loads(run("session", "explain", "support/42", "--json").output)
    parts = json.loads(run("session", "show", "support/42", "--request", "--json").output)["parts"]
    shown = {int(part["first"][1:]) for part in parts if part["kind"] in {"message", "system", "slimmed"}}
    for one in made["spans"]:
        for seq in seqs_of(one["first"], one["last"]):
            assert (seq in shown) == (one["how"] in {"verbatim", "slimmed"}), (seq, one)
    assert {part["summary"] for part in parts if part["summary"]} == {
        one["summary"] for one in made["spans"] if one["summary"]
    }


def test_explain_budget_adds_up(run: Callable[..., Result]) -> None:
    """Window less reserve; everything that is sent and what is free make the limit, and what is counted too much."""
    made = json.loads(run("session", "explain", "support/42", "--json").output)
    budget = made["budget"]
    parts = [budget[name] for name in ("system", "outside", "head", "notes", "users", "older", "tail", "free")]
    assert sum(parts) == budget["input_limit"] + budget["overcounted"]
    assert budget["input_limit"] <= budget["window"] - budget["reserve"]
    assert budget["overcounted"] > 0, "the provider of this session bills less than is counted"
    assert budget["outside"] == REQUEST_TOKENS, "the host of this session gives no system text and no tools"
    beside = budget["free"] + budget["head"] + budget["outside"]
    assert sum(one["here_tokens"] for one in made["runs"]) == sum(parts) - beside
    assert 0 < made["pressure"] < 1
    assert all(one["here_tokens"] <= one["said_tokens"] for one in made["runs"] if one["how"] == "summary")


def test_explain_names_event_and_price_of_each_run(run: Callable[..., Result]) -> None:
    """Why it is not sent as it was said: which plan, its cause, what that cost."""
    made = json.loads(run("session", "explain", "support/42", "--json").output)
    notes = [one for one in made["runs"] if one["how"] == "summary"]
    assert all(one["event"]["cause"] in {"high-water", "overflow"} for one in notes)
    assert all(one["event"]["tokens_before"] > one["event"]["tokens_after"] for one in notes)
    text = run("session", "explain", "support/42").output
    assert f"notes {notes[0]['summary']}" in text
    assert "pressure " in text
    assert "|" in text


def test_explain_tells_the_story_of_a_message(run: Callable[..., Result]) -> None:
    """Born, cut, sent, told by notes: by which event, and how to get it back."""
    made = json.loads(run("session", "explain", "support/42", "m14", "--json").output)
    assert made["message"]["cut_at_birth"]
    assert next(state["how"] for state in made["states"]) == "slimmed"
    assert made["how"] == "summary"
    assert made["states"][-1]["summary"] == made["summary"]["id"]
    assert made["here_tokens"] == 0
    text = run("session", "explain", "support/42", "m14").output
    assert "cut to " in text
    assert "the transcript has all of it" in text
    assert f"notes {made['summary']['id']} stand for m0-m" in text
    assert "squidbot session recall SESSION m14" in text


def test_explain_tells_of_a_message_that_is_sent(run: Callable[..., Result]) -> None:
    """Nothing stands for it, it costs what it was."""
    made = json.loads(run("session", "explain", "support/42", "m95", "--json").output)
    assert (made["how"], made["summary"], made["pinned"]) == ("verbatim", None, False)
    assert made["here_tokens"] == made["message"]["bound"]


def test_explain_says_what_is_pinned(copied: Callable[..., Result]) -> None:
    """A pinned message stays word for word through an event, and its text in the head is counted there."""
    with squidbot.load() as engine:
        session = engine.session("support/42")
        session.pin(2)
        session.pin_text("goal", "Mend every part.")
        session.compact()
    made = json.loads(copied("session", "explain", "support/42", "m2", "--json").output)
    assert (made["pinned"], made["how"]) == (True, "verbatim")
    assert "pinned: it stays so" in copied("session", "explain", "support/42", "m2").output
    assert json.loads(copied("session", "explain", "support/42", "--json").output)["budget"]["head"] > 0


def test_explain_of_a_session_without_messages(run: Callable[..., Result]) -> None:
    """The whole window is free; a message that is not there is wrong usage."""
    made = json.loads(run("session", "explain", "empty", "--json").output)
    assert (made["runs"], made["spans"]) == ([], [])
    assert run("session", "explain", "empty").exit_code == 0
    assert run("session", "explain", "empty", "m0").exit_code == 2
    assert run("session", "explain", "support/42", "m96").exit_code == 2


def test_explain_says_that_the_next_request_brings_an_event(copied: Callable[..., Result]) -> None:
    """What stands is shown, and that it will not stand."""
    with squidbot.load() as engine:
        session = engine.session("support/42")
        asked = session.assemble("More.", now=BEGAN + 300)
        session.record(asked.incoming, "word " * 700, {"role": "user", "content": "Even more."}, now=BEGAN + 301)
    made = json.loads(copied("session", "explain", "support/42", "--json").output)
    request = json.loads(copied("session", "show", "support/42", "--request", "--json").output)
    assert made["due"] == request["event"]
    assert made["due"]["cause"] in {"high-water", "overflow"}
    assert "the next request will compact: plan " in copied("session", "explain", "support/42").output
    assert "it brings a plan change: plan " in copied("session", "show", "support/42", "--request").output


def test_explain_says_that_no_request_fits(copied: Callable[..., Result]) -> None:
    """One sentence; what stands is told all the same."""
    with squidbot.load() as engine:
        engine.session("support/42").record({"role": "user", "content": "word " * 9_000}, now=BEGAN + 300)
    result = copied("session", "explain", "support/42")
    assert result.exit_code == 0
    assert "no request fits now: " in result.output
    assert "current turn" in json.loads(copied("session", "explain", "support/42", "--json").output)["unfit"]
    assert copied("session", "show", "support/42", "--request").exit_code == 3


def test_explain_tells_what_memory_says_unasked(copied: Callable[..., Result]) -> None:
    """By name, with what it costs; nothing where it says nothing."""
    scope = squidbot.Scope(user="ann")
    with squidbot.load() as engine:
        for text, category in (("Ann lives in Lisbon.", "core"), ("The boat is called Dora.", "background")):
            engine.memories(scope).add(NewMemory(text, category, trust="user"), 0.0)  # type: ignore[arg-type]  # two of them
        session = engine.session("told", scope=scope)
        made = session.assemble("What is the boat called?", tools=[squidbot.memory_tool()], now=5.0)
        session.record(*made.incoming, "Dora.", now=5.0)
        assert [name for name, _ in made.report.remembered] == ["remembered profile", "remembered index"]
    told = json.loads(copied("session", "explain", "told", "--json").stdout)
    assert list(told["remembered"]) == ["remembered_profile", "remembered_index", "first_words"]
    assert told["budget"]["head"] == told["remembered"]["remembered_profile"] + told["remembered"]["remembered_index"]
    assert (
        "acts shown automatically (in the head, and after the first message): profile"
        in copied("session", "explain", "told").stdout
    )
    assert "memory says unasked" not in copied("session", "explain", "support/42").stdout


def test_explain_shows_what_each_category_has(copied: Callable[..., Result]) -> None:
    """Used and allotted, where settings give categories shares; not else (P-08)."""
    assert "Categories" not in copied("session", "explain", "support/42").output
    with Path("squidbot.toml").open("a", encoding="utf-8") as settings:
        settings.write("[allocation]\nby_category = true\n")
    text = copied("session", "explain", "support/42").output
    assert "Categories (bounds, in tokens" in text
    assert re.search(r"output +[\d,]+ +of [\d,]+ allotted", text)
    found = json.loads(copied("session", "explain", "support/42", "--json").output)
    assert list(found["categories"]) == ["system", "context", "dialog", "output"]
    used = sum(one["used"] for one in found["categories"].values())
    budget = found["budget"]
    assert used == budget["input_limit"] + budget["overcounted"] - budget["free"]


def test_explain_shows_what_each_part_has_by_tier(copied: Callable[..., Result]) -> None:
    """O-04: used and allotted where a layout is set, not else; what is never shortened borrows from recent (O-07)."""
    assert json.loads(copied("session", "explain", "support/42", "--json").output)["parts"] == {}
    with Path("squidbot.toml").open("a", encoding="utf-8") as settings:
        settings.write('[allocation]\nlayout = "tiers"\n')
    with squidbot.load() as engine:
        session = engine.session("tiers", window_tokens=16_000)
        assert session.window.reserved_output_tokens == 2_400
        for number in range(13):
            session.goals.change("architecture", f"{number} " + "the parser reads a stream of bytes; " * 12)
        session.pin_text("style", "Be short.")
        for turn in range(60):
            session.assemble(f"{turn} " + "please look at part of it " * 20)
            session.record("because of this, and of that; " * 40)
        session.compact()
    found = json.loads(copied("session", "explain", "tiers", "--json").output)
    shares, budget = found["parts"], found["budget"]
    named = ["system", "task", "architecture", "compact", "moderate", "detailed", "recent"]
    assert list(shares) == named
    assert sum(one["allotted"] for one in shares.values()) == budget["input_limit"] + budget["overcounted"]
    assert sum(one["used"] for one in shares.values()) == budget["input_limit"] + budget["overcounted"] - budget["free"]
    assert shares["architecture"]["used"] > shares["architecture"]["allotted"] == 1_200
    assert all(0 < shares[name]["used"] <= shares[name]["allotted"] for name in ("compact", "moderate", "detailed"))
    text = copied("session", "explain", "tiers").output
    assert "Parts by tier (bounds, in tokens" in text
    assert re.search(r"architecture +[\d,]+ +of 1,200 allotted, above its part: borrowed from recent", text)
    assert re.search(r"recent +[\d,]+ +of [\d,]+ allotted\n", text)
