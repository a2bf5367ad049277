"""Commands that look into a session: show, recall, search, explain, log, and the list of sessions."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.core.memory.view import NewMemory
from squidbot.core.tokens.counters import REQUEST_TOKENS

from .conftest import BEGAN, talk

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

    from squidbot.hookspecs import Register


# -- `squidbot session show`: messages a page at a time ---------------------------------------------------------------


def test_show_prints_the_newest_messages(run: Callable[..., Result]) -> None:
    """Who said what and when, calls readable, and the way to those before."""
    text = run("session", "show", "support/42", "--limit", "4", "--all").output
    assert text.startswith("support/42: 96 messages; m92-m95 below")
    assert "m92  user  2025-10-09 08:57:10 UTC" in text
    assert '-> read action="whole", path="src/part_23.py"' in text
    assert "m94  tool read " in text
    assert "Mended part_23_1: the limit is 261." in text
    assert text.endswith("92 earlier: --from m88\n")


def test_show_counts_what_is_behind_the_scenes(run: Callable[..., Result], copied: Callable[..., Result]) -> None:
    """Tool output is not shown unless that is asked for, by an option or the settings; JSON has all of it (P-05)."""
    text = run("session", "show", "support/42", "--limit", "4").output
    assert "m94  tool read " not in text
    assert "m93  assistant" in text
    assert "1 message of system text, context, tool output not shown: --all" in text
    assert len(json.loads(run("session", "show", "support/42", "--limit", "4", "--json").output)["shown"]) == 4
    assert "not shown: --all" not in run("session", "show", "support/42", "m94").output
    with Path("squidbot.toml").open("a", encoding="utf-8") as settings:
        settings.write("[ui]\nshow_context_messages = true\n")
    assert "m94  tool read " in copied("session", "show", "support/42", "--limit", "4").output


@pytest.mark.parametrize(
    ("arguments", "first", "last"),
    [
        (["m5"], "m5", "m5"),
        (["5"], "m5", "m5"),
        (["m5-m7"], "m5", "m7"),
        (["m90-"], "m90", "m95"),
        (["--from", "m3", "--limit", "2"], "m3", "m4"),
        (["m5-m50", "--limit", "3"], "m5", "m7"),
    ],
)
def test_show_takes_a_range_or_a_beginning(
    run: Callable[..., Result], arguments: list[str], first: str, last: str
) -> None:
    """Both ends included, at most as many as the limit says."""
    made = json.loads(run("session", "show", "support/42", *arguments, "--json").output)
    shown = made["shown"]
    assert (shown[0]["id"], shown[-1]["id"]) == (first, last)
    assert (f"m{made['first']}", f"m{made['last']}") == (first, last)


@pytest.mark.parametrize("wrong", ["m9-m3", "x", "m", "-", "m1-m2-m3", "m96"])
def test_show_refuses_what_names_no_messages(run: Callable[..., Result], wrong: str) -> None:
    """Wrong usage, with what would be right."""
    result = run("session", "show", "support/42", "--", wrong)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_show_prints_one_message_whole_and_of_others_the_beginning(run: Callable[..., Result]) -> None:
    """What was cut before it was sent is there, and said to be cut."""
    alone = run("session", "show", "support/42", "m14").output
    assert "def part_3_899(): return 899" in alone
    assert "truncated" in alone
    page = run("session", "show", "support/42", "m14-m15", "--all").output
    assert "def part_3_899(): return 899" not in page
    assert "characters more" in page
    assert "def part_3_899(): return 899" in run("session", "show", "support/42", "m14-m15", "--whole", "--all").output


def test_show_names_the_tool_whose_call_stands_before_the_page(run: Callable[..., Result]) -> None:
    """The call is read, and not shown."""
    shown = json.loads(run("session", "show", "support/42", "m2", "--json").output)["shown"]
    assert [one["answers"] for one in shown] == [[{"id": "c0", "tool": "read"}]]


def test_show_lets_no_message_talk_to_the_terminal(run: Callable[..., Result]) -> None:
    """Escapes and bells become question marks; JSON has them escaped."""
    text = run("session", "show", "对话").output
    assert "Hi ?[31mred? 对话" in text
    assert "\x1b" not in text + run("session", "show", "对话", "--json").output


def test_show_of_a_session_without_messages_says_so(run: Callable[..., Result]) -> None:
    """No error: nothing has been said yet."""
    result = run("session", "show", "empty")
    assert (result.exit_code, result.output) == (0, "empty: 0 messages\n")


def test_show_request_is_what_assemble_returns(run: Callable[..., Result]) -> None:
    """The next request as it would be sent: the very payloads, in order."""
    made = json.loads(run("session", "show", "support/42", "--request", "--json").output)
    with squidbot.load() as engine:
        sent = engine.session("support/42").core.preview()
    assert [part["payload"] for part in made["parts"]] == list(sent.payloads)
    assert (made["request"], made["bound"]) == (None, sent.cost.bound)
    text = run("session", "show", "support/42", "--request").output
    assert text.startswith("support/42: the next request, without new messages: ")
    assert text.count("\n#") == len(made["parts"])


def test_show_request_of_a_number_is_what_was_sent(run: Callable[..., Result]) -> None:
    """Its last message is the one that was answered; one that was not made is no."""
    made = json.loads(run("session", "show", "support/42", "--request", "47", "--json").output)
    assert made["parts"][-1]["first"] == "m94"
    assert (
        made["bound"]
        == json.loads(run("session", "log", "support/42", "--json").output)["turns"][0]["requests"][1]["bound"]
    )
    assert run("session", "show", "support/42", "--request", "48").exit_code == 1
    assert run("session", "show", "support/42", "--request", "x").exit_code == 2


# -- `squidbot session recall` and `squidbot session search`: the words as they were said -----------------------------


def notes_of(run: Callable[..., Result]) -> str:
    """Return the id of the notes that the next request shows first."""
    runs = json.loads(run("session", "explain", "support/42", "--json").output)["runs"]
    return str(next(one["summary"] for one in runs if one["summary"]))


def test_recall_shows_a_message_whole(run: Callable[..., Result]) -> None:
    """Also one that was cut before it was sent."""
    text = run("session", "recall", "support/42", "m14").output
    assert text.startswith("support/42: m14\n\nm14  tool read")
    assert "def part_3_899(): return 899" in text


def test_recall_opens_notes(run: Callable[..., Result]) -> None:
    """Every message that they stand for, a page at a time."""
    notes = notes_of(run)
    first = json.loads(run("session", "recall", "support/42", notes, "--limit", "3", "--json").output)
    assert [one["id"] for one in first["shown"]] == ["m0", "m1", "m2"]
    assert first["stands_for"].startswith("m0-m")
    assert first["summary"].startswith(f"[{notes}: notes on ")
    then = run("session", "recall", "support/42", notes, "--limit", "3", "--from", "m3").output
    assert "m3  assistant" in then
    assert "more: --from m6" in then


@pytest.mark.parametrize("wrong", ["nope", "m96", "s0-9.0000"])
def test_recall_of_what_is_not_there_is_no(run: Callable[..., Result], wrong: str) -> None:
    """One line says what ids look like, or what there is."""
    result = run("session", "recall", "support/42", wrong)
    assert result.exit_code == 1
    assert len(result.output.splitlines()) == 1


def test_recall_sends_what_it_brings_back(copied: Callable[..., Result]) -> None:
    """A record behind the transcript, flagged, in the next request."""
    result = copied("session", "recall", "support/43", "m2", "--send")
    assert (result.exit_code, result.output) == (0, "m2 of support/43 will be in the next request, as m4\n")
    parts = json.loads(copied("session", "show", "support/43", "--request", "--json").output)["parts"]
    assert (parts[-1]["kind"], parts[-1]["first"]) == ("recalled", "m4")
    made = json.loads(copied("session", "recall", "support/43", "m0", "--send", "--json").output)
    assert (made["shown"], made["recorded"]) == ("m0", 5)
    assert "Please mend src/part_0.py" in made["text"]


def test_search_finds_what_was_said(run: Callable[..., Result]) -> None:
    """Best first, with the words around, when, and whether the next request has it."""
    made = json.loads(run("session", "search", "support/42", '"part_3_899"', "--json").output)
    assert [hit["id"] for hit in made["hits"]] == ["m14"]
    assert "part_3_899" in made["hits"][0]["snippet"]
    text = run("session", "search", "support/42", "part_23_1").output
    assert text.startswith("m9")
    assert "Mended part_23_1" in text
    assert "in view" in text


def test_search_pages_share_no_hit(run: Callable[..., Result]) -> None:
    """--offset goes on where the page before says."""
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None and len(seen) < 60:
        page = json.loads(
            run("session", "search", "support/42", "limit", "--limit", "7", "--offset", str(offset), "--json").output
        )
        seen += [hit["id"] for hit in page["hits"]]
        offset = page["next_offset"]
    assert len(seen) == len(set(seen)) == 48
    assert "more: --offset 7" in run("session", "search", "support/42", "limit", "--limit", "7").output


def test_search_without_a_hit_is_no_and_without_a_word_is_wrong_usage(run: Callable[..., Result]) -> None:
    """Exit codes 1 and 2."""
    nothing = run("session", "search", "support/42", "zzzyx")
    assert (nothing.exit_code, nothing.output) == (1, "support/42: nothing found for zzzyx\n")
    assert run("session", "search", "support/42", "!?").exit_code == 2


# -- `squidbot session explain`: each message is accounted for once, and its story is told ----------------------------


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


def test_explain_names_the_budgets_of_the_document(run: Callable[..., Result]) -> None:
    """W-20, W-02: `budget_used`, `budget_available`; W-13: `response_percentage`, as a fraction."""
    made = json.loads(run("session", "explain", "support/42", "--json").output)
    budget = made["budget"]
    history = sum(budget[name] for name in ("notes", "users", "older", "tail"))
    assert made["budget_used"] == history + budget["system"] + budget["head"]
    assert made["budget_available"] == history + budget["free"]
    assert made["response_percentage"] == budget["reserve"] / budget["window"]


def test_explain_budget_adds_up(run: Callable[..., Result]) -> None:
    """Window less reserve; everything that is sent and what is free make the limit, and what is counted too much."""
    made = json.loads(run("session", "explain", "support/42", "--json").output)
    budget = made["budget"]
    parts = [budget[name] for name in ("system", "outside", "head", "notes", "users", "older", "tail", "free")]
    assert sum(parts) == budget["input_limit"] + budget["overcounted"]
    assert budget["input_limit"] <= budget["window"] - budget["reserve"]
    assert budget["too_many"] == 0
    assert budget["overcounted"] > 0, "the provider of this session bills less than is counted"
    assert budget["outside"] == REQUEST_TOKENS, "the host of this session gives no system text and no tools"
    beside = budget["free"] + budget["head"] + budget["outside"]
    assert sum(one["here_tokens"] for one in made["runs"]) == sum(parts) - beside
    assert 0 < made["pressure"] < 1
    assert all(one["here_tokens"] <= one["said_tokens"] for one in made["runs"] if one["how"] == "summary")


@pytest.mark.parametrize("marks", ["beside_summaries = true\n", "", "compact_at_tokens = 1_200\n"])
def test_explain_measures_the_pressure_that_compacts(copied: Callable[..., Result], marks: str) -> None:
    """O-06: "Usage > 80 %" of what is available, beside summaries where that is set: compaction is due above it alone.

    What is free up to the mark agrees.
    """
    with Path("squidbot.toml").open("a", encoding="utf-8") as settings:
        settings.write(f"[pressure]\ncompact_at_fraction = 0.8\npatience = 0\n{marks}")
    seen = set()
    for turn in range(12):
        with squidbot.load() as engine:
            session = engine.session("support/42")
            session.record(session.assemble(f"Look at line {turn} " * 9).incoming, "word " * 90)
            session.record({"role": "user", "content": "And more?"})
            view, room = session.core.room().view, session.core.room()
        made = json.loads(copied("session", "explain", "support/42", "--json").output)
        assert view.summaries.bound > 0
        assert (made["pressure"] > 0.8) == (min(room.marked) < 0)
        assert made["due"] is None or made["pressure"] > 0.8
        seen.add(made["due"] is not None)
        whole = view.history.plus(room.whole)
        if "beside" in marks:
            expected = (view.history.bound - view.summaries.bound) / (whole.bound - view.summaries.bound)
            assert made["pressure"] == expected
            # Only where history fills the room to the last token both are 1.
            assert (expected == view.history.bound / whole.bound) == (view.history.bound == whole.bound)
        with squidbot.load() as engine:
            engine.session("support/42").record("Yes.")
    assert seen == {True, False}


def test_explain_names_event_and_price_of_each_run(run: Callable[..., Result]) -> None:
    """Why it is not sent as it was said: which plan, its cause, what that cost."""
    made = json.loads(run("session", "explain", "support/42", "--json").output)
    notes = [one for one in made["runs"] if one["how"] == "summary"]
    assert all(note["event"]["cause"] in {"high-water", "overflow"} for note in notes)
    assert all(note["event"]["tokens_before"] > note["event"]["tokens_after"] for note in notes)
    text = run("session", "explain", "support/42").output
    assert f"notes {notes[0]['summary']}" in text
    assert "pressure " in text
    assert "|" in text


def test_explain_tells_the_story_of_a_message(run: Callable[..., Result]) -> None:
    """Born, cut, sent, told by notes: by which event, and how to get it back."""
    made = json.loads(run("session", "explain", "support/42", "m14", "--json").output)
    assert made["message"]["truncated"]
    assert next(state["how"] for state in made["states"]) == "slimmed"
    assert made["how"] == "summary"
    assert made["states"][-1]["summary"] == made["summary"]["id"]
    assert made["here_tokens"] == 0
    text = run("session", "explain", "support/42", "m14").output
    assert "cut to " in text
    assert "the transcript has all of it" in text
    assert f"notes {made['summary']['id']} stand for m0-m" in text
    assert "squidbot session recall support/42 m14" in text


def test_explain_says_that_the_notes_have_no_sentence_of_a_message(run: Callable[..., Result], tmp_path: Path) -> None:
    """In a small window they have no room for each one; the message is stored."""
    path = str(tmp_path / "s.db")
    with squidbot.load({"store": {"path": path}}) as engine:
        session = engine.session("dives", window_tokens=2_000)
        for number in range(40):
            asked = f"Dive {number}: I went to {10 + number} metres at site S{number}, saw {number} turtles."
            asked = asked if number else "The wreck's locker code is 4711-KX. Never dive alone."
            answer = "It is noted. " + "The current was weak on the reef. " * 14
            session.record(session.assemble(asked).incoming, {"role": "assistant", "content": answer})
    (told, kept) = (run("session", "explain", "dives", message, "--store", path).output for message in ("m0", "m40"))
    assert ": no sentence of it is in them" in told
    assert "4711-KX" in told
    assert "no sentence" not in kept


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
    shown = copied("session", "explain", "support/42").output
    assert "the next request will compact: plan " in shown
    assert made["budget"]["too_many"] > 0
    assert "above the limit, so it compacts first" in shown
    assert "until the high-water mark" not in shown, "nothing is free"
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
    assert sum(share["allotted"] for share in shares.values()) == budget["input_limit"] + budget["overcounted"]
    assert (
        sum(share["used"] for share in shares.values())
        == budget["input_limit"] + budget["overcounted"] - budget["free"]
    )
    assert shares["architecture"]["used"] > shares["architecture"]["allotted"] == 1_200
    assert all(0 < shares[name]["used"] <= shares[name]["allotted"] for name in ("compact", "moderate", "detailed"))
    text = copied("session", "explain", "tiers").output
    assert "Parts by tier (bounds, in tokens" in text
    assert re.search(r"architecture +[\d,]+ +of 1,200 allotted, above its part: borrowed from recent", text)
    assert re.search(r"recent +[\d,]+ +of [\d,]+ allotted\n", text)


# -- `squidbot session log`: the turn log of B-50, for people and as JSON ---------------------------------------------


def test_log_shows_the_newest_turn_part_by_part(run: Callable[..., Result]) -> None:
    """Request, tool calls with parameters and results, response, what was reported, what it cost."""
    lines = [line.rstrip() for line in run("session", "log", "support/42").output.splitlines()]
    assert lines[0].startswith("── turn m92: m92-m95, 2025-10-09 08:57:10 UTC ──")
    places = [
        lines.index("REQUEST MESSAGES"),
        lines.index("  [user] Please mend src/part_23.py; the limit is 261."),
        lines.index("TOOL CALLS (1 call across 1 iteration)"),
        lines.index("[1] Tool: read  (iteration 1)"),
        lines.index("    Action: whole"),
        lines.index('    Parameters: {"action": "whole", "path": "src/part_23.py"}'),
        next(place for place, line in enumerate(lines) if line.startswith("    Result (") and "chars):" in line),
        lines.index("      def part_23_0(): return 0"),
        lines.index("RESPONSE"),
        lines.index("  Mended part_23_1: the limit is 261."),
        next(place for place, line in enumerate(lines) if line.startswith("BUDGET of request 47")),
    ]
    assert places == sorted(places)
    assert any(" + 11  " in line for line in lines)


def test_log_json_has_the_calls_of_b50(run: Callable[..., Result]) -> None:
    """tool, action, parameters, result, iteration; the result whole."""
    (turn,) = json.loads(run("session", "log", "support/42", "m13", "--json").output)["turns"]
    (call,) = turn["tool_calls"]
    assert set(call) == {"tool", "action", "parameters", "result", "iteration"}
    assert (call["tool"], call["action"], call["iteration"]) == ("read", "whole", 1)
    assert call["parameters"] == {"action": "whole", "path": "src/part_3.py"}
    assert call["result"].endswith("def part_3_899(): return 899\n")
    assert turn["turn"] == "m12"
    assert turn["response"] == "Mended part_3_1: the limit is 121."
    assert [one["number"] for one in turn["requests"]] == [6, 7]
    reported = turn["requests"][1]["tokens"]
    assert turn["requests"][1]["usage"] == {"input_tokens": reported, "output_tokens": 11, "cached_tokens": 0}


def test_log_budget_adds_up(run: Callable[..., Result]) -> None:
    """Window, reserve, what is outside the history, history, what is free."""
    (turn,) = json.loads(run("session", "log", "support/42", "--json").output)["turns"]
    budget = turn["budget"]
    assert (budget["window"], budget["reserve"]) == (3_000, 750)
    assert budget["outside"] + budget["history"] == budget["request"] == turn["requests"][-1]["bound"]
    assert budget["request"] + budget["free"] == turn["requests"][-1]["limit"]
    assert budget["input_limit"] == budget["window"] - budget["reserve"], "the same number as session explain shows"
    assert budget["input_limit"] + budget.get("overcounted", 0) == turn["requests"][-1]["limit"]
    assert "messages, counting notes" in run("session", "log", "support/42").output


def test_input_limit_is_one_number_where_the_provider_bills_less_than_is_counted(copied: Callable[..., Result]) -> None:
    """Of explain, log and list: the window less the reserve; what history has too much is said."""
    with squidbot.load() as engine:
        session = engine.session("cheap", window_tokens=3_000)
        for number in range(40):
            made = session.assemble(f"{number} " + "please look at it " * 20)
            session.record(made.incoming, "so it is; " * 20, usage=squidbot.Usage(made.core.cost.bound // 2, 60))
        for number in range(12):
            session.record({"role": "user", "content": f"{number} " + "and at more of it " * 60}, "yes")
        assert re.search(r"of 2,250 tokens, [\d,]+ too many;", str(session))
    made = json.loads(copied("session", "explain", "cheap", "--json").output)["budget"]
    assert made["input_limit"] == 2_250
    assert made["too_many"] > 0 == made["free"]
    parts = sum(made[name] for name in ("system", "outside", "head", "notes", "users", "older", "tail"))
    assert parts - made["too_many"] == made["input_limit"] + made["overcounted"]
    (turn,) = json.loads(copied("session", "log", "cheap", "m79", "--json").output)["turns"]
    assert turn["budget"]["input_limit"] == 2_250 < turn["requests"][-1]["limit"]
    assert turn["budget"]["overcounted"] == turn["requests"][-1]["limit"] - 2_250
    listed = json.loads(copied("session", "list", "--json").output)["sessions"]
    (row,) = [one for one in listed if one["session"] == "cheap"]
    assert 0 < row["request_tokens"] <= 2_250


def test_log_names_the_event_that_changed_the_request(run: Callable[..., Result]) -> None:
    """The plan, its cause, its price, beside the request that was made under it first."""
    turns = json.loads(run("session", "log", "support/42", "--last", "24", "--json").output)["turns"]
    assert len(turns) == 24
    events = [one["event"] for turn in turns for one in turn["requests"] if one["event"]]
    assert [event["plan"] for event in events] == sorted({event["plan"] for event in events})
    assert {"high-water", "overflow"} & {event["cause"] for event in events}
    lines = run("session", "log", "support/42", "--last", "24").output.splitlines()
    assert len([line for line in lines if line.startswith("  plan ")]) == len(events)


def test_log_takes_a_message_and_the_turns_before_it(run: Callable[..., Result]) -> None:
    """The turn in which the message stands comes last."""
    turns = json.loads(run("session", "log", "support/42", "m9", "--last", "2", "--json").output)["turns"]
    assert [(turn["turn"], turn["last"]) for turn in turns] == [("m4", "m7"), ("m8", "m11")]
    assert run("session", "log", "support/42", "m96").exit_code == 2


def test_log_of_a_session_without_messages_says_so(run: Callable[..., Result]) -> None:
    """No error, and no turn."""
    assert run("session", "log", "empty").output == "empty: nothing has been said yet\n"
    assert json.loads(run("session", "log", "empty", "--json").output)["turns"] == []


def test_log_parts_the_results_of_one_message(copied: Callable[..., Result]) -> None:
    """Anthropic's messages carry several results; each call has its own, and one without says so."""
    call = {"type": "tool_use", "name": "read", "input": {}}
    results = [{"type": "tool_result", "tool_use_id": f"t{number}", "content": f"it is {number}"} for number in (1, 2)]
    with squidbot.load() as engine:
        session = engine.session("parts", form="anthropic.messages")
        session.record(
            {"role": "user", "content": "Look."},
            {"role": "assistant", "content": [{**call, "id": "t1"}, {**call, "id": "t2"}]},
            {"role": "user", "content": results},
            {"role": "assistant", "content": [{**call, "id": "t3"}]},
        )
    (turn,) = json.loads(copied("session", "log", "parts", "--json").output)["turns"]
    assert [(one["result"], one["iteration"]) for one in turn["tool_calls"]] == [
        ("it is 1", 1),
        ("it is 2", 1),
        (None, 2),
    ]
    text = copied("session", "log", "parts").output
    assert "TOOL CALLS (3 calls across 2 iterations)" in text
    assert "Result (7 chars):" in text
    assert "Result: none is recorded" in text
    assert "(none yet)" in text


