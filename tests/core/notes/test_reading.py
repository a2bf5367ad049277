"""Reading messages into lines: files, commands, calls of unknown tools, what was asked and said, and what is worth."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.messages import Category, Message, Role, ToolCall
from squidbot.core.notes.calls import _NO_ERROR, ERROR, changed_files, failure, written_by_shell
from squidbot.core.notes.extract import NoteKind, NoteLine, NoteMaterial, NoteUnit, asked_of, read
from squidbot.core.text import bounded
from squidbot.core.view.marks import fence


def said(role: Role, text: str, *calls: ToolCall, results: tuple[str, ...] = ()) -> Message:
    """Return a message; its payload plays no part here."""
    return Message(role, text, "", "test", calls=calls, results=results)


def call(call_id: str, name: str, **arguments: object) -> ToolCall:
    """Return a call with its arguments as JSON text."""
    return ToolCall(call_id, name, json.dumps(arguments))


def heads(*messages: Message, users_verbatim: bool = True) -> list[str]:
    """Return the heads of the lines that could be written."""
    return [line.head for line in read(messages, users_verbatim=users_verbatim).lines.values()]


def test_read_puts_all_calls_on_one_file_in_one_line() -> None:
    """The artifact trail: which tools, how often, on which file; it stands where the last call stood."""
    lines = heads(
        said("assistant", "", call("1", "read", path="src/cart.py")),
        said("assistant", "", call("2", "edit", path="src/cart.py", old="a", new="b")),
        said("assistant", "", call("3", "read", path="src/tax.py")),
        said("assistant", "", call("4", "edit", path="src/cart.py", old="b", new="c")),
    )
    assert lines == ["read src/tax.py", "read, edit x2 src/cart.py"]


def test_read_ranks_a_changed_file_above_one_that_was_only_read() -> None:
    """Changes are what a later step must know."""
    reading = read(
        [said("assistant", "", call("1", "read", path="a/b.py"), call("2", "write_file", path="a/c.py", text=""))],
        users_verbatim=True,
    )
    assert reading.lines["file a/c.py"].weight > reading.lines["file a/b.py"].weight


def test_read_counts_a_repeated_command_and_tells_how_it_ended() -> None:
    """A failure that was mended is told as such; one that stands is told in full."""
    run, failing = call("1", "bash", command="npm test"), call("2", "bash", command="npm run lint")
    lines = heads(
        said("assistant", "", run),
        said("tool", "1 failed, 2 passed", results=("1",)),
        said("assistant", "", ToolCall("3", run.name, run.arguments)),
        said("tool", "3 passed", results=("3",)),
        said("assistant", "", failing),
        said("tool", "src/cart.ts(4,10): error TS2304: no name", results=("2",)),
    )
    assert lines == [
        "bash: npm test x2 -> ok at last, before: 1 failed, 2 passed",
        "bash: npm run lint -> src/cart.ts(4,10): error TS2304: no name",
    ]


PATCH = """*** Begin Patch
*** Update File: src/cart.ts
@@
-const total = sum
+const total = roundCents(sum)
*** Add File: src/money.ts
+export function roundCents(value) {
*** Delete File: src/old_cart.ts
*** End Patch"""
DIFF = """--- a/src/cart.ts
+++ b/src/cart.ts
@@ -1 +1 @@
-const total = sum
+const total = roundCents(sum)"""


@pytest.mark.parametrize("arguments", [PATCH, json.dumps({"input": PATCH}), json.dumps({"command": f"x <<E\n{PATCH}"})])
def test_a_patch_is_told_by_the_files_that_it_changes(arguments: str) -> None:
    """As text or in an argument: a line for each file, with what is written there; how it ended stands in all."""
    made = said("assistant", "", ToolCall("1", "apply_patch", arguments))
    lines = read([made, said("tool", "Done!", results=("1",))], users_verbatim=True).lines
    assert [line.head for line in lines.values()] == [
        "apply_patch src/cart.ts",
        "apply_patch src/money.ts",
        "apply_patch src/old_cart.ts",
    ]
    assert "roundCents" in lines["file src/money.ts"].words
    assert not any(line.words for subject, line in lines.items() if subject == "file src/old_cart.ts")
    failed = read([made, said("tool", "Error: no such hunk", results=("1",))], users_verbatim=True).lines
    assert all(line.head.endswith(" -> Error: no such hunk") for line in failed.values())


PIECES = st.sampled_from(["*** Add File:", "*** Update File: ", "--- a/", "+++ b/", " ", "\n", "\r", "a.py", "x" * 400])


@given(pieces=st.lists(PIECES, max_size=12), twice=st.booleans())
def test_what_looks_like_a_patch_is_read_whatever_it_is(pieces: list[str], twice: bool) -> None:  # noqa: FBT001 - a property
    """A line without a path is none of a patch; each call has at least one line, each with a head."""
    made = said("assistant", "", *(ToolCall(str(at), "patch", "".join(pieces)) for at in range(1 + twice)))
    lines = read([made, said("tool", "Error: no", results=("0",))], users_verbatim=True).lines
    assert lines
    assert all(line.head.strip() for line in lines.values())
    assert "file " not in lines


def test_a_diff_is_a_patch_and_the_tool_for_a_file_is_none() -> None:
    """A call that names its file is about that one, whatever it writes."""
    assert heads(said("assistant", "", call("1", "patch", diff=DIFF))) == ["patch src/cart.ts"]
    assert heads(said("assistant", "", call("1", "write", path="a.diff", text=DIFF))) == ["write a.diff"]
    assert heads(said("assistant", "", call("1", "bash", command="echo '*** Update'")))[0].startswith("bash: echo")


@pytest.mark.parametrize(
    "arguments",
    [
        {"todos": [{"content": "Round it", "status": "completed"}, {"content": "Test it", "status": "in_progress"}]},
        {"plan": [{"step": "Round it", "status": "completed"}, {"step": "Test it", "status": "in_progress"}]},
    ],
)
def test_a_list_of_what_is_to_do_is_told_in_its_newest_state(arguments: dict[str, object]) -> None:
    """Of each agent's tool: how much is done, and each step that is open; what it was before is not told."""
    before = call("1", "plan", steps=[{"title": "Ask", "status": "pending"}, {"title": "Test it", "status": "pending"}])
    (line,) = read(
        [said("assistant", "", before), said("assistant", "", call("2", "plan", **arguments))],
        users_verbatim=True,
    ).lines.values()
    assert line.head == "plan: 1 of 2 done"
    assert list(line.words) == ["[completed] Round it", "[in_progress] Test it"]
    done, opened = (weight for _, weight, _ in line.words.values())
    assert opened > 10 * done


@pytest.mark.parametrize("steps", [[], [1, 2], [{"status": "done"}], [{"step": "Go"}], ["[" * 50_000], [[[[]]]]])
def test_what_is_no_list_of_steps_is_a_call_as_any_other(steps: list[object]) -> None:
    """Nothing is made up of other lists."""
    (head,) = heads(said("assistant", "", call("1", "plan", steps=steps)))
    assert head.startswith("plan")
    assert "done" not in head or "status" in head


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("cat > src/cart.py <<'EOF'\nTOTAL_CENTS = 0\nEOF\n", ["bash write src/cart.py"]),
        ("cat <<EOF >> src/cart.py\nTOTAL_CENTS = 0", ["bash write src/cart.py"]),
        ("tee -a src/cart.py <<-END\n\tTOTAL_CENTS = 0\n\tEND\n", ["bash write src/cart.py"]),
        (
            "mkdir src && cat > src/cart.py <<'A'\nTOTAL_CENTS = 0\nA\ncat > b.py <<'B'\n1\nB\npytest -q",
            ["bash: mkdir src && cat > src/cart.py <<'A' pytest -q", "bash write src/cart.py", "bash write b.py"],
        ),
        ("git commit -m \"$(cat <<'EOF'\nRound > half\nEOF\n)\"", None),
        ('cat > "$made" <<EOF\n1\nEOF', None),
        ("grep '<<<<<' src/cart.py\n", None),
    ],
)
def test_what_a_shell_command_writes_is_told_by_the_file(command: str, told: list[str] | None) -> None:
    """With what it writes there, and what else it does; other texts in a command, and a path unknown, are none."""
    made = call("1", "bash", command=command)
    lines = read([said("assistant", "", made), said("tool", "Error: full", results=("1",))], users_verbatim=True).lines
    if told is None:
        assert len(lines) == 1
        assert changed_files(made) == []
    else:
        assert [line.head for line in lines.values()] == [f"{head} -> Error: full" for head in told]
        assert "TOTAL_CENTS" in lines["file src/cart.py"].words
        assert changed_files(made)[0] == "src/cart.py"


