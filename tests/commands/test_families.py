"""Sessions of agents within agents: `session list` draws families, `show` and `explain` lead along their calls."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

import squidbot
from squidbot.cli import main
from squidbot.core.transcript.lineage import CALLER, LINEAGE, Caller, Lineage

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot import Engine

BEGAN = 1_760_000_000.0


def calls(*ids: str) -> dict[str, Any]:
    """Return a message that calls a tool, once for each id."""
    listed = [{"id": one, "type": "function", "function": {"name": "research", "arguments": "{}"}} for one in ids]
    return {"role": "assistant", "content": None, "tool_calls": listed}


def record(engine: Engine, name: str, *messages: str | dict[str, Any], at: float) -> None:
    """Record messages, a second apart; a text is the user's."""
    for second, one in enumerate(messages):
        said = {"role": "user", "content": one} if isinstance(one, str) else one
        engine.session(name).record(said, now=BEGAN + at + second)


def result(call_id: str) -> dict[str, Any]:
    """Return the result of a call."""
    return {"role": "tool", "tool_call_id": call_id, "content": "Found."}


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store: `pier` called one agent that is told by a record, one by its id, one by its time; others are alone."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "squidbot.toml").write_text('[store]\npath = "s.db"\n')
    with squidbot.load() as engine:
        record(engine, "pier", "Ask the archive.", calls("c1"), at=0)
        record(engine, "pier/tools/4f", "Look it up.", calls("d1"), at=2)
        engine.wired.store.append("pier/tools/4f", 2, (), [CALLER.record(0, Caller("c1", BEGAN + 2))])
        record(engine, "pier/tools/4f/tools/9a", "Deeper.", at=4.5)
        record(engine, "pier/tools/4f", result("d1"), at=6)
        record(engine, "pier", result("c1"), calls("c2"), at=8)
        record(engine, "pier/research/c2", "Once more.", at=10)
        record(engine, "pier", result("c2"), calls("c3", "c4"), at=12)
        record(engine, "pier/sort/77", "And again.", at=14)
        record(engine, "pier", result("c3"), result("c4"), at=16)
        record(engine, "support/42", "Alone.", at=30)
        record(engine, "quay", "Older.", at=-50)
        engine.continued("quay", "quay-2")
        record(engine, "quay-2", "Goes on.", at=-40)
        engine.sub_agent(engine.session("quay"), "coder")
        record(engine, "quay/coder", "Code.", at=-30)
    return tmp_path / "s.db"


def run(*arguments: str) -> Result:
    """Run a command of `session`."""
    return CliRunner().invoke(main, ["session", *arguments])


def json_of(*arguments: str) -> dict[str, Any]:
    """Return what a command of `session` prints as JSON."""
    made: dict[str, Any] = json.loads(run(*arguments, "--json").output)
    return made


def drawn(*arguments: str) -> list[str]:
    """Return the first column of the list of sessions."""
    lines = run("list", *arguments).output.splitlines()[1:]
    return [line.split("  ")[0] if not line.startswith(("   ", "│")) else line[:28].rstrip() for line in lines]


@pytest.mark.usefixtures("stored")
def test_list_draws_children_below_their_parent() -> None:
    """Families stand in the order of their newest message; an id below none that is stored is nobody's child."""
    assert drawn() == [
        "support/42",
        "pier",
        "├─ sort/77",
        "├─ research/c2",
        "└─ tools/4f",
        "   └─ tools/9a",
        "quay",
        "├─ coder (sub-agent)",
        "└─ quay-2 (continued)",
    ]


@pytest.mark.usefixtures("stored")
def test_list_as_json_stays_flat_and_names_parents() -> None:
    """The newest first, whatever family they are of."""
    listed = json_of("list")["sessions"]
    assert [one["session"] for one in listed][:3] == ["support/42", "pier", "pier/sort/77"]
    assert {one["session"]: (one["parent"], one["way"]) for one in listed} == {
        "support/42": (None, None),
        "pier": (None, None),
        "pier/sort/77": ("pier", "below"),
        "pier/research/c2": ("pier", "below"),
        "pier/tools/4f": ("pier", "below"),
        "pier/tools/4f/tools/9a": ("pier/tools/4f", "below"),
        "quay": (None, None),
        "quay/coder": ("quay", "sub-agent"),
        "quay-2": ("quay", "continued"),
    }
    assert len(json_of("list", "--limit", "2")["sessions"]) == 2


@pytest.mark.usefixtures("stored")
def test_list_of_one_family() -> None:
    """Also of a part of it, and as JSON."""
    assert drawn("--under", "pier/tools/4f") == ["pier/tools/4f", "└─ tools/9a"]
    assert drawn("--under", "quay") == ["quay", "├─ coder (sub-agent)", "└─ quay-2 (continued)"]
    made = json_of("list", "--under", "pier")
    assert (made["total"], len(made["sessions"])) == (5, 5)
    assert run("list", "--under", "nobody").exit_code == 1