# -- `squidbot session list`: what a store holds, and how a store and a session are named -----------------------------


def test_sessions_lists_them_with_what_can_be_told(run: Callable[..., Result]) -> None:
    """A line for each: messages, requests, tokens of the newest, the plan and why it was made, window and model."""
    lines = run("session", "list").output.splitlines()
    assert lines[0].split() == [
        "session",
        "messages",
        "begun",
        "newest",
        "requests",
        "tokens",
        "plan",
        "window",
        "model",
    ]
    assert [line.split()[0] for line in lines[1:]] == ["support/43", "support/42", "对话?[31m", "empty"]
    told = lines[2].split()
    assert (told[1], told[-1]) == ("96", "3,000")
    assert "high-water" in lines[2] or "overflow" in lines[2]


def test_sessions_json_has_numbers_as_numbers(run: Callable[..., Result]) -> None:
    """Times are seconds since 1970, what is not there is null."""
    made = json.loads(run("session", "list", "--json").output)
    assert made["total"] == 4
    by_id = {one["session"]: one for one in made["sessions"]}
    assert by_id["support/42"]["messages"] == 96
    assert by_id["support/42"]["requests"] == 48
    assert by_id["support/42"]["first_time"] == 1_760_000_000.0
    assert by_id["support/42"]["window"] == 3_000
    assert (by_id["empty"]["first_time"], by_id["empty"]["plan"], by_id["empty"]["damaged"]) == (None, None, None)


