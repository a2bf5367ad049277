"""What notes can take over from a text: names by where they stand, code lines, values with their keys, sentences."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from squidbot.core.notes.literals import Place, find_literals, is_path, placed_literals

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "IN_USE_WORTH",
    "NAMED_WORTH",
    "SENTENCE_CHARS",
    "VALUE_CHARS",
    "Unit",
    "clip",
    "failure",
    "json_lines",
    "names_in",
    "one_line",
    "sentence",
    "sentences",
    "shown",
]

# How likely a name that was only shown, not written, comes back, by where it stood; measured on recorded sessions of
# a coding agent and of a service desk. Paths, numbers and lower-case words in a listing come back least.
DEFINED_WORTH, IMPORTED_WORTH, IN_USE_WORTH, LISTED_WORTH = 0.45, 0.35, 0.2, 0.08
_PLACE_WORTH = {Place.DEFINED: DEFINED_WORTH, Place.IMPORTED: IMPORTED_WORTH}
ID_WORTH, NAMED_WORTH, FACT_WORTH, STAMP_WORTH = 0.45, 0.25, 0.12, 0.03
# What a value is worth beside the names in it; a result of few words tells how a call went.
_VALUE_WEIGHT, _OUTCOME_WEIGHT = 0.05, 0.3
# A sentence with a goal marker (O-18); a decision or finding; a reason, a rule or a thing to do; and for each name
# or number and each long word in it; what only announces the next step.
_MARKED_WEIGHT, _FINDING_WEIGHT, _REASON_WEIGHT, _DETAIL_WEIGHT, _LONG_WORD_WEIGHT = 5.0, 1.5, 0.6, 0.1, 0.03
_FILLER_WEIGHT = 0.02

SENTENCE_CHARS = 220
VALUE_CHARS = 80
_EXCERPT_CHARS = 60
_SHORT_RESULT_CHARS = 600
_LINE_CHARS = 400
_MOST_LINES = 400
_MOST_FACTS = 400

_ERROR = re.compile(
    r"\b(?:[Ee]rror|ERROR)(?:\[\w+\])?(?: [A-Z]+\d+)?[\"']?:|\b[A-Z]\w*(?:Error|Exception)\b(?=:|$)|\bERR!|"
    r"\bFAIL(?:ED|URE|S)?\b|\b[1-9]\d* (?:failed|failures?|errors?)\b|\b(?:fatal|panic|Traceback)\b[: (]|"
    r"\b[Nn]ot [Ff]ound\b|\bNo such\b|[Pp]ermission denied|\bexit(?:ed)?(?: with)?(?: code| status)? [1-9]|"
    r"\btimed out\b|\bCannot \w+|\bFehler\b|\b[Ee]rreur\b|\u9519\u8bef|\u5931\u8d25|\u5931\u6557|\u30a8\u30e9\u30fc|"
    r"[\u2717\u2718\u274c]"
)
_NO_ERROR = re.compile(
    r"\b(?:no|0|without|zero|any) (?:errors?|failures?|failed)\b|\b(?:errors?|failed): 0\b", re.IGNORECASE
)
_MARKED = re.compile(r"\[(?:GOAL|DECISION|CHECKPOINT|ARTIFACT|NEXT)\]")
_FINDING = re.compile(
    r"\b(?:decided?|decision|we will|root cause|turns out|agreed|confirmed|fixed by|the fix|plan is|chose)\b",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\b(?:must|never|always|because|so that|the (?:problem|issue|bug|reason)|fixed|instead of|prefer|important|"
    r"note that|remaining|todo|next steps?)\b",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"(?:ok(?:ay)?,? |first,? |good[.,!]? |great[.,!]? )*+(?:let me|i'll|i will|let's|now)\b", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])|\n+")
_LIST_MARK = re.compile(r"^[^\S\n]*+(?:(?:\d{1,3}[.)]|[-*#>\u2022]++)\s++)++", re.MULTILINE)
_DETAIL = re.compile(
    r"(?<=[\w;] )[A-Z][\w'-]+|\d[\d:.,/-]*|\b(?:yesterday|today|tomorrow|tonight|(?:last|next|this) "
    r"(?:week|weekend|month|year|summer|winter|spring|fall|autumn))\b"
)
_LONG_WORD = re.compile(r"[^\W\d_]{6,}")
_NO_OUTPUT = re.compile(r"\W*+(?:(?:no output|ok|done|success|null|none|true)\W*+)?\Z", re.IGNORECASE)
_NAME_END = re.compile(r"(?<![\w@~./-])[\w@~./-]+\Z")
# JSON text falls into code lines at its escaped line ends; a line's last leading escape is glued to its first word.
_JSON_LINE = re.compile(r"(?=\\[nr])")
# The line ends where the JSON string ends, at a quote that is not escaped.
_GLUED = re.compile(r"(?:\\[nrt](?![^\s\\\"])|\s)*+(\\[nrt][^\s\\\"](?:[^\\\"]++|\\.)*+)", re.DOTALL)
# Keys whose values are asked for by name again; points in time hardly ever are.
_ID_KEY = re.compile(r"(?:^|_|\b)(?:id|uuid|key|ref|reference|path|url|sha|hash)s?\Z|I[dD]s?\Z")
_NAME_KEY = re.compile(r"(?:^|_|\b)(?:no|number|code|name|file|order|status)s?\Z|(?:Name|Number|Code)\Z")
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT|\d{1,2}:\d\d(?::\d\d)?\Z")


@dataclass(frozen=True, slots=True)
class Unit:
    """Words that can stand behind a line's head.

    Attributes:
        text: the words.
        label: what they are; "" for a sentence.
        weight: what they are worth beside the literals in them.
        base: what a literal in them is worth that the assistant never wrote itself.
    """

    text: str
    label: str = ""
    weight: float = 0.0
    base: float = IN_USE_WORTH


@lru_cache(maxsize=16_384)
def names_in(text: str) -> tuple[str, ...]:
    """Return the literals of a short text, each once; the same few thousand are asked for again at every event.

    They come in the order of the text: worths are added up and counts are stored in it, the same in every process.
    """
    return tuple(dict.fromkeys(name for _, name in find_literals(text)))


def shown(text: str, *, of_file: bool) -> Iterator[Unit]:
    """Yield what a tool's result showed: the values of JSON with their keys, else the names in it, by their place."""
    facts = _facts(text)
    if facts is not None:
        yield from facts
        return
    if not of_file and len(text.strip()) <= VALUE_CHARS and not _NO_OUTPUT.match(text) and not _ERROR.search(text):
        yield Unit(one_line(text), "gave", _OUTCOME_WEIGHT)
    used = Place.USED.value if of_file else "shows"
    for name, place in placed_literals(text).items():
        if place is Place.USED:
            yield Unit(name, used, base=LISTED_WORTH if _is_plain(name) else IN_USE_WORTH)
        else:
            yield Unit(name, place.value, base=_PLACE_WORTH[place])