SHELL = st.sampled_from(
    ["cat > a.py <<", "tee b.py <<'", "EOF", "'", "\n", "\t", " && ", "<<-X", "> ", "$x", "x" * 400]
)


@given(st.lists(SHELL, max_size=14).map("".join))
def test_what_looks_like_a_shell_command_is_read_whatever_it_is(command: str) -> None:
    """Nothing is told twice, and nothing of it is lost but what ends a text."""
    files, rest = written_by_shell(command)
    assert all(path in command and said in command for path, said in files)
    assert sum(len(said) for _, said in files) + len(rest) <= len(command)
    assert heads(said("assistant", "", call("1", "bash", command=command)))


NO = "The user doesn't want to proceed with this tool use. The tool use was rejected"


@pytest.mark.parametrize(
    "output",
    [
        f"{NO}. STOP what you are doing and wait.",
        "Error: The user rejected permission to use this specific tool call.",
        "[Operation Cancelled] Reason: User denied execution.",
        "exec command rejected by user",
        "User rejected the tool call for `bash` with id 1",
        "Tool execution was not approved.",
        "The tool call was denied.",
    ],
)
def test_a_call_that_the_user_refused_is_no_call_that_ran(output: str) -> None:
    """Each agent's program has its own words for it."""
    made = said("assistant", "", call("1", "bash", command="git push"))
    assert heads(made, said("tool", output, results=("1",))) == ["bash: git push -> refused by the user"]


