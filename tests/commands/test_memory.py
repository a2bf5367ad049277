"""`squidbot memory`: durable facts from the command line, by whom they are seen, and carried to another store."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

import squidbot
from squidbot.cli import main

if TYPE_CHECKING:
    from click.testing import Result

STORE = "facts.db"


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No squidbot.toml but the test's own."""
    monkeypatch.chdir(tmp_path)


def run(*arguments: str, code: int = 0, text: str | None = None) -> Result:
    """Run the command, and return what it printed."""
    done = CliRunner().invoke(main, ["memory", *arguments], input=text)
    assert done.exit_code == code, done.output
    return done


def found(*arguments: str, code: int = 0) -> list[dict[str, Any]]:
    """Return the facts that a command shows."""
    memories: list[dict[str, Any]] = json.loads(run(*arguments, "--store", STORE, "--json", code=code).stdout)[
        "memories"
    ]
    return memories


def test_fact_is_added_found_and_listed() -> None:
    """As text for people, without the frame that models get; as JSON whole."""
    said = run("add", "Ann keeps bees.", "--category", "core", "--tag", "garden", "--store", STORE).stdout
    assert said.startswith("added to core\nIts id is f-")
    listed = run("list", "--store", STORE).stdout
    assert "core:\n- f-" in listed
    assert "<" not in listed
    (fact,) = found("search", "who keeps bees?")
    assert (fact["text"], fact["category"], fact["tags"], fact["trust"]) == (
        "Ann keeps bees.",
        "core",
        ["garden"],
        "user",
    )
    assert fact["reason"] == "added on the command line"


def test_empty_answer_says_whose_facts_it_is_about() -> None:
    """A fact of another user or bot is the usual reason why one is missing: the answer names them."""
    run("add", "Ann keeps bees.", "--user", "ann", "--bot", "helper", "--store", STORE)
    others = (
        "; for others pass --user, --bot, --session or --shared.\n"
        "Facts of user ann, bot helper: 1; pass --user ann --bot helper\n"
    )
    assert run("list", "--user", "ann", "--store", STORE).stdout.endswith(f"These are the facts of user ann{others}")
    searched = run("search", "bees", "--session", "s1", "--bot", "helper", "--store", STORE, code=1).stdout
    assert searched.endswith(f"These are the facts of bot helper, session s1{others}")
    assert run("list", "--shared", "--store", STORE).stdout.endswith(f"These are the facts of all{others}")
    assert "for others" not in run("list", "--user", "ann", "--bot", "helper", "--store", STORE).stdout
    run("add", "Bob keeps dogs.", "--user", "bob", "--store", STORE)
    other_bot = run("list", "--user", "bob", "--bot", "helper", "--store", STORE).stdout
    assert "Facts of user bob: 1; leave out --bot\n" in other_bot
    assert other_bot.startswith("Nothing is remembered here.\n")


def test_empty_answer_names_the_nearest_owners_first() -> None:
    """The same user, and whose facts a session's are; of the rest the command `owners` tells."""
    for name in "abcd":
        for number in range(2):
            run("add", f"Fact {number}.", "--user", name, "--store", STORE)
    run("add", "Ann keeps bees.", "--user", "ann", "--bot", "helper", "--store", STORE)
    shown = run("list", "--user", "ann", "--store", STORE).stdout.splitlines()
    assert shown[-4].startswith("Facts of user ann, bot helper: 1;")
    assert shown[-1] == "Those of others: squidbot memory owners"
    settings = {"store": {"path": STORE}, "summary": {"scheduler": "none"}}
    with squidbot.load(settings) as engine:
        session = engine.session("ann-1", scope=squidbot.Scope(user="zoe"))
        session.record({"role": "user", "content": "I live in Rome."}, "Yes?")
        engine.run_jobs()
    shown = run("list", "--session", "ann-1", "--store", STORE).stdout.splitlines()
    assert shown[-4] == "Facts of user zoe: 1; pass --user zoe"