def test_many_children_are_folded(stored: Path) -> None:
    """The newest stand for them, and a line says how to see all."""
    with squidbot.load({"store": {"path": str(stored)}}) as engine:
        for number in range(40):
            record(engine, f"quay/tools/{number}", "Hi.", at=100 + number)
    shown = drawn()
    assert shown[:5] == ["quay", "├─ tools/39", "├─ tools/38", "├─ tools/37", "└─ … 39 more"]
    assert shown[5] == "support/42"
    assert shown[-1] == "all of a family: squidbot session list --under SESSION"
    assert "older session" not in run("list").output
    every = drawn("--under", "quay")
    assert len(every) == 43
    assert not [line for line in every if "more" in line]


@pytest.mark.usefixtures("stored")
def test_limit_counts_sessions_of_all_families() -> None:
    """What is left of the last family is folded; what is left of the store is counted."""
    result = run("list", "--limit", "3")
    assert [line.split("  ")[0] for line in result.output.splitlines()[1:]] == [
        "support/42",
        "pier",
        "├─ sort/77",
        "└─ … 3 more",
        "all of a family: squidbot session list --under SESSION",
        "… 3 older sessions; --limit 9 lists all",
    ]


@pytest.mark.parametrize("way", ["continued", "rotated"])
def test_a_long_chain_stands_on_one_level(way: str, stored: Path) -> None:
    """It would run out of the page."""
    with squidbot.load({"store": {"path": str(stored)}}) as engine:
        for number in range(1, 5):
            record(engine, f"x~{number}", "Hi.", at=100 + number)
            engine.wired.store.append(f"x~{number}", 1, (), [LINEAGE.record(0, Lineage(f"x~{number - 1}", way, 1))])
        record(engine, "x~0", "Hi.", at=100)
        record(engine, "None/alone", "Hi.", at=20)
    assert "None/alone" in drawn()
    assert drawn()[:5] == ["x~0", *(f"├─ x~{number} ({way})" for number in (4, 3, 2)), f"└─ x~1 ({way})"]


def test_sessions_in_a_circle_are_listed(stored: Path) -> None:
    """A store that someone else has written may hold anything; each stands there once."""
    with squidbot.load({"store": {"path": str(stored)}}) as engine:
        for one, other in (("a", "b"), ("b", "a"), ("c", "c")):
            record(engine, one, "Hi.", at=200)
            engine.wired.store.append(one, 1, (), [LINEAGE.record(0, Lineage(other, "sub-agent", 1))])
    shown = " ".join(drawn())
    assert len(json_of("list")["sessions"]) == 12
    assert [shown.count(f"{name} (sub-agent)") for name in "abc"] == [1, 1, 1]


@pytest.mark.usefixtures("stored")
def test_parents_that_are_older_than_what_is_read_stand_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a large store only the latest sessions are read, and those above them."""
    monkeypatch.setattr("squidbot.cli.session.MOST_LISTED", 1)
    assert drawn("--limit", "2") == [
        "quay",
        "├─ coder (sub-agent)",
        "└─ … 1 more",
        "all of a family: squidbot session list --under SESSION",
        "… 6 older sessions; --limit 9 lists all",
    ]


@pytest.mark.usefixtures("stored")
def test_explain_leads_from_a_call_to_the_session_that_it_began() -> None:
    """By a record, by the id, and by the time, where it can't be told which of two calls it was."""
    for message, child, call in (
        ("m1", "pier/tools/4f", "c1"),
        ("m3", "pier/research/c2", "c2"),
        ("m5", "pier/sort/77", None),
    ):
        assert json_of("explain", "pier", message)["message"]["children"] == [{"session": child, "call": call}]
        told = f"{child}, called by research" if call else f"perhaps {child}: it began between this call and its result"
        text = " ".join(run("explain", "pier", message).output.split())
        assert f"agent {told} " in text
        assert "an agent's session: squidbot session show ID" in text
    assert json_of("explain", "pier", "m0")["message"]["children"] == []


