"""The class bound beside published vocabularies: on texts made to be dear, it is never under what they count."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import string
import uuid
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.families import FAMILIES, KNOWN, LOWER, texts, word, worst_words
from squidbot.core.tokens.counters import builtin_counter

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.adapters.tiktoken import TiktokenCounter

CLASSES = builtin_counter("classes")
RANKS = Path(__file__).parents[2] / ".." / "shared" / "data" / "tokenizers"
FILES = ("cl100k_base", "o200k_base", "qwen")
# What strangers sent, and was promised to fit: 24 random letters in a line of plain English.
POD = "The pod {} in the namespace default has been started by the user {} and is now running."


@cache
def vocabulary(file: str) -> TiktokenCounter:
    """Return the counter of a rank file; the test is skipped where there is none."""
    path = RANKS / f"{file}.tiktoken"
    if not path.exists():
        pytest.skip(f"needs {path.name} in ../shared/data/tokenizers")
    counter: TiktokenCounter = pytest.importorskip("squidbot.adapters.tiktoken").TiktokenCounter(path)
    return counter


def under(file: str, made: list[str]) -> list[tuple[str, int, int]]:
    """Return the texts whose bound is below a vocabulary's count, with both."""
    exact = vocabulary(file)
    found = ((text, CLASSES.upper_bound(text), exact.count(text)) for text in made)
    return [(text, bound, real) for text, bound, real in found if bound < real]


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("case", [str.lower, str.title, str.upper])
@pytest.mark.parametrize("size", [6, 12, 24])
def test_bound_holds_when_lines_have_random_letters_in_them(file: str, case: Callable[[str], str], size: int) -> None:
    """Known words beside them don't pay for letters that nobody knows, of whatever case and length."""
    rng = random.Random(1)  # noqa: S311  # texts to count, not secrets
    lines = [POD.format(case(word(rng, LOWER, size, size)), case(word(rng, LOWER, size, size))) for _ in range(60)]
    assert not under(file, ["\n".join(lines), *lines])


@pytest.mark.parametrize("file", FILES)
def test_bound_holds_on_each_family(file: str) -> None:
    """Each text alone, so that none pays for another."""
    assert not {name: found for name in FAMILIES if (found := under(file, texts(name, 25)))}


@pytest.mark.parametrize("file", FILES)
def test_bound_holds_when_words_are_the_worst_for_a_vocabulary(file: str) -> None:
    """Those of many that stand nearest to their bound, repeated and between known ones."""
    exact = vocabulary(file)
    pool = [text for name in ("nonce words", "identifiers", "languages without accents") for text in texts(name, 300)]
    worst = worst_words(CLASSES.upper_bound, exact.count, pool, most=40)
    rng = random.Random(2)  # noqa: S311  # as above
    mixed = [" ".join(rng.choice(worst) if rng.random() < 0.5 else rng.choice(KNOWN) for _ in range(20)) for _ in worst]
    assert not under(file, [*mixed, *("\n".join([one] * 30) for one in worst)])


@pytest.mark.parametrize("file", FILES)
def test_bound_is_near_the_count_when_text_is_ordinary(file: str) -> None:
    """At most 1.30 x what the vocabulary counts, on the median of this repository's pages and code."""
    root = Path(__file__).parents[2]
    for kind in ("docs/*.md", "squidbot/core/*.py"):
        pages = [path.read_text(encoding="utf-8")[:3000] for path in sorted(root.glob(kind))]
        ratios = sorted(CLASSES.upper_bound(page) / vocabulary(file).count(page) for page in pages)
        assert 1.0 <= ratios[len(ratios) // 2] <= 1.3, kind


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_bound_holds_on_many_of_each_family(file: str) -> None:
    """As above, with 2,000 of each."""
    assert not {name: found[:3] for name in FAMILIES if (found := under(file, texts(name, 2000, seed=1)))}


RANDOM = random.Random(31)  # noqa: S311  (test data, not secrets)
COMMON_HAN = "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里"


def characters(*spans: tuple[int, int]) -> str:
    """Return 2,000 random characters of the spans of code points, both ends included."""
    return "".join(chr(RANDOM.randint(*RANDOM.choice(spans))) for _ in range(2000))


def v31_windows() -> dict[str, str]:
    """Return windows of 2,000 characters of each kind that V31 names, and of some it does not."""
    words = ["cache", "price", "Turkish", "snakeCase", "HTTP", "qzxv", "tokenizer", "don't", "/usr/lib", "f(x)", "3.14"]
    kinds = {
        "emoji": characters((0x1F300, 0x1F64F), (0x1F680, 0x1F6FF), (0x1F900, 0x1F9FF)),
        "emoji joined": "👩🏽\u200d💻 👨\u200d👩\u200d👧 🏳️\u200d🌈 🇩🇪 ❤️ " * 60,
        "uuid": "\n".join(str(uuid.UUID(int=RANDOM.getrandbits(128))) for _ in range(60)),
        "hex": "".join(hashlib.sha256(RANDOM.randbytes(8)).hexdigest() for _ in range(40)),
        "base64": base64.b64encode(RANDOM.randbytes(1500)).decode(),
        "chinese": "".join(RANDOM.choice(COMMON_HAN) for _ in range(2000)),
        "rare chinese": characters((0x4E00, 0x9FA5)),
        "japanese": characters((0x3041, 0x3096), (0x30A1, 0x30FA), (0x4E00, 0x5FFF)),
        "korean": characters((0xAC00, 0xD7A3)),
        "numbers": ",".join(f"{RANDOM.random() * 10**5:.3f}" for _ in range(250)),
        "json": json.dumps([{"id": RANDOM.getrandbits(32), "name": RANDOM.choice(words)} for _ in range(60)]),
        "letters": "".join(RANDOM.choice(string.ascii_letters) for _ in range(2000)),
        "ascii": "".join(chr(RANDOM.randint(32, 126)) for _ in range(2000)),
        "words": " ".join(RANDOM.choice(words) for _ in range(300)),
    }
    return {name: text[:2000] for name, text in kinds.items()}


@pytest.mark.parametrize("file", FILES)
def test_bound_is_never_under_on_windows_of_each_kind(file: str) -> None:
    """V31: the bound holds for each window as a whole, for its lines and words, and for every cut of it."""
    for kind, window in v31_windows().items():
        cuts = sorted(RANDOM.sample(range(len(window)), 60))
        made = [window, *window.split("\n"), *(window[start:end] for start, end in pairwise(cuts))]
        assert not under(file, made), kind
