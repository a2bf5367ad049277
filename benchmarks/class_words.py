"""Write the word table of the class estimator, squidbot/core/tokens/class_words.py, from published vocabularies.

    python -m benchmarks.class_words [--words N] [--texts DIRECTORY]... PATTERN=PATH...

Each argument is a vocabulary (see benchmarks/vocabularies.py). Candidates are words of which most vocabularies have a
token, and words of the source code and pages in each DIRECTORY. Those are kept that are parts of others, and then the
N whose entry makes a bound smaller, the oftener they occur the sooner. The marks that are one token in each vocabulary
are printed, for class_tables.py.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING

from benchmarks.vocabularies import Vocabulary, vocabulary
from squidbot.core.tokens import class_words, classes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
MARKS = '!"#$%&()*+,-./:;<=>?@[]^_`{|}~\t'
# Escapes, and the tokens that the estimator takes for each: those that no language has are a token dearer.
ESCAPES = {f"\\{letter}": 2 + (letter not in classes.ESCAPES) for letter in ascii_lowercase}
# Humps of names, before a word and behind it. A token may have letters of both.
_BEFORE = "get set is to my on user data file x a e i o s t n r d m l p max String err"
_BEHIND = "Id Name Type List Error String X A S T I E P R D Item Count By To Data Info URL"
BEFORE, BEHIND = _BEFORE.split(), _BEHIND.split()
# About how often a word of code and pages has each form.
SHARES = (0.25, 0.5, 0.12, 0.1, 0.02, 0.01)
# So many directories know a word before it counts as one of the language.
LEAST_DIRECTORIES = 4
SUFFIXES = {".py", ".js", ".ts", ".h", ".c", ".md", ".rst", ".txt", ".json"}
FILE_CHARS = 60_000
WIDTH = 120


def forms(word: str) -> tuple[str, ...]:
    """Return the forms of a word, in the order of its digits."""
    return (word, f" {word}", word.title(), f" {word.title()}", word.upper(), f" {word.upper()}")


def candidates(vocabularies: Iterable[Vocabulary], known: Counter[str]) -> list[str]:
    """Return the words of which two thirds of the vocabularies have a token, and those that `known` has often."""
    having: defaultdict[str, int] = defaultdict(int)
    total = 0
    for total, one in enumerate(vocabularies, start=1):  # noqa: B007  (the number of them, after the loop)
        found = (re.fullmatch(rb" ?([A-Z]?[a-z]+|[A-Z]+)", token) for token in one.ranks)
        for word in {match[1].lower().decode() for match in found if match}:
            having[word] += 1
    often = {word for word, directories in known.items() if directories >= LEAST_DIRECTORIES and 2 < len(word) < 20}
    return sorted({word for word, number in having.items() if 3 * number >= 2 * total} | often)


def occurring(directories: Iterable[Path]) -> Counter[str]:
    """Return in how many directories each word occurs."""
    places: defaultdict[str, set[Path]] = defaultdict(set)
    for path in (path for directory in directories for path in directory.rglob("*") if path.suffix in SUFFIXES):
        if path.is_file():
            for word in set(WORD.findall(path.read_text("utf-8", "replace")[:FILE_CHARS])):
                places[word.lower()].add(path.parent)
    return Counter({word: len(found) for word, found in places.items()})


def _contexts(form: int, word: str, *, glues_marks: bool) -> Iterator[tuple[str, str, int]]:
    """Yield what may stand before and behind a form, and the tokens of a mark there; 0 for a hump."""
    if form in (0, 2, 4) and glues_marks:
        yield from ((mark, "", 1) for mark in MARKS)
    if form in (2, 4):
        yield from ((hump, "", 0) for hump in BEFORE)
    if form < 4 and len(word) > 1:
        yield from (("", hump, 0) for hump in BEHIND)


def tokens(one: Vocabulary, words: Iterable[str]) -> Iterator[list[int]]:
    """Yield the most tokens of each form of each word, and of those without a space behind a quote, and an escape."""
    alone = {hump: one.count(hump) for hump in (*BEFORE, *BEHIND)}
    # Where no token has both characters at a seam, nothing is merged across it.
    seams = {token[at : at + 2] for token in one.ranks for at in range(len(token) - 1)}
    for word in words:
        most = []
        for form, text in enumerate(forms(word)):
            most.append(one.count(text))
            for before, behind, taken in _contexts(form, word, glues_marks=one.glues_marks):
                if f"{before[-1:] or text[-1]}{behind[:1] or text[0]}".encode() in seams:
                    beside = taken or alone[before or behind]
                    most[-1] = max(most[-1], one.count(f"{before}{text}{behind}") - beside)
        most += (max(one.count(f"'{text}") - 1, one.count(f"b'{text}") - 2) for text in forms(word)[::2])
        yield [*most, max(one.count(f"{escape}{word}") - taken for escape, taken in ESCAPES.items())]


def saving(word: str, most: list[int]) -> float:
    """Return how many tokens the estimator would take more for a word if the table didn't have it, by its forms."""
    bounds = map(classes._most_tokens, forms(word))  # noqa: SLF001  (what the table is beside)
    return sum(share * (bound - taken) for share, bound, taken in zip(SHARES, bounds, most, strict=False))


