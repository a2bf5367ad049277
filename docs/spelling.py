"""Checks the spelling of all that users read: `uv run --group docs python docs/spelling.py`.

It reads the pages of the root and of docs, the docstrings of public names, and what commands say with `--help`, but no
code. Hunspell's dictionary is American; codespell's table turns it into British English. Words of this project stand in
docs/words.txt. `--write` writes that file anew, with all the words that it needs: look at what came.
"""

from __future__ import annotations

import inspect
import re
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import click
from markdown_it import MarkdownIt

import squidbot
from squidbot.cli import main as commands

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parent.parent
OWN = ROOT / "docs" / "words.txt"
WORD = re.compile(r"[A-Za-z\u00c0-\u024f]+(?:'[A-Za-z]+)*")
LOOKS_LIKE_CODE = re.compile(r"[\d_/\\@=<>{}$*]|\w[.:(]\w|^--?\w|^\.\w")
# What a docstring or a help text has as code: spans, examples, names of arguments and errors.
CODE = re.compile(r"`[^`]*`|^ *(?:>>>|\.\.\.) .*$|^ *[\w*, ]+:(?= |$)", re.MULTILINE)


def prose(page: str) -> Iterator[tuple[int, str]]:
    """Yield the texts of a page, without code, addresses and HTML, with the line on which their paragraph begins."""
    for block in MarkdownIt("commonmark").enable("table").parse(page):
        for part in block.children or ():
            if part.type == "text":
                yield (block.map or [0])[0] + 1, part.content


def words_in(text: str) -> Iterator[str]:
    """Yield the words of a text, without names of files, options and the like."""
    for chunk in text.replace("\u2019", "'").split():
        if not LOOKS_LIKE_CODE.search(chunk.strip(",;:()[]\"'")):
            yield from WORD.findall(chunk)


def texts() -> Iterator[tuple[str, int, str]]:
    """Yield all that users read: where it stands, on which line, and the text."""
    for page in (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))):
        for line, text in prose(page.read_text(encoding="utf-8")):
            yield page.relative_to(ROOT).as_posix(), line, text
    for name in squidbot.__all__:
        yield from _docstrings(f"squidbot.{name}", getattr(squidbot, name))
    yield from _help("squidbot", commands)


def _docstrings(name: str, value: object) -> Iterator[tuple[str, int, str]]:
    doc = "" if isinstance(value, str) else inspect.getdoc(value) or ""
    if not doc.startswith(f"{name.rpartition('.')[2]}("):  # a dataclass without words has its signature there
        yield name, 1, CODE.sub("", doc)
    if isinstance(value, type):
        for member, inner in vars(value).items():
            if not member.startswith("_") and (inspect.isfunction(inner) or isinstance(inner, property)):
                yield from _docstrings(f"{name}.{member}", inner)


def _help(name: str, command: click.Command) -> Iterator[tuple[str, int, str]]:
    said = [command.help, *(param.help for param in command.params if isinstance(param, click.Option))]
    yield from ((f"{name} --help", 1, CODE.sub("", text)) for text in said if text)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            if found and not found.hidden:
                yield from _help(f"{name} {inner}", found)


class Dictionary:
    """Hunspell's words in British spelling, and those of the project."""

    def __init__(self, own: Iterable[str]) -> None:
        """Read the dictionaries, which come with their packages."""
        from hunspell import Hunspell  # noqa: PLC0415  # tests of the rest do without it

        table = resources.files("codespell_lib").joinpath("data", "dictionary_en-GB_to_en-US.txt").read_text("utf-8")
        pairs = [line.partition("->") for line in table.splitlines()]
        self._british = {word for word, _, _ in pairs}
        # Both spellings of "recognize" are British.
        self._american = {word for _, _, more in pairs for word in re.findall(r"\w+", more) if "iz" not in word}
        self._american -= self._british
        self._hunspell = Hunspell("en_US")
        self._own = {*own}

    def lacks(self, word: str) -> bool:
        """Return whether the word is spelled in no way that is known."""
        stem = word.removesuffix("'s")
        forms = {word, stem, word.lower(), stem.lower()}
        if forms & self._own:
            return False
        if forms & self._american:
            return True
        return not (forms & self._british or (word.isascii() and any(map(self._hunspell.spell, (word, stem)))))

    def like(self, word: str) -> str:
        """Return words that may have been meant."""
        found = self._hunspell.suggest(word) if word.isascii() else ()
        return ", ".join([other for other in found if not any(map(self.lacks, other.split()))][:3])


def by_letters(word: str) -> tuple[str, str]:
    """Return by what words are sorted."""
    return word.lower(), word


def unknown(dictionary: Dictionary) -> dict[str, list[str]]:
    """Return the words that a dictionary lacks, each with the places where it stands."""
    found: dict[str, list[str]] = {}
    for place, line, text in texts():
        for word in filter(dictionary.lacks, words_in(text)):
            found.setdefault(word.removesuffix("'s"), []).append(f"{place}:{line}")
    return found


@click.command()
@click.option("--write", is_flag=True, help="Write docs/words.txt anew, with all words that the dictionary lacks.")
def check(*, write: bool) -> None:
    """Print each word that is unknown, with its places, and fail if there is one."""
    if write:
        found = unknown(Dictionary(()))
        words = sorted((word for word in found if word.islower() or word.lower() not in found), key=by_letters)
        OWN.write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
        return
    dictionary = Dictionary(OWN.read_text(encoding="utf-8").split())
    found = unknown(dictionary)
    for word, places in sorted(found.items()):
        click.echo(f"{places[0]}: {word} ({len(places)} times; {dictionary.like(word) or 'nothing'} is like it)")
    if found:
        raise SystemExit(f"{len(found)} unknown words. If they are right: python docs/spelling.py --write")


if __name__ == "__main__":
    check()
