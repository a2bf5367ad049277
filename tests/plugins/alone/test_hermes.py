"""squidbot in hermes-agent: the real package, its own agent loop, a server on this machine that holds it to the rules.

hermes pins all that it needs: these run in an environment of their own, which test_own_environments.py starts.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from copy import deepcopy
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from cli import HermesCLI

import squidbot
from squidbot.cli.status import hosts_found
from squidbot.core.errors import ConfigError
from squidbot.plugins import hermes
from squidbot.plugins.hermes import SquidbotEngine
from squidbot.testing import HOST_CHECKS, check_host_plugin
from squidbot.testing.hosts import (
    CHAT,
    FACT,
    FILLER,
    SAID,
    Model,
    ScriptedCall,
    ScriptedStep,
    Setting,
    listening,
    once,
    opened,
)

from .program_hermes import ECHOING, HOST, SEALING, Program, program
from .server import CALL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from squidbot.testing.hosts import HostDriver, OpenProgram

ROOT = Path(__file__).parents[3]

pytestmark = [
    pytest.mark.hermes,
    # hermes leaves connections and files to the garbage collector, and uses what its packages call old.
    pytest.mark.filterwarnings("ignore"),
]


LONG = "300 steps"
POINTS = [pytest.param(point, marks=pytest.mark.slow) if point == LONG else point for point in HOST_CHECKS]


@pytest.mark.parametrize("point", POINTS)
def test_hermes_passes_the_check_of_hosts(point: str, tmp_path: Path) -> None:
    """Each point of the conformance list."""
    check_host_plugin(HOST, tmp_path, point)


@pytest.mark.parametrize("host", [SEALING, ECHOING], ids=["sealed", "echoed"])
def test_what_a_model_thought_is_sent_back_whole_or_not_at_all(host: HostDriver, tmp_path: Path) -> None:
    """C14, for providers that are sent reasoning back: sealed, or as they wrote it."""
    check_host_plugin(host, tmp_path, "C14 reasoning")


# -- what only hermes does --------------------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path: Path) -> Iterator[OpenProgram]:
    """A program with squidbot in it."""
    with opened(HOST, tmp_path / "mem.db") as made:
        yield made


def _engine(run: OpenProgram) -> SquidbotEngine:
    engine = run.program.agent(CHAT).context_compressor  # type: ignore[attr-defined]  # ours
    assert isinstance(engine, SquidbotEngine)
    return engine


def _native(run: OpenProgram) -> list[dict[str, Any]]:
    listed: Any = run.program.history(CHAT)
    return [*listed]


def test_an_engine_that_is_at_work_is_copied_for_another_agent(run: OpenProgram) -> None:
    """A deep copy, whatever the engine has open."""
    run.say(FACT)
    engine = _engine(run)
    copied = deepcopy(engine)
    assert copied is not engine
    assert copied._runtime is engine._runtime
    assert (copied.conversation_id, engine.conversation_id) == ("", CHAT)
    copied.update_model("other", 100_000)
    assert (engine.context_length, copied.context_length) == (1_000_000, 100_000)


def _by_hand(run: OpenProgram, act: str, *given: int) -> str | None:
    """Do what hermes's chat does at /undo or /retry, in its own words, and return the message to send again."""
    program: Any = run.program
    chat: Any = SimpleNamespace(
        conversation_history=_native(run),
        agent=program.agent(CHAT),
        session_id=CHAT,
        _session_db=program.db,
        _undo_content_to_text=HermesCLI._undo_content_to_text,
    )
    again: str | None = getattr(HermesCLI, act)(chat, *given, **({"prefill": False} if act == "undo_last" else {}))
    program._lists[CHAT] = chat.conversation_history
    return again


def _asked(run: OpenProgram) -> list[str]:
    """Return what the user says in the newest request."""
    return [each.text for each in run.model.requests[-1].messages if each.role == "user"]