def test_owners_of_facts_are_counted() -> None:
    """Each with the options that show its facts; replaced facts don't count."""
    assert run("add", "Nobody's.", "--shared", "--store", STORE)
    run("add", "Ann keeps bees.", "--user", "ann", "--bot", "helper", "--tenant", "big corp", "--store", STORE)
    (old,) = found("add", "Bob keeps cats.", "--session", "s1")
    run("add", "Bob keeps dogs.", "--session", "s1", "--replaces", old["memory_id"], "--store", STORE)
    shown = run("owners", "--store", STORE).stdout
    for line in ("--shared", "--session s1", "--tenant 'big corp' --user ann --bot helper"):
        assert line in shown
    owners = json.loads(run("owners", "--store", STORE, "--json").stdout)["owners"]
    assert [(one["user"], one["bot"], one["thread"], one["facts"]) for one in owners] == [
        ("", "", "", 1),
        ("", "", "s1", 1),
        ("ann", "helper", "", 1),
    ]


def test_search_that_misses_a_replaced_fact_says_so() -> None:
    """Else nobody knows that it was there."""
    (old,) = found("add", "The gate code is 1234.")
    run("add", "The boat is blue.", "--replaces", old["memory_id"], "--store", STORE)
    searched = run("search", "gate code", "--store", STORE, code=1).stdout
    assert "[1 replaced fact matches: pass --past; try other or fewer words" in searched
    assert "replaced" not in run("search", "zebra", "--store", STORE, code=1).stdout.replace("without replaced", "")


def test_id_that_is_not_there_says_why() -> None:
    """It was forgotten, with the reason; or it is another user's."""
    (gone,) = found("add", "Ann keeps bees.")
    (other,) = found("add", "Ann keeps cats.", "--user", "ann")
    run("forget", gone["memory_id"], "--reason", "she asked", "--yes", "--store", STORE)
    told = run("show", gone["memory_id"], "--store", STORE, code=1).stderr
    assert re.search(rf"{gone['memory_id']} was forgotten on \d{{4}}-.* UTC: she asked", told)
    told = run("show", other["memory_id"], "--store", STORE, code=1).stderr
    assert f"{other['memory_id']} is a fact of user ann: pass --user ann" in told
    assert "no memory has the id" in run("restore", "f-aaaaaaaaaa", "--store", STORE, code=1).stderr


def test_export_of_all_has_the_facts_of_everyone() -> None:
    """Without `--all` those of one scope; none is said on standard error."""
    run("add", "Ann keeps bees.", "--user", "ann", "--store", STORE)
    run("add", "Bob keeps cats.", "--user", "bob", "--bot", "helper", "--store", STORE)
    none = run("export", "--user", "zoe", "--store", STORE)
    assert none.stdout == ""
    assert "there are no facts of user zoe" in none.stderr
    assert "pass --user ann" in none.stderr
    every = [json.loads(line)["text"] for line in run("export", "--all", "--store", STORE).stdout.splitlines()]
    assert every == ["Ann keeps bees.", "Bob keeps cats."]


def explained(session_id: str) -> tuple[dict[str, Any], str]:
    """Return what `session explain` tells of facts, as values and as text on one line."""
    done = CliRunner().invoke(main, ["session", "explain", session_id])
    assert done.exit_code == 0, done.output
    values = json.loads(CliRunner().invoke(main, ["session", "explain", session_id, "--json"]).stdout)
    return values["facts"], " ".join(done.stdout.split())


