"""The data of the benchmarks comes by name, from clones or a server, and only as it was measured."""

from __future__ import annotations

import json
import re
import subprocess
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from benchmarks.fetch import BASE, FetchError, Made, Source, catalogue, fetch, from_clones, from_server, main
from benchmarks.published import FORMS

if TYPE_CHECKING:
    from pathlib import Path

CONTENT = json.dumps(
    {"history": [{"role": "human", "content": "Where?"}, {"role": "Orchestrator (thought)", "content": "Here."}]}
)
MADE = '{"role": "user", "content": "Where?"}\n{"role": "assistant", "content": "[Orchestrator (thought)]\\nHere."}\n'


def published(folder: Path) -> Made:
    """Publish a file in a repository, and return what is made of it."""
    repository = folder / "clones" / "who" / "when"
    repository.mkdir(parents=True)
    (repository / "a session.json").write_text(CONTENT, encoding="utf-8")
    as_nobody = ("-c", "user.name=Nobody", "-c", "user.email=nobody@example.org")
    for words in (("init", "-q"), ("add", "."), (*as_nobody, "commit", "-qm", "A session")):
        subprocess.run(["git", "-C", str(repository), *words], check=True)  # noqa: S607  # git
    commit = subprocess.run(
        ["git", "-C", str(repository), "rev-parse", "HEAD"],  # noqa: S607  # git
        check=True,
        capture_output=True,
        text=True,
    )
    source = Source("who/when", commit.stdout.strip(), "MIT", "a session")
    digest = sha256(CONTENT.encode()).hexdigest()
    return Made("sessions/one.jsonl", source, "who-and-when", "Agent", "domain", (("a session.json", digest),))


def served(folder: Path, made: Made) -> str:
    """Lay the files where a server's folders are, and return the template of their addresses."""
    for name, _ in made.files:
        path = folder / "server" / made.source.repository / made.source.commit / name
        path.parent.mkdir(parents=True)
        path.write_text(CONTENT, encoding="utf-8")
    return f"{(folder / 'server').as_uri()}/{{repository}}/{{commit}}/{{path}}"


def test_files_come_from_clones_at_their_commit(tmp_path: Path) -> None:
    """What was changed since is not read."""
    made = published(tmp_path)
    (tmp_path / "clones" / "who" / "when" / "a session.json").write_text("changed", encoding="utf-8")
    ((_, path),) = fetch(tmp_path / "data", from_clones(tmp_path / "clones"), [made])
    assert path == tmp_path / "data" / "sessions" / "one.jsonl"
    assert path.read_text(encoding="utf-8") == MADE


def test_files_come_from_a_server(tmp_path: Path) -> None:
    """The address has repository, commit and path, quoted; what is there already is not read again."""
    made = published(tmp_path)
    base = served(tmp_path, made)
    ((_, path),) = fetch(tmp_path / "data", from_server(base), [made])
    assert path.read_text(encoding="utf-8") == MADE
    path.write_text("kept", encoding="utf-8")
    list(fetch(tmp_path / "data", from_server("https://nowhere.invalid/{path}"), [made]))
    assert path.read_text(encoding="utf-8") == "kept"


def test_another_content_is_refused(tmp_path: Path) -> None:
    """A file that was not measured is none, and nothing of it stays."""
    made = published(tmp_path)
    wrong = made._replace(files=(("a session.json", "0" * 64),))
    with pytest.raises(FetchError, match=r"who/when, a session.json at .*: its digest is .*--clones"):
        list(fetch(tmp_path / "data", from_clones(tmp_path / "clones"), [wrong]))
    assert not (tmp_path / "data").exists()


def test_a_missing_clone_says_how_to_get_it(tmp_path: Path) -> None:
    """The command stands in the error."""
    made = published(tmp_path)
    with pytest.raises(FetchError, match=r"git clone --no-checkout https://github.com/who/when"):
        list(fetch(tmp_path / "data", from_clones(tmp_path), [made]))


def test_a_server_that_has_no_such_file_is_named(tmp_path: Path) -> None:
    """The address stands in the error; addresses of other kinds are not read."""
    made = published(tmp_path)
    with pytest.raises(FetchError, match=r"a%20session.json can't be read .*--clones"):
        list(fetch(tmp_path / "data", from_server(f"{tmp_path.as_uri()}/{{commit}}/{{path}}"), [made]))
    with pytest.raises(FetchError, match="it begins with none of https:, http:, file:"):
        from_server("ftp://example.org/{path}")


def test_the_command_says_what_it_could_not_get(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It ends with 1, without a traceback."""
    assert main(["--to", str(tmp_path / "data"), "--clones", str(tmp_path), "--only", "airline"]) == 1
    assert "git clone" in capsys.readouterr().err


def test_the_catalogue_names_each_file_by_commit_and_digest() -> None:
    """Public addresses alone; no two files are written to one place."""
    entries = catalogue()
    assert len({made.to for made in entries}) == len(entries) > 50
    assert {made.form for made in entries} == set(FORMS)
    for made in entries:
        assert re.fullmatch(r"[0-9a-f]{40}", made.source.commit)
        assert made.source.licence
        assert made.files
        for name, digest in made.files:
            assert not name.startswith("/")
            assert re.fullmatch(r"[0-9a-f]{64}", digest)
    assert BASE.startswith("https://")
