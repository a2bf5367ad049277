"""Brings the data of the benchmarks from where it is published, by name: `python -m benchmarks.fetch --to FOLDER`.

`data.toml` names each file: repository, path, commit, and the digest of its content. Recordings of agents are read by
squidbot's own readers and written as transcripts; conversations with questions are written in LoCoMo's form. Nothing
else is kept. `--clones FOLDER` reads from your own clones (`FOLDER/owner/name`) and needs no network; `--base TEMPLATE`
reads from another server, or from a folder by a `file:` address.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tomllib
import urllib.request
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.error import URLError
from urllib.parse import quote, urlsplit

from benchmarks.published import FORMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["BASE", "CATALOGUE", "FetchError", "Made", "Source", "catalogue", "fetch", "main"]

CATALOGUE = Path(__file__).with_name("data.toml")
BASE = "https://raw.githubusercontent.com/{repository}/{commit}/{path}"
_SCHEMES = ("https", "http", "file")
# The largest file has 4.2 MB.
_MOST_BYTES, _TIMEOUT_SECONDS = 32_000_000, 60.0


class FetchError(Exception):
    """A file can't be had, or is another one than was measured; the text says which, why and what to do."""


class Source(NamedTuple):
    """A public repository at one commit, its licence, and what it is."""

    repository: str
    commit: str
    licence: str
    what: str


class Made(NamedTuple):
    """A file of the benchmarks, and what it is made from.

    Attributes:
        to: its path in the folder of data.
        source: where it comes from.
        form: which of `published.FORMS` reads it.
        agent: who wrote it: an agent, or the name of a set.
        domain: what it is about.
        files: the paths in the repository, each with the SHA-256 digest of its content.
        select: what the form takes out of them, where it is not all; no text.
    """

    to: str
    source: Source
    form: str
    agent: str
    domain: str
    files: tuple[tuple[str, str], ...]
    select: object = None


def catalogue(path: Path = CATALOGUE) -> list[Made]:
    """Return all files of the benchmarks."""
    root = tomllib.loads(path.read_text(encoding="utf-8"))
    sources = {
        each["repository"]: Source(each["repository"], each["commit"], each["licence"], each["what"])
        for each in root["source"]
    }
    return [
        Made(
            each["to"],
            sources[each["source"]],
            each["form"],
            each["agent"],
            each["domain"],
            tuple((path, digest) for path, digest in each["files"]),
            each.get("select"),
        )
        for each in root["made"]
    ]


def fetch(to: Path, read: Callable[[Source, str], bytes], entries: Sequence[Made]) -> Iterator[tuple[Made, Path]]:
    """Write each file that is not there yet, and yield it.

    Raises:
        FetchError: a file can't be had, or has another content.
    """
    for made in entries:
        path = to / made.to
        if not path.exists():
            contents = [_checked(made.source, name, digest, read) for name, digest in made.files]
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_name(f"{path.name}.part")
            part.write_text(FORMS[made.form](contents, made.select), encoding="utf-8")
            part.replace(path)
        yield made, path


def _checked(source: Source, name: str, digest: str, read: Callable[[Source, str], bytes]) -> bytes:
    content = read(source, name)
    found = sha256(content).hexdigest()
    if found != digest:
        raise FetchError(
            f"{source.repository}, {name} at {source.commit}: its digest is {found}, but {digest} was measured; "
            "look at what the server sent, or use a clone with --clones"
        )
    return content


def from_clones(folder: Path) -> Callable[[Source, str], bytes]:
    """Return what reads files from clones in a folder."""

    def read(source: Source, name: str) -> bytes:
        clone = folder / source.repository
        command = ["git", "-C", str(clone), "show", f"{source.commit}:{name}"]
        done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603  # git, at paths of our own list
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip()[:200]
            raise FetchError(
                f"{clone} has no {name} at {source.commit} ({said}); run: "
                f"git clone --no-checkout https://github.com/{source.repository} {clone}"
            )
        return done.stdout

    return read


def from_server(base: str) -> Callable[[Source, str], bytes]:
    """Return what reads files by addresses: `base` holds {repository}, {commit} and {path}.

    Raises:
        FetchError: the addresses are of a kind that is not read.
    """
    if urlsplit(base).scheme not in _SCHEMES:
        raise FetchError(f"--base {base}: it begins with none of {', '.join(f'{each}:' for each in _SCHEMES)}")

    def read(source: Source, name: str) -> bytes:
        address = base.format(repository=source.repository, commit=source.commit, path=quote(name))
        try:
            with urllib.request.urlopen(address, timeout=_TIMEOUT_SECONDS) as answer:  # noqa: S310  # checked above
                content: bytes = answer.read(_MOST_BYTES + 1)
        except (URLError, OSError) as error:
            raise FetchError(f"{address} can't be read ({error}); try again, or use a clone with --clones") from error
        if len(content) > _MOST_BYTES:
            raise FetchError(f"{address} has more than {_MOST_BYTES:,} bytes; it is not the file that was measured")
        return content

    return read


def main(arguments: Sequence[str] | None = None) -> int:
    """Bring all files; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fetch", description="Bring the benchmarks' data.")
    parser.add_argument("--to", type=Path, required=True, metavar="FOLDER", help="write the files there")
    parser.add_argument("--clones", type=Path, metavar="FOLDER", help="read from clones in FOLDER/owner/name")
    parser.add_argument("--base", default=BASE, metavar="TEMPLATE", help="read from other addresses")
    parser.add_argument("--only", metavar="WORD", default="", help="bring files alone whose path has this word")
    args = parser.parse_args(arguments)
    entries = [made for made in catalogue() if args.only in made.to]
    try:
        read = from_clones(args.clones) if args.clones else from_server(args.base)
        for number, (made, path) in enumerate(fetch(args.to, read, entries), 1):
            print(f"{number:3} of {len(entries)}  {path}  ({made.source.repository}, {made.source.licence})")
    except FetchError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
