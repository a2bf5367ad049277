"""How far the class estimator's bound stands above real counts, by kind of text, and how fast it is.

    python -m benchmarks.tokens [--json FILE] [--tokenizers DIRECTORY] [--data DIRECTORY] [PATH...]
    python -m benchmarks.tokens --families N [--seed SEED] PATTERN=PATH...

Real counts come from the local rank files in DIRECTORY (default ../shared/data/tokenizers). Texts: the recorded
conversations in --data where there are any, this Python's library sources, each PATH, and generated ones. A text is
cut into windows of 2,000 characters, and besides into lines. `under` must be 0; `total` is the sum of bounds by the
sum of the largest real counts, `worst` the smallest bound by count of any window, `median` and `p95` stand against
o200k. Exit code 1 if any bound was under.

The second makes N texts of each family of benchmarks/families.py, which are easily dearer than a bound, and counts them
with each vocabulary (see benchmarks/vocabularies.py). It prints those that were under, and how many texts there were.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import statistics
import string
import sys
import sysconfig
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.families import FAMILIES, texts
from benchmarks.vocabularies import vocabulary
from squidbot.adapters.tiktoken import TiktokenCounter
from squidbot.core.tokens.counters import builtin_counter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WINDOW_CHARS = 2000
# Per kind of text: enough for steady figures, little enough for a minute in all.
KIND_CHARS = 600_000
SHARED = Path(__file__).resolve().parents[1] / ".." / "shared" / "data"
RANDOM = random.Random(7)  # noqa: S311  (texts to count, not secrets)
WORDS = "the cache price of a tool call is read once and written again when parseHeader or MAX_SIZE changes"


def span(first: int, last: int) -> str:
    """Return random characters of a block of code points, both ends included."""
    return "".join(chr(RANDOM.randint(first, last)) for _ in range(20_000))


def drawn(alphabet: str) -> str:
    """Return random characters of an alphabet."""
    return "".join(RANDOM.choices(alphabet, k=40_000))


def rows(make: Callable[[], str]) -> str:
    """Return lines of which each is made anew."""
    return "\n".join(make() for _ in range(1500))


def generated() -> dict[str, str]:
    """Return a text of each kind that no file on the machine is sure to have."""
    row = {"id": 0, "name": "", "tags": ["a", "b"], "score": 0.0, "nested": {"ok": True, "none": None}}
    table = [
        row | {"id": RANDOM.getrandbits(32), "name": " ".join(RANDOM.choices(WORDS.split(), k=3))} for _ in range(300)
    ]
    return {
        "json compact": json.dumps(table, separators=(",", ":")),
        "json pretty": json.dumps(table, indent=2),
        "json in json": json.dumps(json.dumps(table, indent="\t")),
        "uuid": rows(lambda: str(uuid.UUID(int=RANDOM.getrandbits(128)))),
        "hex": RANDOM.randbytes(20_000).hex(),
        "base64": base64.b64encode(RANDOM.randbytes(30_000)).decode(),
        "csv": rows(lambda: ",".join(f"{RANDOM.gauss(0, 1000):.4f}" for _ in range(6))),
        "log": rows(lambda: f"2026-01-02T03:04:05Z INFO [pool] GET /v1/items/{RANDOM.randint(1, 99999)} 200 17ms"),
        "emoji": span(0x1F300, 0x1F64F),
        "emoji joined": "👩🏽\u200d💻👨\u200d👩\u200d👧🏳️\u200d🌈🇩🇪❤️ " * 400,
        "han": span(0x4E00, 0x9FA5),
        "kana": span(0x3041, 0x30FA),
        "hangul": span(0xAC00, 0xD7A3),
        "cyrillic": span(0x0410, 0x044F),
        "arabic": span(0x0620, 0x064A),
        "devanagari": span(0x0900, 0x097F),
        "thai": span(0x0E01, 0x0E3A),
        "box drawing": span(0x2500, 0x257F),
        "any character": span(0x20, 0xD7FF),
        "letters": drawn(string.ascii_letters),
        "ascii": drawn(string.printable),
        "whitespace": drawn(" \t\n\r"),
        "one letter": "x" * 40_000,
    }


def messages(path: Path) -> str:
    """Return the contents of a recorded conversation, one line of JSON a message or a conversation."""
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    flat = [message for entry in found for message in entry.get("messages", [entry])]
    return "\n".join(m["content"] for m in flat if isinstance(m.get("content"), str))


def corpora(data: Path, paths: list[Path]) -> Iterator[tuple[str, str]]:
    """Yield names and texts of at most KIND_CHARS characters."""
    for path in sorted(data.glob("*.jsonl")):
        yield path.stem, messages(path)[:KIND_CHARS]
    library = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
    RANDOM.shuffle(library)
    yield "python library", "\n".join(path.read_text("utf-8", "replace") for path in library[:60])[:KIND_CHARS]
    for path in paths:
        yield path.name, path.read_text("utf-8", "replace")[:KIND_CHARS]
    yield from generated().items()


def compare(text: str, exact: dict[str, TiktokenCounter]) -> dict[str, float | int]:
    """Return what the module's text explains, for one kind of text."""
    classes = builtin_counter("classes")
    windows = [text[start : start + WINDOW_CHARS] for start in range(0, len(text), WINDOW_CHARS)]
    lines = [line for line in text.splitlines() if line][:2000]
    real = [{name: counter.count(window) for name, counter in exact.items()} for window in windows]
    started = time.perf_counter()
    bounds = [classes.upper_bound(window) for window in windows]
    seconds = time.perf_counter() - started
    largest = [max(counts.values()) for counts in real]
    by_o200k = sorted(
        bound / counts.get("o200k_base", top) for bound, counts, top in zip(bounds, real, largest, strict=True)
    )
    under = sum(bound < top for bound, top in zip(bounds, largest, strict=True))
    short = sum(classes.upper_bound(line) < max(counter.count(line) for counter in exact.values()) for line in lines)
    return {
        "windows": len(windows),
        "under": under + short,
        "worst": min(bound / top for bound, top in zip(bounds, largest, strict=True)),
        "total": sum(bounds) / sum(largest),
        "median_o200k": statistics.median(by_o200k),
        "p95_o200k": by_o200k[int(len(by_o200k) * 0.95)],
        "microseconds_per_1500_chars": seconds * 1e6 / max(1, len(text)) * 1500,
    }


