"""Points C1 to C5: what is said comes back, within the budget, valid, append-only, and is found again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.testing.hosts.children import KILLED, killed
from squidbot.testing.hosts.models import FACT, SAID
from squidbot.testing.hosts.opened import BUDGET, CHAT, home, opened, watched
from squidbot.testing.hosts.rules import broken_prefixes
from squidbot.testing.hosts.values import TOKEN_BYTES, Call, Step, ToolFailed

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.testing.hosts.programs import Host
    from squidbot.testing.hosts.values import Heard

__all__ = ["append_only", "bounded", "pairs", "recalled", "restarted"]

# A turn of so many steps, and in which of them a result is larger than the budget.
STEPS = 10
LARGE_AT = 4


def restarted(host: Host, folder: Path) -> None:
    """C1: another program, and one behind a killed process, has every item in order, and sends the same prefix."""
    with opened(host, home(folder, "closed")) as first:
        first.say(FACT)
        first.say("And the seal?")
    with opened(host, home(folder, "closed")) as second:
        second.say("And the cat?")
        before = first.wires()
        assert second.wires()[: len(before)] == before, "a new program sends the same prefix as the one before"
        due = [
            line for text in (FACT, "And the seal?", "And the cat?") for line in (("user", text), ("assistant", SAID))
        ]
        assert second.said() == due, f"all is there, in order: expected {due}, recorded {second.said()}"
    ended = killed(host, {"killed in a tool": home(folder, "tool"), "killed before an answer": home(folder, "answer")})
    for scene, code in ended.items():
        assert code == KILLED, f"the process that is {scene} gets there: it ended with {code}"
    known = [("user", FACT), ("assistant", SAID), ("user", "Look!"), ("call", "c1"), ("result", "c1")]
    for name in ("tool", "answer"):
        with opened(host, home(folder, name)) as run:
            left = run.said()
            # What was called last may be without a result: it gets one before the next request.
            assert left in (known, known[:-1]), f"a killed process leaves {known}: recorded {left}"
            assert name == "tool" or left == known, "a result is on record before the model is asked again"
            answer = run.say("What now?")
            assert answer == SAID, f"the next run goes on: it said {answer!r}"
            due = [*known, ("user", "What now?"), ("assistant", SAID)]
            assert run.said() == due, f"behind a killed process: expected {due}, recorded {run.said()}"
            for words in (FACT, "Look!"):
                assert words.encode() in run.whole(), f"{words!r}, said to the killed process, is sent again"


def bounded(host: Host, folder: Path) -> None:
    """C2: within budget in every call, inside of a turn of tools, too, with a result of three times the budget."""
    with opened(host, home(folder, "mem")) as run:
        run.talk()
        run.model.looks = lambda at: (
            f"result {at} " + "of a look at the shelf " * (3 * BUDGET * TOKEN_BYTES // 23 if at == LARGE_AT else 20)
        )
        run.scripted(lambda heard: _looks(heard, 2) if heard.number <= STEPS else Step(SAID))
        before = len(run.model.requests)
        run.say("Look at everything.")
        asked = len(run.model.requests) - before
        assert asked == STEPS + 1, f"a turn of {STEPS} steps asks {STEPS + 1} times: it asked {asked} times"
        text = run.text()
        lost = [at for at in range(1, STEPS + 1) if text.count(f"result {at} ") != 2]
        assert not lost, f"every result is recorded once for each call: not those of the steps {lost}"
        assert len(text) > 2 * 3 * BUDGET * TOKEN_BYTES, "what was cut for a request is recorded whole"


def _looks(heard: Heard, count: int) -> Step:
    at = heard.number
    return Step(calls=tuple(Call("look", {"at": at}, f"c{at}-{number}") for number in range(count)))


def pairs(host: Host, folder: Path) -> None:
    """C3: calls at once, one of which fails; and calls left open by a run that was broken off."""

    def looks(at: int) -> str:
        if at == 2:
            raise ToolFailed("there is no such shelf")
        return f"result {at}"

    with opened(host, home(folder, "mem")) as run:
        run.say(FACT)
        run.model.looks = looks
        calls = tuple(Call("look", {"at": at}, f"c{at}") for at in (1, 2, 3))
        run.scripted(lambda heard: Step(calls=calls) if heard.number == 1 else None)
        run.say("Look thrice!")
        due = sorted([*(("call", each.call_id) for each in calls), *(("result", each.call_id) for each in calls)])
        found = sorted(line for line in run.said() if line[0] in ("call", "result"))
        assert found == due, f"calls at once each have one result: expected {due}, recorded {found}"
        assert "no such shelf" in run.text(), "what a tool that failed said is recorded"
        held = (Call("look", {"at": -1}, "h1"), Call("look", {"at": -1}, "h2"))
        run.scripted(lambda heard: Step(calls=held) if heard.number == 1 else None)
        run.program.cancel("Wait!", CHAT)
    with opened(host, home(folder, "mem")) as run:
        assert run.say("What now?") == SAID, "the run behind a broken off one goes on"
        assert b"cancelled" in run.whole(), "a call that was broken off has a result that says so"
        found = sorted(line for line in run.said() if line[1] in ("h1", "h2"))
        due = [("call", "h1"), ("call", "h2"), ("result", "h1"), ("result", "h2")]
        assert found == due, f"calls that were broken off: expected {due}, recorded {found}"


def append_only(host: Host, folder: Path) -> None:
    """C4: each request begins with the one before, byte for byte, but where a view plan was recorded between."""
    with opened(host, home(folder, "mem")) as run, watched(run):
        run.talk()
        run.scripted(lambda heard: _looks(heard, 1) if heard.number <= 5 else None)
        run.say("Look around.")
        run.unscripted()
        run.say("And then?")
        broken = broken_prefixes(run.model.requests, run.model.planned)
        assert not broken, f"requests extend each other: {'; '.join(broken[:2])}"
        plans = len(set(run.model.planned))
        assert plans > 1, "the talk is long enough for a plan to change, else this would show nothing"


def recalled(host: Host, folder: Path) -> None:
    """C5: the model searches for what is no longer in view, gets the original words, and answers with them."""
    with opened(host, home(folder, "mem")) as run:
        turns = run.talk() + 1
        answer = run.say("RECALL what the walrus is called.")
        assert FACT.encode() not in run.whole(-2), "the fact is out of view when it is asked for"
        assert FACT.encode() in run.whole(), "what was found is sent to the model, word by word"
        assert "Brunhilde" in answer, f"the answer is made of what was found: {answer[:200]!r}"
        assert len([line for line in run.said() if line[0] == "user"]) == turns, "every turn is recorded"
