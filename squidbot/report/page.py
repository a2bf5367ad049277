"""The page of a report: one HTML file that needs no network, and that runs no script but its own."""

from __future__ import annotations

import base64
import gzip
import json
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from squidbot.adapters.common.files import open_whole
from squidbot.core.errors import SquidbotError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from squidbot.report.data import ReportData

# The script's files in the order in which they are read: each uses those before it.
SCRIPTS: Final = ("words", "texts", "session", "charts", "overview", "call", "message", "tables", "map", "report")
# Where and how a file says that it is a report: no other one is overwritten.
HEAD_BYTES: Final = 2_000
MARK: Final = b'<meta name="generator" content="squidbot report">'
# Texts are unpacked in chunks, on demand: one of this size takes a browser some milliseconds.
CHUNK_BYTES: Final = 512 * 1024


def page_of(data: ReportData) -> str:
    """Return a report as one HTML page that holds all its data."""
    blocks = [_block("figures", data.values), *_text_blocks(data.texts)]
    return page_around("".join(blocks))


def page_around(data: str = "", script: str = "", sources: str = "") -> str:
    """Return the page around data that stand in it.

    A page without data shows what a script gives to `window.squidbotReport.open`.

    Args:
        data: HTML elements that the page's script reads.
        script: a script that runs behind the page's own, in the same element.
        sources: more directives for the Content-Security-Policy, such as "connect-src 'self'".
    """
    style, own = asset("report.css"), f"{page_script()}{script}"
    policy = [
        "default-src 'none'",
        f"script-src '{_hash(own)}'",
        f"style-src '{_hash(style)}'",
        "img-src data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
        *filter(None, [sources]),
    ]
    page = asset("report.html")
    for mark, text in (("@policy@", "; ".join(policy)), ("@style@", style), ("@data@", data), ("@script@", own)):
        head, _, tail = page.partition(mark)
        page = f"{head}{text}{tail}"
    return page


def linked_page(style: str, scripts: Sequence[str]) -> str:
    """Return the page without data, with links to a style and scripts: for a server, which sends the policy itself."""
    links = "".join(f'<script src="{one}" defer></script>\n' for one in scripts)
    page = asset("report.html")
    for mark, text in (
        ('<meta http-equiv="Content-Security-Policy" content="@policy@">\n', ""),
        ("<style>@style@</style>", f'<link rel="stylesheet" href="{style}">'),
        ("@data@<script>@script@</script>", links),
    ):
        head, _, tail = page.partition(mark)
        page = f"{head}{text}{tail}"
    return page


def write_page(data: ReportData, path: Path) -> None:
    """Write a report into a file that only its owner may read; it appears when it is complete.

    Raises:
        SquidbotError: there is a file of that name which is no report.
        OSError: it can't be written.
    """
    check_replaces(path)
    page = page_of(data)
    with open_whole(path) as file:
        file.write(page)


def check_replaces(path: Path) -> None:
    """Check that a report may be written to a path: its folder is there, and no file but an older report.

    Raises:
        SquidbotError: it may not.
        OSError: the file can't be read.
    """
    if path.is_dir():
        raise SquidbotError(f"{path} is a folder; name a file in it")
    if not path.parent.is_dir():
        raise SquidbotError(f"{path}: there is no folder {path.parent}; make it first")
    if path.is_file():
        with path.open("rb") as old:
            is_report = MARK in old.read(HEAD_BYTES)
        if not is_report:
            raise SquidbotError(f"{path} exists and is no report of squidbot; choose another file name")


@cache
def asset(name: str) -> str:
    """Return the text of a file of the pages."""
    return (files("squidbot.report") / "page" / name).read_text(encoding="utf-8")


@cache
def page_script(names: tuple[str, ...] = SCRIPTS) -> str:
    """Return the script of a page, made of these files: one scope, which nothing else of a page reaches."""
    own = "\n".join(asset(f"{name}.js") for name in names)
    return f'"use strict";\n(() => {{\n{own}}})();\n'


def _hash(text: str) -> str:
    """Return a script or style as a Content-Security-Policy names it."""
    return f"sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}"


def _block(name: str, value: Any, first: int | None = None) -> str:  # noqa: ANN401  # whatever JSON holds
    """Return an element with a value, packed: nothing of a session stands in the page as it is."""
    packed = gzip.compress(json.dumps(value, separators=(",", ":")).encode(), 6, mtime=0)
    place = "" if first is None else f' data-first="{first}"'
    return f'<script type="application/gzip" id="{name}"{place}>{base64.b64encode(packed).decode()}</script>\n'


def _text_blocks(texts: Sequence[str]) -> Iterator[str]:
    for number, (first, chunk) in enumerate(_chunks(texts)):
        yield _block(f"texts-{number}", chunk, first)


def _chunks(texts: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield runs of texts with the number of their first; a text larger than a chunk is one of its own."""
    chunk, first, size = list[str](), 0, 0
    for number, text in enumerate(texts):
        length = len(text.encode("utf-8", "surrogatepass"))
        if chunk and size + length > CHUNK_BYTES:
            yield first, chunk
            chunk, first, size = [], number, 0
        chunk.append(text)
        size += length
    if chunk:
        yield first, chunk