def json_lines(arguments: str) -> Iterator[str]:
    """Yield the code lines in JSON text of which an escape is glued to the first name, as they stand there, cut."""
    for line in _JSON_LINE.split(arguments):
        glued = _GLUED.match(line)
        if glued and next(find_literals(glued.group(1)[1:VALUE_CHARS]), (1, ""))[0] == 0:
            yield f"`{clip(glued.group(1).rstrip(), _EXCERPT_CHARS)}`"


def failure(text: str, *, of_file: bool) -> str:
    """Return what went wrong in a call, in few words, or ""; a file that was shown may speak of errors itself."""
    if of_file and len(text) > _SHORT_RESULT_CHARS:
        return ""
    for line in text.splitlines()[:_MOST_LINES]:
        if _ERROR.search(line[:_LINE_CHARS]) and not _NO_ERROR.search(line[:_LINE_CHARS]):
            return clip(one_line(line), VALUE_CHARS * 2)
    return ""


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences and list items of a text, each on one line, without marks of form and without blank ones."""
    for part in _SENTENCE_END.split(_LIST_MARK.sub("", text)):
        line = one_line(part.replace("**", ""))
        if sum(map(str.isalpha, line[:SENTENCE_CHARS])) >= 3:
            yield line


def sentence(text: str, least: float) -> Unit:
    """Return a sentence as a unit, worth `least`, and more the more it tells.

    That is a decision, a finding, names, dates and numbers, and long words, which carry what is meant in most
    languages. What only announces the next step is worth next to nothing, an exclamation or a question half.
    """
    shown_text = clip(text, SENTENCE_CHARS)
    told = _told(shown_text)
    if _FILLER.match(shown_text) and not told:
        return Unit(shown_text, "", _FILLER_WEIGHT)
    details = min(4, sum(1 for _ in _DETAIL.finditer(shown_text)))
    words = min(8, sum(map(len, set(_LONG_WORD.findall(shown_text)))) // 6)
    telling = min(1.0, (details + words) / 4)
    weight = least * telling + told + _DETAIL_WEIGHT * details + _LONG_WORD_WEIGHT * words
    return Unit(shown_text, "", weight / 2 if shown_text.endswith(("!", "?")) and not told else weight)


def _told(text: str) -> float:
    """Return what a sentence is worth for the decision, finding or reason in it."""
    ranks = (_MARKED, _MARKED_WEIGHT), (_FINDING, _FINDING_WEIGHT), (_REASON, _REASON_WEIGHT)
    return next((weight for pattern, weight in ranks if pattern.search(text)), 0.0)


def one_line(text: str) -> str:
    """Return a text with each run of white space as one space."""
    return " ".join(text.split())


def clip(text: str, most_chars: int) -> str:
    """Return a text cut behind a whole word, with a mark where it was cut."""
    if len(text) <= most_chars:
        return text
    cut = text[: most_chars + 1].rpartition(" ")[0]
    if len(cut) < most_chars // 2:
        cut = _NAME_END.sub("", text[:most_chars])
    return cut.rstrip() + " \u2026"


def _is_plain(name: str) -> bool:
    """Tell a path, a number or a lower-case word from an identifier."""
    return is_path(name) or name.isdigit() or (name.islower() and "_" not in name)


def _facts(text: str) -> list[Unit] | None:
    """Return the scalar values of a JSON text with the key that each belongs to; None where it is no JSON."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    leaves = list(islice(_scalars(value), _MOST_FACTS))
    often = Counter(key for key, _, _ in leaves)
    return [_fact(key, value, listed=listed, often=often[key] > 2) for key, value, listed in leaves]


def _scalars(value: object) -> Iterator[tuple[str, str, bool]]:
    """Yield (key, value on one line, whether it is a plain list's item) of all scalars of a JSON value, in order."""
    stack: list[tuple[str, object, bool]] = [("", value, False)]
    while stack:
        key, value, listed = stack.pop()
        if isinstance(value, dict):
            stack.extend((str(name), item, False) for name, item in reversed(value.items()))
        elif isinstance(value, list):
            stack.extend((key, item, True) for item in reversed(value))
        elif value is not None and value != "":
            yield key, clip(one_line(str(value)), VALUE_CHARS), listed


def _fact(key: str, value: str, *, listed: bool, often: bool) -> Unit:
    """Return one value of JSON under its key; one of many under one key tells nothing without a name in it."""
    base = ID_WORTH if listed or _ID_KEY.search(key) else NAMED_WORTH if _NAME_KEY.search(key) else FACT_WORTH
    if _STAMP.match(value):
        base = STAMP_WORTH
    return Unit(value, f"{key}:" if key else "gave", 0.0 if often or base == STAMP_WORTH else _VALUE_WEIGHT, base)
