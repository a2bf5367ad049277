"""`squidbot store export`: a store as a folder of files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

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