def test_explain_says_whose_facts_a_session_uses_and_why_none_is_shown() -> None:
    """No room, none known by then, no user, switched off; and what was not read yet."""
    settings = '[store]\npath = "facts.db"\n[summary]\nscheduler = "none"\n[memory]\n'
    Path("squidbot.toml").write_text(f"{settings}cold_start_tokens = 10\n", encoding="utf-8")
    ann, asked = squidbot.Scope(user="ann"), {"role": "user", "content": "Where do I live, in Rome?"}
    with squidbot.load() as engine:
        engine.session("a-1", scope=ann).record({"role": "user", "content": "I live in Rome."}, "Noted.")
        assert explained("a-1")[0] | {"scope": None} == {
            "scope": None,
            "kept": 0,
            "in_head": 0,
            "in_index": 0,
            "after_first": 0,
            "answer_first": 0,
            "why": "",
            "others": [],
            "learned": True,
            "unread": 2,
        }
        assert "2 messages not yet read for facts: squidbot session jobs a-1 --run" in explained("a-1")[1]
        engine.run_jobs()
        for name, scope in (("a-2", ann), ("t", squidbot.Scope(thread="t"))):
            session = engine.session(name, scope=scope)
            session.assemble(asked["content"], tools=[squidbot.memory_tool()])
            session.record(asked)
    facts, text = explained("a-1")
    assert facts["why"] == "none was known by then"
    facts, text = explained("a-2")
    assert (facts["scope"]["user"], facts["kept"], facts["in_head"]) == ("ann", 1, 1)
    assert "shown: 1 in the profile, 1 named in the index, 0 of 1 after the first message" in text
    assert facts["why"] == "they are in the head"
    facts, text = explained("t")
    assert (facts["kept"], facts["learned"]) == (0, False)
    assert "facts: no user named, so those of this session alone; 0 kept" in text
    assert "Facts of user ann: 1; squidbot memory list --user ann" in text
    Path("squidbot.toml").write_text(f"{settings}in_prompt = false\n", encoding="utf-8")
    assert explained("a-2")[0]["why"] == "memory.in_prompt = false"
    Path("squidbot.toml").write_text(f"{settings}enabled = false\n", encoding="utf-8")
    assert explained("a-2")[0]["why"] == "memory.enabled = false"


def test_explain_counts_the_facts_after_the_first_message() -> None:
    """Those that were shown then."""
    Path("squidbot.toml").write_text('[store]\npath = "facts.db"\n', encoding="utf-8")
    asked = {"role": "user", "content": "What is the boat called?"}
    with squidbot.load() as engine:
        ann = squidbot.Scope(user="ann")
        engine.memories(ann).add(squidbot.NewMemory("The boat is called Dora.", trust="user"), now=1.0)
        session = engine.session("s", scope=ann)
        session.record(session.assemble(asked["content"]).incoming, "Dora.")
    facts, text = explained("s")
    assert (facts["after_first"], facts["answer_first"], facts["why"]) == (1, 1, "")
    assert "facts: user ann; 1 kept; shown: 0 in the head, 1 of 1 after the first message" in text


@pytest.mark.parametrize(
    ("window", "by_program", "here", "why"),
    [
        (
            700,
            1000,
            200,
            r"no room: a tenth of the request is \d\d tokens, this fact needs about \d\d; raise the budget",
        ),
        (8000, 10, 10, r"no room: memory.cold_start_tokens = 10 by the settings here, this fact needs about \d\d"),
        (8000, 10, 200, "the program did not show them; by the settings here there is room"),
    ],
)
def test_explain_names_the_limit_that_keeps_a_fact_out(window: int, by_program: int, here: int, why: str) -> None:
    """A tenth of the request where it is the smaller limit; else the setting, which the program may have set anew."""
    Path("squidbot.toml").write_text(f'[store]\npath = "facts.db"\n[memory]\ncold_start_tokens = {here}\n', "utf-8")
    settings = {"store": {"path": "facts.db"}, "memory": {"cold_start_tokens": by_program}}
    asked = {"role": "user", "content": "What is the boat called?"}
    with squidbot.load(settings) as engine:
        ann = squidbot.Scope(user="ann")
        fact = squidbot.NewMemory("The boat is called Dora, and lies in the old harbour of Genoa.", trust="user")
        engine.memories(ann).add(fact, now=1.0)
        session = engine.session("s", scope=ann, window_tokens=window)
        session.record(session.assemble(asked["content"]).incoming, "Dora.")
    facts, _ = explained("s")
    assert (facts["after_first"], facts["answer_first"]) == (0, 1)
    assert re.fullmatch(why, facts["why"])