def families(number: int, seed: int, arguments: list[str]) -> int:
    """Print the texts of all families whose bound is under a vocabulary's count; return how many they are."""
    classes = builtin_counter("classes")
    read = [vocabulary(argument) for argument in arguments]
    under = made = 0
    for family in FAMILIES:
        drawn = dict.fromkeys(texts(family, number, seed))
        made += len(drawn)
        for text in drawn:
            bound = classes.upper_bound(text)
            for path, one in read:
                if (count := one.count(text)) > bound:
                    under += 1
                    print(f"{family}: {bound} for {count} tokens of {path}: {text[:200]!r}")
    print(f"{made} texts of {len(FAMILIES)} families, {len(read)} vocabularies: {under} under")
    return under


def main() -> int:
    """Measure, print the table, write the JSON; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--tokenizers", type=Path, default=SHARED / "tokenizers")
    parser.add_argument("--data", type=Path, default=SHARED)
    parser.add_argument("--families", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.families:
        return int(families(args.families, args.seed, [str(path) for path in args.paths]) > 0)
    exact = {path.stem: TiktokenCounter(path) for path in sorted(args.tokenizers.glob("*.tiktoken"))}
    if not exact:
        parser.error(f"no .tiktoken file in {args.tokenizers}: there is nothing to compare with")
    print(f"{'text':24}{'windows':>8}{'under':>7}{'worst':>7}{'total':>7}{'median':>8}{'p95':>7}{'us/1500':>9}")
    results = {}
    for name, text in corpora(args.data, args.paths):
        found = results[name] = compare(text, exact)
        shown = "{windows:8}{under:7}{worst:7.2f}{total:7.2f}{median_o200k:8.2f}{p95_o200k:7.2f}"
        print(f"{name:24}{(shown + '{microseconds_per_1500_chars:9.0f}').format(**found)}")
    if args.json:
        args.json.write_text(json.dumps({"tokenizers": sorted(exact), "texts": results}, indent=2), encoding="utf-8")
    return int(any(found["under"] for found in results.values()))


if __name__ == "__main__":
    sys.exit(main())