@pytest.mark.parametrize(
    "output",
    [
        f"{NO}. To tell you how to proceed, the user said:\nNo push before the tests of round_half pass!",
        "The user rejected permission to use this with feedback: No push before the tests of round_half pass!",
    ],
)
def test_what_the_user_said_in_refusing_a_call_is_told_as_the_users_words(output: str) -> None:
    """A decision of the user's: with what was refused, beside the call; quoted, for it stands in a tool's output."""
    made = said("assistant", "", call("1", "bash", command="git push"))
    lines = read([made, said("tool", output, results=("1",))], users_verbatim=True, first_seq=7).lines
    line = lines[asked_of(8)]
    assert line.head == 'refused bash: git push, "No push before the tests of round_half pass!"'
    assert (line.kind, "round_half" in line.words) == (NoteKind.ASKED, True)
    assert lines["call bash " + made.calls[0].arguments].head == "bash: git push -> refused by the user"


def test_a_file_that_speaks_of_refusals_refuses_nothing() -> None:
    """What a refusal says stands at the beginning."""
    made = said("assistant", "", call("1", "read", path="a.md"))
    text = "# Permissions\n\nWhere the user rejected a call, the user said: why.\n"
    assert heads(made, said("tool", text, results=("1",))) == ["read a.md"]