def test_fact_of_another_line_is_marked() -> None:
    """Models don't see it, people do."""
    # `run_jobs` passes over what a thread has at hand, so there is none.
    settings = {"store": {"path": STORE}, "memory": {"extract": "rules"}, "summary": {"scheduler": "none"}}
    with squidbot.load(settings) as engine:
        session = engine.session("s", scope=squidbot.Scope(user="ann"))
        session.record({"role": "user", "content": "Hello."}, "Yes?", {"role": "user", "content": "I live in Rome."})
        engine.run_jobs()
        session.branch("m2")
    shown = run("list", "--user", "ann", "--store", STORE).stdout
    assert "live in Rome. (just now, m2 of session s, on another line)" in shown


def test_nothing_relevant_is_said_and_is_exit_code_1() -> None:
    """An honest no."""
    run("add", "Ann keeps bees.", "--store", STORE)
    assert "nothing relevant found" in run("search", "submarines", "--store", STORE, code=1).stdout


def test_facts_of_one_user_are_not_those_of_another() -> None:
    """In any command."""
    run("add", "Ann keeps bees.", "--user", "ann", "--store", STORE)
    assert found("search", "bees", "--user", "bob", code=1) == []
    assert found("list", "--user", "bob") == []
    assert len(found("list", "--user", "ann")) == 1
    (fact,) = found("list", "--user", "ann")
    assert "no memory has the id" in run("forget", fact["memory_id"], "--yes", "--store", STORE, code=1).stderr


def test_fact_takes_the_place_of_another_and_is_forgotten() -> None:
    """History where it is asked for; forgotten for good, after a question."""
    run("add", "Ann prefers tabs.", "--store", STORE)
    (old,) = found("list")
    run("add", "Ann prefers spaces.", "--replaces", old["memory_id"], "--store", STORE)
    assert [fact["text"] for fact in found("list")] == ["Ann prefers spaces."]
    assert {fact["text"] for fact in found("list", "--past")} == {"Ann prefers spaces.", "Ann prefers tabs."}
    asked = run("forget", old["memory_id"], "--store", STORE, text="n\n", code=1).stderr
    assert asked.startswith(f"{old['memory_id']}: Ann prefers tabs.\nForget 1 fact for good?")
    nobody = run("forget", old["memory_id"], "--store", STORE, code=1).stderr
    assert nobody.endswith("\nsquidbot: nobody is here to answer; pass --yes\n")
    assert len(found("list", "--past")) == 2
    run("forget", old["memory_id"], "--reason", "asked", "--store", STORE, text="y\n")
    assert [fact["text"] for fact in found("list", "--past")] == ["Ann prefers spaces."]
    assert b"tabs" not in Path(STORE).read_bytes()


def test_export_and_import_carry_everything() -> None:
    """Whole, history too; a second import changes nothing."""
    for number in range(12):
        run("add", f"Fact number {number} is about bees.", "--user", "ann", "--store", STORE)
    (newest, *_) = found("list", "--user", "ann")
    run("add", "Fact number 11 is about wasps.", "--user", "ann", "--replaces", newest["memory_id"], "--store", STORE)
    run("export", "out.jsonl", "--user", "ann", "--store", STORE)
    before = found("list", "--user", "ann", "--past", "--limit", "20")
    for _ in range(2):
        run("import", "out.jsonl", "--store", "other.db")
        said = json.loads(
            run("list", "--user", "ann", "--past", "--limit", "20", "--store", "other.db", "--json").stdout
        )
        assert said["memories"] == before
    assert run("export", "--user", "ann", "--store", "other.db").stdout == Path("out.jsonl").read_text(encoding="utf-8")
    as_json = run("export", "--user", "ann", "--store", "other.db", "--json").stdout
    assert as_json == Path("out.jsonl").read_text(encoding="utf-8")


