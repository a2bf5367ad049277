"""Messages and sessions written to files: exports, and folders of files by model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.codecs.transcripts import read_transcripts

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result


# -- `squidbot session export`: byte for byte in a session's own form, text and tool pairs in the others --------------

ODD = [
    '{"role":"user",  "content":"two  spaces, \\u00e9, \\ud800 and é"}',
    (
        '{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"x"},'
        '{"type":"text","text":"Look:"},{"type":"tool_use","id":"t1","name":"read","input":{"path":"a"}}]}'
    ),
    (
        '{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"1"},'
        '{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA"}}]}]}'
    ),
    '{"role":"assistant","content":"It says 1."}',
]


def kept(path: Path, payloads: list[str], form: str) -> None:
    """Store payloads as they are, as the session "s"."""
    with squidbot.load({"store": {"path": str(path)}}) as engine:
        codec = engine.wired.codecs[form]
        engine.session("s", form=form).record([codec.decode(payload) for payload in payloads], now=0.0)


def test_export_is_byte_for_byte_what_was_stored(run: Callable[..., Result], tmp_path: Path) -> None:
    """Spaces, escapes and keys as the host wrote them, one message on each line."""
    kept(tmp_path / "s.db", ODD, "anthropic.messages")
    out = tmp_path / "out.jsonl"
    result = run("session", "export", "s", "--store", str(tmp_path / "s.db"), "-o", str(out))
    assert (result.exit_code, result.output) == (0, f"{out}\n")
    assert out.read_bytes() == "".join(f"{line}\n" for line in ODD).encode()


def test_export_goes_to_standard_output_too(run: Callable[..., Result], tmp_path: Path) -> None:
    """The same bytes, so that they can be piped."""
    kept(tmp_path / "s.db", ODD, "anthropic.messages")
    result = run("session", "export", "s", "--store", str(tmp_path / "s.db"))
    assert result.stdout_bytes == "".join(f"{line}\n" for line in ODD).encode()


def test_export_of_a_payload_with_line_breaks_is_an_array(run: Callable[..., Result], tmp_path: Path) -> None:
    """Byte for byte still, and one JSON value that replay reads."""
    payload = '{\n "role": "user",\n "content": "hi"\n}'
    kept(tmp_path / "s.db", [payload, '{"role": "assistant", "content": "ho"}'], "openai.chat")
    out = tmp_path / "out.json"
    run("session", "export", "s", "--store", str(tmp_path / "s.db"), "-o", str(out))
    text = out.read_text()
    assert payload in text
    assert [load["role"] for load in json.loads(text)] == ["user", "assistant"]
    (conversation,) = read_transcripts(str(out))
    assert len(conversation.messages) == 2


def test_export_to_openai_keeps_text_and_tool_pairs(run: Callable[..., Result], tmp_path: Path) -> None:
    """Thoughts and pictures stay behind, and are counted on standard error."""
    kept(tmp_path / "s.db", ODD, "anthropic.messages")
    result = run("session", "export", "s", "--store", str(tmp_path / "s.db"), "--format", "openai")
    made = [json.loads(line) for line in result.stdout.splitlines()]
    assert [one["role"] for one in made] == ["user", "assistant", "tool", "assistant"]
    assert made[1]["content"] == "Look:"
    call = {"id": "t1", "type": "function", "function": {"name": "read", "arguments": '{"path":"a"}'}}
    call["function"]["arguments"] = made[1]["tool_calls"][0]["function"]["arguments"]  # type: ignore[index]
    assert made[1]["tool_calls"] == [call]
    assert json.loads(made[1]["tool_calls"][0]["function"]["arguments"]) == {"path": "a"}
    assert made[2] == {"role": "tool", "tool_call_id": "t1", "content": "1"}
    assert "left out: other hosts cannot read it: 1 image, 1 thinking" in result.stderr


@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_export_to_another_form_can_be_replayed(run: Callable[..., Result], tmp_path: Path, form: str) -> None:
    """Roles, texts, calls and results come back as they were."""
    out = tmp_path / "out.jsonl"
    run("session", "export", "support/42", "--format", form, "-o", str(out))
    (conversation,) = read_transcripts(str(out))
    shown = json.loads(run("session", "show", "support/42", "--from", "0", "--limit", "96", "--json").output)["shown"]
    for message, one in zip(conversation.messages, shown, strict=True):
        assert message.role == one["role"]
        assert message.text == one["text"]
        assert message.results == tuple(answer["id"] for answer in one["answers"])
        assert [(call.id, call.name, json.loads(call.arguments)) for call in message.calls] == [
            (call["id"], call["tool"], json.loads(call["parameters"])) for call in one["tool_calls"]
        ]


def test_export_of_responses_leaves_reasoning_behind(run: Callable[..., Result], tmp_path: Path) -> None:
    """Words, calls and results in either form, each result once; what was thought is counted."""
    step = (
        '{"id":"resp_1","output":[{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]},'
        '{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"Look:"}]},'
        '{"id":"fc_1","type":"function_call","call_id":"t1","name":"read","arguments":"{\\"path\\": \\"a\\"}"}]}'
    )
    output = '{"type":"function_call_output","call_id":"t1","output":[{"type":"input_text","text":"1"}]}'
    kept(tmp_path / "s.db", ['{"role":"user","content":"hi"}', step, output], "openai.responses")
    result = run("session", "export", "s", "--store", str(tmp_path / "s.db"), "--format", "openai")
    call = {"id": "t1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a"}'}}
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "Look:", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "t1", "content": "1"},
    ]
    assert "1 reasoning" in result.stderr
    result = run("session", "export", "s", "--store", str(tmp_path / "s.db"), "--format", "anthropic")
    assert "hm" not in result.stdout
    assert json.loads(result.stdout.splitlines()[-1])["content"][0]["content"] == "1"


def test_export_to_markdown_can_be_read(run: Callable[..., Result]) -> None:
    """A heading for each message; results between fences that they can't close."""
    text = run("session", "export", "support/42", "--format", "markdown").stdout
    assert text.count("\n## m") == 95
    assert text.startswith("## m0 user, 2025-10-09 08:53:20 UTC\n\nPlease mend src/part_0.py")
    assert "Calls `read`:\n\n```json\n" in text