def test_a_task_is_told_in_its_newest_state() -> None:
    """Agents make and update them one by one: an open one is told with its words, one that is done hardly ever."""
    messages = [
        said(
            "assistant", "", *(call(str(at), "TaskCreate", subject=f"Round {at}", description="x") for at in (1, 2, 3))
        ),
        *(said("tool", f"Task #{at} created successfully: Round {at}", results=(str(at),)) for at in (1, 2, 3)),
        said("assistant", "", call("4", "TaskUpdate", taskId="1", status="completed")),
        said("tool", "Updated task #1 status", results=("4",)),
        said("assistant", "", call("5", "TaskUpdate", taskId=2, status="in_progress")),
        said("tool", "Updated task #2 status", results=("5",)),
    ]
    lines = read(messages, users_verbatim=True).lines
    assert {subject: line.head for subject, line in lines.items()} == {
        "task 3": "TaskCreate 3 [pending]",
        "task 1": "TaskUpdate taskId 1 [completed]",
        "task 2": "TaskUpdate taskId 2 [in_progress]",
    }
    assert [list(line.words) for line in lines.values()] == [["Round 3"], ["Round 1"], ["Round 2"]]
    done, opened = lines["task 1"], lines["task 2"]
    assert opened.weight > 10 * done.weight
    assert opened.faded["Round 2"][1] > 10 * done.faded["Round 1"][1]


def test_read_tells_what_a_call_is_for() -> None:
    """In the agent's own words: the first sentence of its description, and no other argument, is read as speech."""
    given = call("1", "bash", command="go test ./...", description="Check the rounding again. Then commit.", cwd="/srv")
    (line,) = read([said("assistant", "", given)], users_verbatim=True).lines.values()
    assert line.head == "bash: go test ./..."
    assert list(line.sentences) == ["Check the rounding again."]


def test_read_shows_what_a_short_command_gave() -> None:
    """A branch, a commit, a count: the outcome in the tool's own words."""
    reading = read(
        [
            said("assistant", "", call("1", "bash", command="git checkout -b tax")),
            said("tool", "Switched to a new branch 'tax'", results=("1",)),
        ],
        users_verbatim=True,
    )
    assert [text for line in reading.lines.values() for text, (label, *_) in line.words.items() if label == "gave"] == [
        "Switched to a new branch 'tax'"
    ]


@pytest.mark.parametrize(
    ("name", "arguments", "head"),
    [
        ("lookup", '{"customer": "4711", "limit": 3}', "lookup(customer: 4711, limit: 3)"),
        ("think", json.dumps({"thought": "The card was declined. " * 20}), "think: The card was declined. The card"),
        ("ping", "{}", "ping()"),
        ("ping", "", "ping()"),
        ("legacy", "city=Lyon", "legacy(city=Lyon)"),
        ("edit", '{"path": "src/cart.py", "new": "broken', "edit src/cart.py"),
        ("str_replace_editor", '{"command": "view", "path": "/shop/cart.py"}', "str_replace_editor /shop/cart.py"),
        ("grep", '{"pattern": "taxRate", "path": "src"}', "grep(pattern: taxRate, path: src)"),
        ("open", '{"file": "Makefile.am"}', "open Makefile.am"),
    ],
)
def test_read_names_any_tool_by_the_shape_of_its_arguments(name: str, arguments: str, head: str) -> None:
    """No tool is known by name: a file, a command, short arguments, or the start of the longest, broken JSON too."""
    assert heads(said("assistant", "", ToolCall("1", name, arguments)))[0].startswith(head)


def test_read_keeps_long_arguments_out_of_the_head() -> None:
    """A file's new text is no subject; the names in it stand behind the head."""
    reading = read(
        [said("assistant", "", call("1", "write", path="src/tax.py", content="def tax_rate():\n    return 1\n" * 50))],
        users_verbatim=True,
    )
    line = reading.lines["file src/tax.py"]
    assert line.head == "write src/tax.py"
    assert line.words["tax_rate"][0] == "wrote"


def test_read_prefers_what_was_written_to_what_was_shown() -> None:
    """A name that a tool showed and the assistant then wrote is listed as written."""
    reading = read(
        [
            said("assistant", "", call("1", "read", path="src/tax.py")),
            said("tool", "def tax_rate(): ...", results=("1",)),
            said("assistant", "", call("2", "edit", path="src/tax.py", new="return tax_rate")),
        ],
        users_verbatim=True,
    )
    assert reading.lines["file src/tax.py"].words["tax_rate"][0] == "wrote"


def test_read_takes_a_result_without_its_call() -> None:
    """The call stands in an older block: the result is told by its first line."""
    assert heads(said("tool", "\n  total: 4 items\nmore", results=("gone",))) == ["tool result: total: 4 items"]