def test_export_and_import_keep_what_was_brought_back_and_what_was_put_together() -> None:
    """What holds in one store holds in the other, and nothing else; what was there before is left alone."""
    run("add", "Ann prefers tea.", "--store", STORE)
    (tea,) = found("list")
    run("add", "Ann prefers coffee.", "--replaces", tea["memory_id"], "--store", STORE)
    run("restore", tea["memory_id"], "--store", STORE)
    run("add", "The port of the database is 5433.", "--store", STORE)
    run("add", "The port of the database: 5433.", "--category", "core", "--store", STORE)
    run("merge", "--yes", "--store", STORE)
    run("export", "out.jsonl", "--store", STORE)
    run("import", "out.jsonl", "--store", "other.db")
    for past in ([], ["--past"]):
        told = [run("list", *past, "--store", each, "--json").stdout for each in (STORE, "other.db")]
        assert json.loads(told[0])["memories"] == json.loads(told[1])["memories"]
    assert "until" not in run("list", "--store", "other.db").stdout
    (coffee,) = [one for one in found("list") if "coffee" in one["text"]]
    run("add", "Ann prefers mate.", "--replaces", coffee["memory_id"], "--store", "other.db")
    run("import", "out.jsonl", "--store", "other.db")
    assert "Ann prefers coffee" not in run("list", "--store", "other.db").stdout.partition("(until")[0]


def test_more_is_asked_for_with_options() -> None:
    """A model calls the tool again; a person has options."""
    for number in range(4):
        run("add", f"Bee number {number} is called {'abcd'[number] * 5}.", "--store", STORE)
    first = run("list", "--limit", "2", "--store", STORE).stdout
    (behind,) = re.findall(r"; more with --after (f-\w+)\]", first)
    assert (
        "no further memories\nThere are no more."
        in run(
            "list",
            "--after",
            run("list", "--after", behind, "--store", STORE).stdout.split("- ")[-1][:12],
            "--store",
            STORE,
        ).stdout
    )
    assert (
        "[scores are guesses; forget takes an id; more with --limit]"
        in run("search", "bee", "--limit", "1", "--store", STORE).stdout
    )


@pytest.mark.parametrize("line", ["nothing", "{}", "[]", '{"memory_id": 3}'])
def test_import_refuses_what_is_no_export(line: str) -> None:
    """File and line; nothing is added of the lines before."""
    run("add", "Ann keeps bees.", "--store", STORE)
    run("export", "out.jsonl", "--store", STORE)
    with Path("out.jsonl").open("a", encoding="utf-8") as out:
        out.write(f"{line}\n")
    done = run("import", "out.jsonl", "--store", "other.db", code=4)
    what = "line of an export: invalid JSON; nothing was added\n" if line == "nothing" else "fact of an export"
    assert f"out.jsonl:2: not a {what}" in done.stderr
    assert not Path("other.db").exists()


def test_looking_makes_no_file() -> None:
    """A misspelt name is said; so is that there is no file at all."""
    assert "none.db: no such file" in run("list", "--store", "none.db", code=1).stderr
    assert not Path("none.db").exists()
    assert "facts are in memory only" in run("list", code=2).stderr


def test_facts_of_the_settings_are_those_of_the_engine() -> None:
    """What a session's tool adds, the command line shows; in the file of the sessions where no other is named."""
    Path("squidbot.toml").write_text('[store]\npath = "sessions.db"\n', encoding="utf-8")
    with squidbot.load() as engine:
        session = engine.session("s", scope=squidbot.Scope(user="ann"))
        session.record("I keep bees.", "Nice.")
        answer = session.memory({"action": "add", "text": "Ann keeps bees."}, now=5.0)
        assert not answer.is_error
        assert "Ann keeps bees." in session.memory('{"action": "search", "query": "bees"}').text
        assert "Ann" not in engine.session("t").memory({"action": "search", "query": "bees"}).text
    (fact,) = json.loads(run("list", "--user", "ann", "--json").stdout)["memories"]
    assert (fact["text"], fact["trust"]) == ("Ann keeps bees.", "assistant")
    assert [*fact["sources"][0].values()][:3] == ["s", 1, 1]