def test_a_request_is_counted_once_though_its_usage_comes_later(run: Callable[..., Result], tmp_path: Path) -> None:
    """What came with a request is recorded before its answer is: the usage makes a second record, no second request."""
    with squidbot.load({"store": {"path": str(tmp_path / "mem.db")}}) as engine:
        session = engine.session("s")
        for text in ("Hi", "And?"):
            session.record(session.assemble(text).incoming)
            session.record(
                {"role": "assistant", "content": "Yes."}, usage={"prompt_tokens": 20, "completion_tokens": 2}
            )
    (told,) = json.loads(run("session", "list", "--json", "--store", str(tmp_path / "mem.db")).output)["sessions"]
    assert told["requests"] == 2


def test_sessions_limits_and_says_how_many_there_are_more(run: Callable[..., Result]) -> None:
    """The older ones are counted."""
    result = run("session", "list", "--limit", "1")
    assert "support/42" not in result.output
    assert "… 3 older sessions; --limit 4 lists all" in result.output


def test_store_is_a_file_or_that_of_the_settings(run: Callable[..., Result], tmp_path: Path) -> None:
    """--store goes before squidbot.toml, and is relative to the current folder."""
    assert run("session", "list", "--store", "kept.db").output == run("session", "list").output
    missing = run("session", "list", "--store", str(tmp_path / "none.db"))
    assert missing.exit_code == 1
    assert "none.db: no such file; pass --store FILE.db" in missing.output
    (tmp_path / "empty.db").touch()
    assert run("session", "list", "--store", str(tmp_path / "empty.db")).exit_code == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.db"]