def digits(word: str, most: list[int]) -> str:
    """Return what the table says; a single capital is a word in capitals, and nothing but that."""
    shown = "".join(str(taken) if taken < 10 else "0" for taken in most[:6])
    return shown if len(word) > 1 else f"{shown[:2]}00{shown[4:]}"


def wrapped(items: Iterable[str]) -> str:
    """Return items in lines of at most WIDTH characters."""
    lines = [""]
    for item in items:
        if len(lines[-1]) + 1 + len(item) > WIDTH:
            lines.append("")
        lines[-1] = f"{lines[-1]} {item}".strip()
    return "\n".join(lines)


def marks(vocabularies: list[Vocabulary]) -> list[str]:
    """Return the runs of punctuation that are one token in each vocabulary."""
    found = (token.decode() for token in vocabularies[0].ranks if re.fullmatch(rb" ?[!-/:-@\[-`{-~]+", token))
    return sorted(run for run in found if all(one.count(run) == 1 for one in vocabularies))


def write(most: dict[str, list[int]]) -> None:
    """Write the tables over those that are there."""
    path = Path(class_words.__file__)
    head, _, _ = path.read_text(encoding="utf-8").partition('SEAMS = r"""')
    seams = [f"\\{word}" for word, taken in most.items() for _ in range(taken[0], taken[9])]
    for word, taken in most.items():
        parted = zip(forms(word)[::2], taken[:6:2], taken[6:9], strict=True)
        seams += (f"'{form}" for form, alone, quoted in parted for _ in range(alone, quoted))
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for word, taken in most.items():
        groups[digits(word, taken)].append(word)
    costs = wrapped(item for group in sorted(groups) for item in (group, *sorted(groups[group])))
    tables = f'SEAMS = r"""\n{wrapped(sorted(seams))}\n"""\nCOSTS = """\n{costs}\n"""\n'
    path.write_text(head + tables, encoding="utf-8")


def main() -> int:
    """Write the table; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vocabularies", nargs="+", metavar="PATTERN=PATH")
    parser.add_argument("--words", type=int, default=26_000)
    parser.add_argument("--texts", type=Path, action="append", default=[])
    args = parser.parse_args()
    read = [vocabulary(argument)[1] for argument in args.vocabularies]
    known = occurring(args.texts)
    words = candidates(read, known)
    most = {word: [0] * 10 for word in words}
    for argument, one in zip(args.vocabularies, read, strict=True):
        for word, taken in zip(words, tokens(one, words), strict=True):
            most[word] = list(map(max, most[word], taken))
        print(f"{len(words)} words counted by {argument}", file=sys.stderr)
    saved = {word: saving(word, most[word]) for word in words}
    parts = [word for word in words if len(word) < classes.PART_CHARS and 1 in most[word][:6]]
    others = sorted(words, key=lambda word: (-saved[word] * (known[word] + 2), word))
    kept = list(dict.fromkeys((*parts, *(word for word in others if saved[word] > 0 and 0 < max(most[word]) < 10))))[
        : args.words
    ]
    write({word: most[word] for word in kept})
    print(wrapped(marks(read)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