def test_read_leaves_users_out_when_they_are_sent_word_for_word() -> None:
    """They follow the notes; otherwise what was asked comes first of all."""
    message = said("user", "Hello! Please round the tax in src/cart.ts to cents. Thanks!")
    assert heads(message) == []
    assert heads(message, users_verbatim=False) == ["asked: Please round the tax in src/cart.ts to cents."]


def test_read_opens_a_reply_with_the_sentence_that_tells_most() -> None:
    """Not with the courtesy in front of it."""
    text = "Great question! Let me see. The root cause is a stale `tax_rate` in the cache. Shall I go on?"
    assert heads(said("assistant", text)) == ["said: The root cause is a stale `tax_rate` in the cache."]


def test_read_knows_code_from_prose_in_a_reply() -> None:
    """Fenced code defines and imports; its lines are no sentences."""
    text = "Here is the plan for the cart:\n```python\nfrom shop_core import base\ndef cart_total(): ...\n```\nDone."
    reading = read([said("assistant", text)], users_verbatim=True)
    line = next(iter(reading.lines.values()))
    assert line.head == "said: Here is the plan for the cart:"
    assert line.words["cart_total"][0] == "defines"
    assert line.words["shop_core"][0] == "imports"


def test_worth_of_a_name_grows_with_the_messages_in_which_the_assistant_wrote_it() -> None:
    """One in three, one in two, never beyond six in ten; a name only shown is worth its base. Forms count besides."""
    reading = NoteMaterial(written={"once": 1.0, "twice": 2.0, "often": 50.0})
    assert reading.worth("unseen", 0.2) == pytest.approx(0.2)
    assert 0.3 < reading.worth("once", 0.2) < 0.36
    assert 0.45 < reading.worth("twice", 0.2) < 0.52
    assert reading.worth("often", 0.2) == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("names", "times"),
    [
        (["roundCents", "ShopCart", "src/cart.ts", "left/right"], 1.0),
        (["/a/src", "~/notes", "cart.ts", "tax_rate"], 1.6),
        (["9c41d0e", "20260101", "MAX_ITEMS", "MAX_2"], 0.5),
    ],
)
def test_worth_of_a_name_goes_by_its_form(names: list[str], times: float) -> None:
    """Files and names with underscores come back oftenest, hashes, numbers and constants hardly ever."""
    reading = NoteMaterial(written=dict.fromkeys(names, 50.0))
    for name in names:
        assert reading.worth(name, 0.1) == pytest.approx(0.6 * times), name
        assert NoteMaterial().worth(name, 0.1) == pytest.approx(0.1 * times), name


def test_worth_of_a_name_that_was_shown_again_is_more() -> None:
    """Half as much again, however often."""
    reading = NoteMaterial(shown={"roundCents": 5.0, "sumOfAll": 2.0, "cartTotal": 1.0})
    assert reading.worth("roundCents", 0.1) == reading.worth("sumOfAll", 0.1) == pytest.approx(0.15)
    assert reading.worth("cartTotal", 0.1) == pytest.approx(0.1)


def test_gain_adds_the_worth_of_every_name_to_the_weight() -> None:
    """A sentence with two known names is worth what it tells and both of them."""
    reading = NoteMaterial(written={"tax_rate": 50.0, "cart_total": 50.0})
    assert reading.gain(NoteUnit("tax_rate moves into cart_total", weight=0.5)) == pytest.approx(0.5 + 2 * 1.6 * 0.6)


def test_reading_counts_messages_not_mentions() -> None:
    """A name written ten times in one message was written once."""
    reading = read(
        [
            said("assistant", "tax_rate " * 10, call("1", "bash", command="echo tax_rate tax_rate")),
            said("tool", "tax_rate\ntax_rate", results=("1",)),
        ],
        users_verbatim=True,
    )
    assert reading.written["tax_rate"] == 1
    assert reading.shown["tax_rate"] == 1