def test_what_is_undone_in_the_chat_is_not_sent_again(run: OpenProgram) -> None:
    """One turn, two, and all of them; then an answer is made again."""
    for text in ("one", "two", "three"):
        run.say(text)
    _by_hand(run, "undo_last", 1)
    run.say("three instead")
    assert _asked(run) == ["one", "two", "three instead"]
    _by_hand(run, "undo_last", 2)
    run.say("two instead")
    assert _asked(run) == ["one", "two instead"]
    again = _by_hand(run, "retry_last")
    assert again == "two instead"
    run.say(again)
    assert _asked(run) == ["one", "two instead"]
    assert [each.role for each in run.model.requests[-1].messages if each.role != "system"] == [
        "user",
        "assistant",
        "user",
    ]
    _by_hand(run, "undo_last", 9)
    run.say("from the beginning")
    assert _asked(run) == ["from the beginning"]
    run.say("on")
    assert _asked(run) == ["from the beginning", "on"]


def test_calls_of_our_tools_at_once_are_all_answered(run: OpenProgram) -> None:
    """Each in a thread of its own."""
    calls = tuple(ScriptedCall("memory_search", {"query": word}, word) for word in ("walrus", "harbour"))
    run.say(FACT)
    run.scripted(once(ScriptedStep(calls=calls)))
    answer = run.say("Look twice.")
    assert answer.count("Brunhilde") >= 2
    run.scripted(
        lambda request: (
            ScriptedStep(calls=(ScriptedCall("memory_add", {"text": "The seal is old."}, "a1"),))
            if request.number == 1
            else None
        )
    )
    run.say("Keep it.")
    run.scripted(once(ScriptedStep(calls=(ScriptedCall("history", {"id": "m0"}, "h9"),))))
    assert FACT in run.say("What did I say first?")
    run.unscripted()
    assert "The seal is old." in run.say("RECALL seal")


def test_what_hermes_asks_beside_a_conversation_is_left_alone(run: OpenProgram) -> None:
    """Its review of a conversation goes on under the conversation's id, with words that nobody said."""
    run.say(FACT)
    before = run.said()
    run.program.agent(CHAT)._memory_write_origin = "background_review"  # type: ignore[attr-defined]  # ours
    run.say("Review the conversation above.")
    assert run.said() == before
    run.program.agent(CHAT)._memory_write_origin = "assistant_tool"  # type: ignore[attr-defined]  # ours
    run.say("And now?")
    assert run.said()[-2:] == [("user", "And now?"), ("assistant", SAID)]


def test_the_list_is_made_shorter_by_hand(run: OpenProgram) -> None:
    """`/compress`: all is recorded, what is left is valid, and the next request has what fits, as before."""
    run.talk()
    before, listed = run.said(), _native(run)
    made, _ = run.program.agent(CHAT)._compress_context(listed, None, force=True)  # type: ignore[attr-defined]  # ours
    assert 0 < len(made) < len(listed)
    assert made[0]["role"] == "user"
    assert _engine(run).compression_count == 1
    assert run.program.run("And now?", CHAT, made) == SAID
    assert run.said() == [*before, ("user", "And now?"), ("assistant", SAID)]
    assert FACT in run.say("RECALL what the walrus is called.")


@pytest.mark.parametrize("wanted", [("0", "done"), ("0", "1", "2"), ("done",), ("1", "calls"), ()])
def test_a_shorter_list_has_no_neighbours_that_hermes_would_join(wanted: tuple[str, ...]) -> None:
    """Hermes joins two messages of the user, or of the model: what it joined was not said, and would be recorded."""
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    step = {"role": "assistant", "content": "calls", "tool_calls": [call]}
    turns: list[list[dict[str, Any]]] = [
        [{"role": "user", "content": str(turn)}, {"role": "assistant", "content": "done"}] for turn in range(4)
    ]
    turns[1][1:1] = [step, {"role": "tool", "content": "calls", "tool_call_id": "c1"}]
    listed = [*(each for turn in turns for each in turn), {"role": "user", "content": "now"}]
    made = hermes.shortened(listed, lambda message: message["content"] in wanted)
    assert made[0]["role"] == "user"
    assert made[-1] == listed[-1]
    assert len(made) < len(listed)
    assert all(first["role"] != second["role"] for first, second in pairwise(made))