def test_no_store_is_wrong_usage(run: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to name one are said."""
    monkeypatch.chdir(tmp_path)
    result = run("session", "list")
    assert result.exit_code == 2
    assert "no store: pass --store FILE.db, or set store.path or store.url in ./squidbot.toml" in result.output


def test_session_is_named_by_its_beginning(run: Callable[..., Result]) -> None:
    """A whole id wins, a beginning that several share names them, an unknown one the nearest."""
    assert run("session", "show", "emp").exit_code == 0
    both = run("session", "show", "support/4")
    assert both.exit_code == 1
    assert "2 sessions begin with 'support/4': support/42, support/43" in both.output
    near = run("session", "show", "suport/42")
    assert near.exit_code == 1
    assert "no session 'suport/42'; near it: support/42, support/43" in near.output
    assert "near it: support/42" in run("session", "show", "PORT/42").output


def test_file_of_another_program_is_damaged_data(run: Callable[..., Result], tmp_path: Path) -> None:
    """It is left as it is."""
    other = tmp_path / "notes.txt"
    other.write_text("my notes, which are no database at all\n" * 100)
    result = run("session", "list", "--store", str(other))
    assert result.exit_code == 4
    assert other.read_text().startswith("my notes")


def test_sessions_are_listed_by_what_was_said_last(run: Callable[..., Result], tmp_path: Path) -> None:
    """Not by when they began."""
    path = str(tmp_path / "s.db")
    with squidbot.load({"store": {"path": path}}) as engine:
        for name, now in (("old", 100.0), ("new", 200.0), ("old", 300.0)):
            engine.session(name).record({"role": "user", "content": "hi"}, now=now)
        engine.session("silent").pin_text("goal", "Wait.")
    made = json.loads(run("session", "list", "--store", path, "--json").output)["sessions"]
    assert [one["session"] for one in made] == ["old", "new", "silent"]


def test_form_that_nobody_reads_is_said(copied: Callable[..., Result]) -> None:
    """A session of an extension that is not loaded: shown as it is stored, and one line where it must be read."""

    class Odd(OpenAIChat):
        tag = "odd.chat"

    class Brings:
        @squidbot.hookimpl
        def register_adapters(self, register: Register) -> None:
            register.codec(Odd())

    with squidbot.load(extensions=[Brings()]) as engine:
        engine.session("odd", form="odd.chat").record({"role": "user", "content": "hi there"})
    assert '{"role": "user", "content": "hi there"}' in copied("session", "show", "odd").output
    for arguments in (["session", "search", "odd", "there"], ["session", "show", "odd", "--request"]):
        result = copied(*arguments)
        assert result.exit_code == 2
        assert "no codec reads messages of the form 'odd.chat'" in result.output
    assert copied("session", "explain", "odd").exit_code == 0


# -- looking changes nothing: no reading command writes a byte, makes a file, or opens a session under another window -

READING = [
    ["session", "list"],
    ["session", "list", "--under", "support/42"],
    ["session", "show", "support/42"],
    ["session", "show", "support/42", "m14"],
    ["session", "show", "support/42", "--request"],
    ["session", "show", "support/42", "--request", "40"],
    ["session", "explain", "support/42"],
    ["session", "explain", "support/42", "m14"],
    ["session", "log", "support/42", "--last", "5"],
    ["session", "recall", "support/42", "m14"],
    ["session", "export", "support/42", "--format", "anthropic"],
    ["session", "snapshots", "support/42"],
    ["store", "doctor"],
]


def hashes() -> dict[str, str]:
    """Return a hash of every file in the current folder, by its name."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in Path().iterdir()}


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
@pytest.mark.parametrize("as_json", [[], ["--json"]], ids=["text", "json"])
def test_reading_command_writes_no_byte(
    copied: Callable[..., Result], arguments: list[str], as_json: list[str]
) -> None:
    """Not where nobody else has the store open: same files, same bytes."""
    before = hashes()
    assert copied(*arguments, *as_json).exit_code == 0
    assert hashes() == before


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_reading_command_leaves_a_live_store_alone(copied: Callable[..., Result], arguments: list[str]) -> None:
    """A host has it open, and has written what is in the log of the file only: file and log stay as they are."""
    with squidbot.load() as engine:
        talk(engine.session("live"), 1, began=BEGAN)
        before = hashes()
        assert {"kept.db", "kept.db-wal"} <= set(before)
        assert copied(*arguments).exit_code == 0
        after = hashes()
        for name in ("kept.db", "kept.db-wal"):
            assert after[name] == before[name]
        # The host goes on as if nobody had looked.
        engine.session("live").record("Thanks.")


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_reading_command_leaves_what_a_crash_has_left(
    copied: Callable[..., Result], tmp_path: Path, arguments: list[str]
) -> None:
    """A log that nobody emptied into the file: the next host does that, and not who looks."""
    with squidbot.load() as engine:
        engine.session("support/42").record("And this stands in the log alone.")
        for name in ("kept.db", "kept.db-wal"):
            shutil.copy(tmp_path / name, tmp_path / f"left-{name}")
    store = ["--store", "left-kept.db"]
    before = hashes()
    assert before["left-kept.db-wal"] != hashlib.sha256(b"").hexdigest()
    assert copied(*arguments, *store).exit_code == 0
    after = hashes()
    assert {name: after[name] for name in before} == before
    assert "in the log alone" in copied("session", "show", "support/42", "--limit", "1", *store).output


@pytest.mark.parametrize("arguments", READING[:3], ids=" ".join)
def test_an_empty_log_is_no_sign_of_use(copied: Callable[..., Result], arguments: list[str]) -> None:
    """A killed reader leaves one; the next command reads as from a store at rest, and leaves none."""
    before = hashes()
    Path("kept.db-wal").touch()
    assert copied(*arguments).exit_code == 0
    assert hashes() == before


def test_search_writes_nothing_once_its_index_is_made(copied: Callable[..., Result]) -> None:
    """The first search brings the index up to date; those behind it only read."""
    copied("session", "search", "support/42", "part_3_1")
    before = hashes()
    assert copied("session", "search", "support/42", "part_4_1").exit_code == 0
    assert hashes() == before


def test_looking_opens_a_session_under_the_window_that_it_had(copied: Callable[..., Result]) -> None:
    """Other settings in squidbot.toml change nothing of what stands: the next request is the same, byte for byte."""
    before = json.loads(copied("session", "show", "support/42", "--request", "--json").output)
    settings = Path("squidbot.toml")
    settings.write_text(settings.read_text().replace("3000", "64000") + '[budget]\ncounter = "bytes"\n')
    after = json.loads(copied("session", "show", "support/42", "--request", "--json").output)
    assert after == before
    listed = {
        one["session"]: one["window"] for one in json.loads(copied("session", "list", "--json").output)["sessions"]
    }
    assert listed["support/42"] == 3_000


def test_store_alone_tells_the_window(copied: Callable[..., Result], tmp_path: Path) -> None:
    """Without any squidbot.toml: the store names it."""
    (tmp_path / "squidbot.toml").unlink()
    made = json.loads(copied("session", "explain", "support/42", "--store", "kept.db", "--json").output)
    assert (made["budget"]["window"], made["lease"]["source"]) == (3_000, "recorded")


def test_help_of_every_command_is_quick() -> None:
    """`squidbot --help` imports no command, no engine, no table, no database."""
    program = (
        "import sys\nfrom squidbot.cli import main\n"
        "try:\n    main(['--help'])\n"
        "finally:\n    print(sorted(name for name in sys.modules if name.startswith(('squidbot.', 'rich', 'sqlite3'))))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    loaded = set(ran.stdout.splitlines()[-1].strip("[]").replace("'", "").split(", "))
    assert loaded <= {
        "squidbot.cli",
        "squidbot.cli.texts",
        "squidbot.core",
        "squidbot.core.errors",
        "squidbot.core.text",
        "squidbot.adapters",
        "squidbot.adapters.common",
        "squidbot.adapters.common.packages",  # names alone: what `--version` asks for
    }


# -- `squidbot session lines`, `switch`, and what is on another line --------------------------------------------------


def test_lines_of_a_session_are_listed_shown_and_searched(copied: Callable[..., Result]) -> None:
    """What the model no longer sees is marked, and found where that is asked for; a switch goes back to it."""
    with squidbot.load("squidbot.toml") as engine:
        assert engine.session("support/42").branch("m94") == 1
    lines = json.loads(copied("session", "lines", "support/42", "--json").output)["lines"]
    assert [(one["line"], one["messages"], one["left_before"], one["current"]) for one in lines] == [
        (0, 96, None, False),
        (1, 94, "m94", True),
    ]
    assert "1 *" in copied("session", "lines", "support/42").output
    assert "on line 0, not sent" in copied("session", "show", "support/42", "m94").output
    assert "not sent" not in copied("session", "show", "support/42", "--line", "0").output
    shown = json.loads(copied("session", "show", "support/42", "--line", "1", "--json").output)["shown"]
    assert shown[-1]["id"] == "m93"
    found = [copied("session", "search", "support/42", "part_23_1", *more).output for more in ((), ("--all-lines",))]
    assert ["m95" in text for text in found] == [False, True]
    explained = copied("session", "explain", "support/42").output
    assert "the model does not see 2 of them: squidbot session lines support/42" in explained
    held = re.search(r"the next request has ([^\n]+(?:\n[^\n]+)?)", explained)
    assert held is not None
    assert sum(int(number) for number in re.findall(r"(\d+) (?:in notes|word for word|cut)", held[0])) == 94
    assert json.loads(copied("session", "explain", "support/42", "--json").output)["elsewhere"] == 2
    assert copied("session", "switch", "support/42", "0").output == "support/42: line 0 is talked on\n"
    assert "not sent" not in copied("session", "show", "support/42", "m94").output
    assert "there is no line 7" in copied("session", "switch", "support/42", "7").output