def test_tool_may_only_read_where_the_settings_say_so() -> None:
    """And does nothing where memory is switched off."""
    with squidbot.load({"memory": {"write": False}}) as engine:
        assert engine.session("s").memory({"action": "add", "text": "Ann keeps bees."}).is_error
    with (
        squidbot.load({"memory": {"enabled": False}}) as engine,
        pytest.raises(squidbot.ConfigError, match="memory is off"),
    ):
        engine.session("s").memory({"action": "search", "query": "bees"})
    with (
        squidbot.load({"memory": {"provider": "sqlite3"}}) as engine,
        pytest.raises(squidbot.ConfigError, match="file"),
    ):
        engine.memories()


def test_facts_may_be_kept_in_a_file_of_their_own(tmp_path: Path) -> None:
    """Named by the settings, from Python and from the command line; sessions are never in it."""
    path = tmp_path / "facts.db"
    ann = squidbot.Scope(user="ann", bot="b")
    with squidbot.load({"memory": {"provider": "file", "path": str(path)}}) as engine:
        engine.session("s", scope=ann).memory({"action": "add", "text": "Ann keeps bees."})
    assert path.exists()
    Path("squidbot.toml").write_text(f'[memory]\nprovider = "file"\npath = "{path}"\n', encoding="utf-8")
    (fact,) = json.loads(run("list", "--user", "ann", "--bot", "b", "--json").stdout)["memories"]
    assert fact["text"] == "Ann keeps bees."
    with (
        squidbot.load({"memory": {"provider": "file"}, "store": {"path": str(tmp_path / "s.db")}}) as engine,
        pytest.raises(squidbot.ConfigError, match=r"set memory\.path"),
    ):
        engine.memories()


def test_secrets_are_not_kept() -> None:
    """By their shape, by their names, by patterns of one's own."""
    settings = {"memory": {"redact_patterns": ["bee-[0-9]+"]}}
    with squidbot.load(settings) as engine:
        session = engine.session("s")
        session.memory({"action": "add", "text": "Ann's bee-4711 lives in password: oak77."})
        said = session.memory({"action": "list"}).text
        assert "4711" not in said
        assert "oak77" not in said
        assert "lives in" in said


def test_of_several_facts_none_is_forgotten_where_one_is_not_there() -> None:
    """The error names it; an id that is given twice is one."""
    run("add", "Ann keeps bees.", "--store", STORE)
    (fact,) = found("list")
    assert (
        "no memory has the id 'f-nobody'"
        in run("forget", fact["memory_id"], "f-nobody", "--yes", "--store", STORE, code=1).output
    )
    assert found("list") == [fact]
    done = run("forget", fact["memory_id"], fact["memory_id"], "--yes", "--json", "--store", STORE)
    assert json.loads(done.stdout)["forgotten"] == [fact["memory_id"]]


def test_export_overwrites_nothing_and_says_so() -> None:
    """In our words; and a fact looks the same in a list and in an export."""
    run("add", "Ann keeps bees.", "--store", STORE)
    run("export", "out.jsonl", "--store", STORE)
    assert (
        "out.jsonl: already exists; choose another file name"
        in run("export", "out.jsonl", "--store", STORE, code=1).output
    )
    assert found("list") == [json.loads(Path("out.jsonl").read_text(encoding="utf-8"))]
    Path("bad.jsonl").write_text("{}", encoding="utf-8")
    assert (
        "bad.jsonl:1: not a fact of an export, it lacks" in run("import", "bad.jsonl", "--store", STORE, code=4).output
    )


def test_help_tells_each_command_in_a_line_that_is_not_cut() -> None:
    """Eighty columns are enough."""
    listed = run("--help").output.partition("Commands:")[2]
    assert "..." not in listed


def test_a_forgotten_fact_names_how_to_forget_the_one_that_it_replaced() -> None:
    """A command to run, and no question that nobody waits to have answered."""
    run("add", "Ann prefers tabs.", "--store", STORE)
    (old,) = found("list")
    run("add", "Ann prefers spaces.", "--replaces", old["memory_id"], "--store", STORE)
    (new,) = found("list")
    told = run("forget", new["memory_id"], "--yes", "--store", STORE).output
    assert f"To forget it, too: squidbot memory forget {old['memory_id']}" in " ".join(told.split())