def test_a_conversation_goes_on_when_hermes_gives_it_another_id(tmp_path: Path) -> None:
    """Behind a list that was made shorter hermes goes on under a new id, in a new process, too."""
    host = replace(HOST, make=partial(Program, config={"compression": {"in_place": False}}))
    with opened(host, tmp_path / "mem.db") as run:
        for number in range(4):
            run.say(f"{number}: {FILLER}")
        run.scripted(once(ScriptedStep(error="too_long")))
        run.say("Once more.")
        moved = run.program.agent(CHAT).session_id  # type: ignore[attr-defined]  # ours
        assert moved != CHAT
        run.unscripted()
        run.say("And then?")
        assert run.said(moved) == []
        assert len([line for line in run.said() if line[0] == "user"]) == 6
    with opened(host, tmp_path / "mem.db") as run:
        run.say("And the cat?", moved)
        assert run.said()[-2:] == [("user", "And the cat?"), ("assistant", SAID)]
        assert b"Once more." in run.whole()


def test_words_that_hermes_merges_are_recorded_once(run: OpenProgram) -> None:
    """What nobody answered hermes joins with what is said next."""
    run.scripted(once(ScriptedStep(error="failed")))
    assert run.fails("Look!")
    run.unscripted()
    for text in ("What now?", "And then?"):
        run.say(text)
    assert [text for role, text in run.said() if role == "user"] == ["Look!", "What now?", "And then?"]
    assert run.model.requests[-2].messages[1].text == "Look!\n\nWhat now?"


def test_a_reply_that_hermes_drops_is_not_recorded(run: OpenProgram) -> None:
    """Calls whose arguments are no JSON it asks for again."""
    run.say(FACT)
    broken = {"role": "assistant", "content": "", "tool_calls": [
        {"index": 0, "id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1'[:-1] + "}x}"}}
    ]}  # fmt: skip
    run.scripted(once(ScriptedStep(native=broken)))
    assert run.say("Look!") == SAID
    assert run.said()[2:] == [("user", "Look!"), ("assistant", SAID)]


def test_requests_of_responses_are_left_alone(tmp_path: Path) -> None:
    """What hermes sends as `input` goes out as it is; that is said once."""
    with opened(HOST, tmp_path / "mem.db") as run, listening() as told:
        runtime = _engine(run)._runtime
        asked: list[dict[str, Any]] = []
        listed = [{"role": "user", "content": "Hi"}]
        request = {"input": listed}
        for number in range(2):
            runtime.pre_api_request(
                api_request_id=f"{number}", conversation_history=[{"role": "user", "content": "Hi"}]
            )
            runtime.llm_execution(
                request=request,
                next_call=asked.append,
                session_id=CHAT,
                api_request_id=f"{number}",
                api_mode="codex_responses",
            )
        assert [each is request for each in asked] == [True, True]
        assert len(told.lines) == 1
        assert "does not limit them" in told.lines[0]


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({"stor": "x"}, "unknown key squidbot.stor"),
        ({"budget": -1}, "budget must be"),
        ({"store": "x.db", "settings": "squidbot.toml"}, "pass a store or a settings file"),
    ],
)
def test_what_config_yaml_says_wrongly_is_named(told: dict[str, object], why: str) -> None:
    """The text names the key; hermes shows it, and goes on with its own engine."""
    with pytest.raises(ConfigError, match=why):
        hermes.opened(told)


def test_why_squidbot_does_nothing_is_told_without_an_agent(tmp_path: Path) -> None:
    """By the switch that is missing."""
    model = Model(None)
    for config, why in (
        ({}, ""),
        ({"plugins": {"enabled": []}}, "plugins.enabled"),
        ({"plugins": {"enabled": ["squidbot"], "disabled": ["squidbot"]}}, "plugins.enabled"),
        ({"context": {"engine": "lcm"}}, "'lcm'"),
    ):
        with program(Setting(tmp_path / "mem.db", model), config=config):
            assert why in hermes.inactive()
            assert bool(why) == bool(hermes.inactive())
            nowhere = {"adapter": "stdlib", "path": ""}
            (found,) = [each for each in hosts_found(nowhere, "") if each["extra"] == "hermes"]
            assert found["active"] == (not why)
            assert why in found["reason"]
            kept = f"turned on in its config.yaml; it keeps conversations in {tmp_path / 'mem.db'}"
            assert why or found["reason"] == kept