def test_export_overwrites_nothing(run: Callable[..., Result], tmp_path: Path) -> None:
    """A file that is there stays; a place that can't be written is one line."""
    there = tmp_path / "there.txt"
    there.write_text("mine")
    result = run("session", "export", "support/42", "-o", str(there))
    assert result.exit_code == 1
    assert "already exists; choose another file name" in result.output
    assert there.read_text() == "mine"
    assert run("session", "export", "support/42", "-o", str(tmp_path / "no" / "x")).exit_code == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["there.txt"]


def test_export_json_says_what_was_written(run: Callable[..., Result], tmp_path: Path) -> None:
    """With a file its name, without one the messages."""
    made = json.loads(run("session", "export", "support/43", "--json").output)
    assert (made["session"], made["format"], made["messages"], made["file"]) == ("support/43", "stored", 4, None)
    assert json.loads(made["lines"][0])["role"] == "user"
    out = tmp_path / "out.jsonl"
    written = json.loads(run("session", "export", "support/43", "-o", str(out), "--json").output)
    assert (written["file"], written["lines"]) == (str(out), None)
    assert len(out.read_text().splitlines()) == 4


def test_export_of_an_empty_session_is_empty(run: Callable[..., Result]) -> None:
    """No line, no error."""
    result = run("session", "export", "empty")
    assert (result.exit_code, result.stdout) == (0, "")


def test_export_of_the_sample_is_the_sample(run: Callable[..., Result], tmp_path: Path) -> None:
    """What replay has stored comes out as it was read."""
    sample = Path(__file__).parents[2] / "examples" / "session.jsonl"
    store = str(tmp_path / "s.db")
    assert run("replay", str(sample), "--window", "64k", "--store", store).exit_code == 0
    assert run("session", "export", "session", "--store", store).stdout_bytes == sample.read_bytes()