@pytest.mark.usefixtures("stored")
def test_show_names_the_sessions_of_calls() -> None:
    """Below each call."""
    shown = run("show", "pier").output
    assert "-> research\n  => pier/tools/4f\n" in shown
    assert "  => perhaps pier/sort/77: it began between this call and its result\n" in shown
    assert [one["children"] for one in json_of("show", "pier", "m1-m3")["shown"]] == [
        [{"session": "pier/tools/4f", "call": "c1"}],
        [],
        [{"session": "pier/research/c2", "call": "c2"}],
    ]


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("command", ["show", "explain"])
def test_a_child_says_which_call_called_it(command: str) -> None:
    """And whence it is where no call is known."""
    for child, line, call in (
        ("pier/tools/4f", "called by pier m1; squidbot session explain pier m1", {"message": "m1", "id": "c1"}),
        ("pier/research/c2", "called by pier m3; squidbot session explain pier m3", {"message": "m3", "id": "c2"}),
        ("pier/sort/77", "below pier; by its time called by m5; squidbot session explain pier m5", None),
        ("pier/tools/4f/tools/9a", "below pier/tools/4f; by its time called by m1", None),
        ("quay/coder", "sub-agent of quay; squidbot session explain quay", None),
        ("quay-2", "continues quay; squidbot session explain quay", None),
    ):
        assert f"\n{line}" in run(command, child).output
        made = json_of(command, child)
        assert made["parent"] == line.partition(";")[0].split()[-1 if call is None else 2]
        if call:
            assert made["call"] == call
    assert json_of(command, "pier/sort/77")["call"] == {"message": "m5", "id": None}
    assert json_of(command, "quay/coder")["call"] is None
    assert {json_of(command, "pier")[key] for key in ("parent", "way", "call")} == {None}


@pytest.mark.usefixtures("stored")
def test_explain_counts_the_sessions_below() -> None:
    """With the way to them."""
    assert "3 sessions below it: squidbot session list --under pier\n" in run("explain", "pier").output
    assert json_of("explain", "pier")["children"] == ["pier/tools/4f", "pier/research/c2", "pier/sort/77"]
    assert json_of("explain", "support/42")["children"] == []


def test_a_damaged_child_is_left_out(stored: Path) -> None:
    """What leads to it can't be told; the session can."""
    with squidbot.load({"store": {"path": str(stored)}}) as engine:
        engine.wired.store.append("pier/tools/4f", 3, (), [CALLER.record(1, Caller("c2"))._replace(body="no")])
    assert json_of("explain", "pier", "m1")["message"]["children"] == []
    for command in ("list", "show pier/tools/4f", "explain pier/tools/4f"):
        assert run(*command.split()).exit_code == 0
    assert json_of("show", "pier/tools/4f")["parent"] == "pier"


def test_hostile_ids_and_records_are_harmless(stored: Path) -> None:
    """No control character reaches the terminal, and no line is longer than the page."""
    hostile = f"pier/\x1b[31m{'red ' * 40}\r\n/c2"
    with squidbot.load({"store": {"path": str(stored)}}) as engine:
        record(engine, hostile, "Hi.", at=11)
        record(engine, f"{hostile}/\x9b", "Hi.", at=11)
        lineage = LINEAGE.record(0, Lineage("pier", "\x1b[2J" * 50, 1))
        engine.wired.store.append(f"{hostile}/\x9b", 1, (), [lineage])
    for arguments in (["list"], ["show", "pier"], ["explain", "pier", "m3"], ["show", hostile], ["explain", hostile]):
        output = run(*arguments).output
        assert "pier" in output
        assert not {*output} & {"\x1b", "\r", "\x9b"}
        assert max(map(len, output.splitlines())) <= 100


@pytest.mark.slow
def test_thousands_of_sessions_are_listed_quickly(tmp_path: Path) -> None:
    """One family costs little more than as many sessions that are alone."""
    paths = []
    for name in ("alone-{}", "pier/tools/{}"):
        paths.append(str(tmp_path / f"{name[:4]}.db"))
        with squidbot.load({"store": {"path": paths[-1]}}) as engine:
            record(engine, "pier", "Hi.", at=0)
            for number in range(3_000):
                record(engine, name.format(number), "Hi.", at=number)
    took: list[list[float]] = [[], []]
    for _ in range(5):
        for path, times in zip(paths, took, strict=True):
            began = time.process_time()
            assert run("list", "--store", path).exit_code == 0
            times.append(time.process_time() - began)
    assert min(took[1]) < 1.5 * min(took[0]) + 0.1


@pytest.mark.parametrize(
    "child", ["a/research/c1", "a/research/c1/1", "a/delegate_task/c1/20261128_f3", "a/research/x%2Fy"]
)
def test_a_call_is_known_by_the_id_of_the_session_that_works_for_it(
    child: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As each host names them: the call's id, perhaps a number behind it, or the host's own id."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "squidbot.toml").write_text('[store]\npath = "s.db"\n')
    call_id = "x/y" if "%" in child else "c1"
    with squidbot.load() as engine:
        record(engine, "a", "Two at once.", calls("c0", call_id), at=0)
        record(engine, child, "Look it up.", at=2)
        record(engine, "a", result("c0"), result(call_id), at=4)
    assert json_of("explain", "a", "m1")["message"]["children"] == [{"session": child, "call": call_id}]
    assert json_of("explain", child)["call"] == {"message": "m1", "id": call_id}