def test_line_keeps_the_stronger_label_of_two() -> None:
    """What was written is more than what was used; the place in the order is the first one."""
    line = NoteLine("edit a/b.py", 1.0)
    line.add([NoteUnit("tax_rate", "uses"), NoteUnit("cart_total", "uses"), NoteUnit("tax_rate", "wrote")])
    assert [(text, label) for text, (label, *_) in line.words.items()] == [
        ("tax_rate", "wrote"),
        ("cart_total", "uses"),
    ]


def test_bounded_keeps_both_ends_of_a_huge_text() -> None:
    """A tool that prints more does not make an event slower; errors stand at the end of what it prints."""
    text = "first_line\n" + "x" * 500_000 + "\nlast_line"
    kept = bounded(text)
    assert len(kept) < 70_000
    assert kept.startswith("first_line")
    assert kept.endswith("last_line")
    assert bounded("short") == "short"


MESSAGES = st.lists(
    st.builds(
        said,
        st.sampled_from(["system", "user", "assistant", "tool"]),
        st.text(max_size=80),
        st.builds(ToolCall, st.sampled_from("abc"), st.text(max_size=8), st.text(max_size=60)),
        results=st.lists(st.sampled_from("abc"), max_size=2).map(tuple),
    ),
    max_size=8,
)


@given(messages=MESSAGES, users_verbatim=st.booleans())
def test_read_takes_any_messages_and_gives_every_line_a_subject(
    messages: list[Message],
    users_verbatim: bool,  # noqa: FBT001 - a property
) -> None:
    """Unpaired results, doubled ids, calls by anybody, broken arguments: nothing raises, no head is empty."""
    reading = read(messages, users_verbatim=users_verbatim)
    assert all(line.head.strip() for line in reading.lines.values())
    assert all(text for line in reading.lines.values() for text in line.words)
    assert all(count > 0 for count in [*reading.written.values(), *reading.shown.values()])


def test_read_takes_nothing_from_what_was_recalled() -> None:
    """B-44: a line that it came back; not its names, not the call that asked for it, not a search's hits."""
    copy = fence("recalled m17-m40", "said 3 days ago", "[m17 user, 9 characters]\nold_name = src/old/place.py")
    ask, look = (
        call("1", "history", action="recall", id="m17-m40"),
        call("2", "history", action="search", query="q_name"),
    )
    messages = [
        said("assistant", "", ask, look, call("3", "read", path="new/place.py")),
        replace(said("tool", copy, results=("1",)), category=Category.RECALLED),
        replace(said("tool", fence("found", "", "m3: other_name"), results=("2",)), category=Category.RECALLED),
        said("tool", "new_name = 1", results=("3",)),
        replace(said("user", copy), category=Category.RECALLED),
    ]
    reading = read(messages, users_verbatim=False)
    assert [line.head for line in reading.lines.values()] == [
        "read new/place.py",
        "m17-m40 recalled",
        "m17-m40 recalled",
    ]
    told = {*reading.written, *reading.shown, *(text for line in reading.lines.values() for text in line.words)}
    assert not [text for text in told if "old" in text or "q_name" in text or "other" in text]


def test_read_passes_over_what_was_recalled_beside_another_result() -> None:
    """Results that came in one message are told apart by the marks."""
    copy = fence("recalled m17", "", "old_name = src/old/place.py")
    step = said("assistant", "", call("1", "history", id="m17"), call("2", "read", path="new/place.py"))
    reading = read(
        [step, said("tool", f"{copy}\nnew_name = src/new/thing.py", results=("1", "2"))], users_verbatim=True
    )
    told = {*reading.shown, *(text for line in reading.lines.values() for text in line.words)}
    assert any("new" in text for text in told)
    assert not any("old" in text for text in told)


@given(before=st.text(max_size=20), error=st.from_regex(ERROR), behind=st.text(max_size=20))
def test_quick_look_for_errors_misses_none_that_the_pattern_finds(before: str, error: str, behind: str) -> None:
    """Most lines are never shown to the pattern."""
    text = before + error + behind
    lines = [line for line in text.splitlines() if ERROR.search(line) and not _NO_ERROR.search(line)]
    assert bool(failure(text, of_file=False)) == bool(lines)