# -- `squidbot store export`: a store as a folder of files ------------------------------------------------------------

EXPORT = ("store", "export")


def test_store_becomes_a_folder_and_comes_back(copied: Callable[..., Result]) -> None:
    """W-03, W-04, C26: what has no place in it is said; a second store that it comes back to says the same."""
    done = copied(*EXPORT, "out")
    assert done.exit_code == 0
    assert "new       out/unknown.json  no model: " in done.output
    assert "25 tool calls, 25 tool results" in done.output
    assert copied(*EXPORT, "out").output.startswith("unchanged out/unknown.json")
    assert copied("import", "out", "--store", "second.db").exit_code == 0
    assert copied(*EXPORT, "again", "--store", "second.db").exit_code == 0
    first, second = (json.loads(Path(folder, "unknown.json").read_text("utf-8")) for folder in ("out", "again"))
    assert first["current_conversation"] == second["current_conversation"]
    sessions = {one["metadata"]["session"] for one in first["current_conversation"]}
    assert sessions == {"support/42", "support/43", "对话\x1b[31m"}


def test_only_named_sessions_are_written(copied: Callable[..., Result]) -> None:
    """C26: by the beginning of an id, too; one that is not there is an error."""
    done = json.loads(copied(*EXPORT, "out", "--session", "support/43", "--json").output)
    assert [(one["became"], one["exchanges"]) for one in done["files"]] == [("new", 1)]
    assert copied(*EXPORT, "out2", "--session", "nobody").exit_code == 1
    assert not Path("out2").exists()


def test_damaged_file_is_set_aside_and_one_that_has_more_stays(copied: Callable[..., Result]) -> None:
    """W-05: `--replace` keeps it aside; without it the exit code is 1."""
    Path("out").mkdir()
    path = Path("out/unknown.json")
    path.write_text('{"metadata"', encoding="utf-8")
    looked = copied(*EXPORT, "out", "--dry-run")
    assert "what stood there: out/unknown.json.damaged" in looked.output
    assert path.read_text("utf-8") == '{"metadata"'
    assert "what stood there: out/unknown.json.damaged-" in copied(*EXPORT, "out").output
    value = json.loads(path.read_text("utf-8"))
    value["current_conversation"].append({"user": {"content": "more"}, "assistant": {"content": ""}})
    path.write_text(json.dumps(value), encoding="utf-8")
    refused = copied(*EXPORT, "out")
    assert refused.exit_code == 1
    assert "squidbot: out/unknown.json: the file has exchanges that the store lacks" in refused.output
    assert copied(*EXPORT, "out", "--replace").exit_code == 0
    assert "more" in next(Path("out").glob("unknown.json.replaced-*")).read_text("utf-8")


@pytest.mark.parametrize(
    "arguments",
    [
        (*EXPORT, "out", "--output", "file"),
        (*EXPORT, "out", "--form-version", "2.0"),
        ("session", "export", "support/42", "--replace"),
    ],
)
def test_options_that_do_not_go_together_are_refused(run: Callable[..., Result], arguments: tuple[str, ...]) -> None:
    """Nothing is written."""
    done = run(*arguments)
    assert done.exit_code == 2
    assert "Error: " in done.output


def test_folder_that_is_a_file_is_named(copied: Callable[..., Result]) -> None:
    """W-06: in a line."""
    Path("out").write_text("", encoding="utf-8")
    done = copied(*EXPORT, "out")
    assert done.exit_code == 1
    assert "squidbot: out" in done.output
    assert Path("out").read_text("utf-8") == ""