# -- what is told of it, and what it shares with others ----------------------------------------------------------------


def test_points_that_hermes_can_t_meet_are_documented() -> None:
    """Word by word, as the driver gives the reason."""
    page = " ".join((ROOT / "docs" / "hosts" / "hermes.md").read_text("utf-8").split())
    for point, otherwise in HOST.otherwise.items():
        assert otherwise.reason in page, point


def test_the_line_of_the_first_page_switches_squidbot_on(tmp_path: Path) -> None:
    """By hermes's own commands, in a home of its own."""
    (line,) = re.findall(
        r"^\| .+ \| `'\.\[hermes,view]'` \| `(.+)` \|$", (ROOT / "docs" / "start.md").read_text("utf-8"), re.MULTILINE
    )
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    told = {**os.environ, "HERMES_HOME": str(tmp_path), "PATH": path}
    asks = f"{sys.executable} -c 'from squidbot.plugins import hermes; print([hermes.inactive()])'"
    found = [
        subprocess.run(  # noqa: S602  # what is written is what is tested
            command,
            cwd=tmp_path,
            env=told,
            shell=True,
            capture_output=True,
            text=True,
            check=True,
            stdin=subprocess.DEVNULL,
        ).stdout
        for command in (asks, line, asks)
    ]
    assert "plugins.enabled" in found[0]
    assert found[2].endswith("['']\n"), found


SAID_ELSEWHERE: dict[str, list[dict[str, Any]]] = {
    "openai.chat": [
        {"role": "user", "content": FACT},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "a seal"},
        {"role": "assistant", "content": "Aye."},
    ],
    "anthropic.messages": [
        {"role": "user", "content": FACT},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 1}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "a seal"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Aye."}]},
    ],
}


@pytest.mark.parametrize("form", SAID_ELSEWHERE)
def test_a_conversation_of_another_host_goes_on_in_hermes(form: str, tmp_path: Path) -> None:
    """By its id alone: valid there, found there, and recorded once."""
    path = tmp_path / "mem.db"
    with squidbot.load({"store": {"path": str(path)}}) as engine:
        engine.session(CHAT, form=form).record(*SAID_ELSEWHERE[form])
    with opened(HOST, path) as run:
        for text in ("And now?", "And then?"):
            run.say(text)
        request = run.model.requests[-1].messages
        assert [each.text for each in request if each.role == "user"] == [FACT, "And now?", "And then?"]
        assert [name for each in request for name in (*each.call_ids, *each.result_ids)] == ["c1", "c1"]
        assert [text for role, text in run.said() if role == "user"] == [FACT, "And now?", "And then?"]


def test_wrong_settings_are_said_and_stop_nothing(tmp_path: Path) -> None:
    """C8, C17: a key that there is none of."""
    with opened(HOST, tmp_path / "mem.db", settings={"budget": {"countre": "bytes"}}) as run:
        run.model.budget = None
        with listening() as told:
            assert [run.say("Hello!"), run.say("Hello again!")] == [SAID, SAID]
        assert any("countre" in line for line in told.lines)
        assert len(told.lines) == len(set(told.lines))


def test_an_example_tells_what_it_remembers(tmp_path: Path) -> None:
    """examples/in_hermes.py, as it stands there."""
    file = ROOT / "examples" / "in_hermes.py"
    assert file.read_text("utf-8").count("\n") <= 30
    ended = subprocess.run(
        [sys.executable, str(file)], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=100
    )
    assert "['Messages that I see: 2.', 'Messages that I see: 4.']" in ended.stdout, ended.stdout + ended.stderr