def test_damaged_file_is_begun_anew_by_import_on_request(copied: Callable[..., Result]) -> None:
    """W-05: "Missing or corrupt file: fresh structure, no crash", and the file is kept under another name.

    Without --set-aside it stays as it is: the path may lead to a file that is no model's at all.
    """
    Path("in").mkdir()
    broken = {
        "test-model.json": "invalid json content {",
        "qwen2-5-7b.json": '{"metadata": {"version": "3.0", "model": "qwen2.5:7b"',
        "memory.json": "[",
        "newer.json": '{"metadata": {"version": "9.1"}}',
    }
    for name, text in broken.items():
        Path("in", name).write_text(text, encoding="utf-8")
    for arguments in ((), ("--set-aside", "--dry-run")):
        assert copied("import", "in", "--store", "second.db", *arguments).exit_code == 4
        assert sorted(path.name for path in Path("in").iterdir()) == sorted(broken)
    done = copied("import", "in", "--store", "second.db", "--set-aside")
    assert done.exit_code == 4
    assert done.output.count("set aside as in/") == 2
    for name, model in (("test-model", "test-model"), ("qwen2-5-7b", "qwen2.5:7b")):
        value = json.loads(Path("in", f"{name}.json").read_text("utf-8"))
        assert (value["metadata"]["version"], value["metadata"]["model"]) == ("3.0", model)
        assert value["current_conversation"] == []
        (aside,) = Path("in").glob(f"{name}.json.damaged-*")
        assert aside.read_text("utf-8") == broken[f"{name}.json"]
    assert [Path("in", name).read_text("utf-8") for name in ("memory.json", "newer.json")] == [
        "[",
        broken["newer.json"],
    ]
    again = json.loads(copied("import", "in/test-model.json", "--store", "second.db", "--set-aside", "--json").output)
    assert [(file["became"], file["aside"]) for file in again["files"]] == [("known", "")]


def test_one_model_is_backed_up_and_restored(copied: Callable[..., Result]) -> None:
    """W-21, W-03, W-04: "Simple Backup: Easy to backup/restore specific model conversations", from the command line."""
    settings = {"store": {"path": "models.db"}, "history": {"isolation": "model"}}
    with squidbot.load(settings) as engine:
        for model in ("qwen2.5:7b", "llama3.1:8b"):
            engine.session("s", model=model).record({"role": "user", "content": f"To {model}"}, "Yes.", now=1000.0)
    store = ("--store", "models.db")
    done = copied("store", "backup", "qwen.json", "--model", "qwen2.5:7b", *store)
    assert (done.exit_code, done.output) == (0, "qwen.json: qwen2.5:7b: 1 exchange\n")
    assert "llama" not in Path("qwen.json").read_text("utf-8")
    assert "already exists" in copied("store", "backup", "qwen.json", "--model", "llama3.1:8b", *store).output
    values = json.loads(copied("store", "backup", "b.json", "--model", "llama3.1:8b", *store, "--json").output)
    assert values == {"target": "b.json", "model": "llama3.1:8b", "exchanges": 1, "left_out": {}}
    known = json.loads(copied("import", "qwen.json", *store, "--json").output)
    assert [(file["became"], file["new"]) for file in known["files"]] == [("known", 0)]
    for arguments in (("store", "backup", "c.json"), (*EXPORT, "out")):
        wrong = copied(*arguments, "--model", "qwen", *store)
        assert wrong.exit_code == 1
        assert "no model 'qwen' in these sessions; there are: 'llama3.1:8b', 'qwen2.5:7b'" in wrong.output
    done = copied(*EXPORT, "out", "--model", "llama3.1:8b", *store)
    assert [path.name for path in Path("out").glob("[a-z]*.json")] == ["llama3-1-8b.json"]
    assert "1 file" in done.output
    copied(*EXPORT, "out", *store)
    wrong = copied("import", "out", "--model", "qwen", "--store", "new.db")
    assert (wrong.exit_code, Path("new.db").exists()) == (1, False)
    assert "no model 'qwen' in these files; there are: " in wrong.output
    done = copied("import", "out", "--model", "qwen2.5:7b", "--store", "new.db")
    assert "1 new of 1 exchange" in done.output
    assert "llama" not in done.output
    assert copied("store", "import-older", "out", "--rollback", "--model", "qwen2.5:7b", *store).exit_code == 2
