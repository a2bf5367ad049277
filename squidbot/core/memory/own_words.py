"""What of a message its author says himself: without code, quotes, pasted texts, transcripts and made-up scenes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["QUOTED", "Sentence", "own_words", "sentences"]

# What stands for a quotation: no fact has it.
QUOTED: Final = "\ufffc"
MOST_CHARS = 20_000
# Nobody writes a paragraph like this about himself, and who sends so much text has pasted most of it.
PARAGRAPH_CHARS, MESSAGE_CHARS = 800, 3_000
SENTENCE_CHARS = 400

_FENCED: Final = re.compile(r"^[ \t>]*(`{3,}|~{3,}).*?(?:^[ \t>]*\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_TAG: Final = re.compile(r"<([A-Za-z][\w\-]*)\b[^<>]*>")
_QUOTES: Final = re.compile(
    r'"[^"\n]*"|\u201c[^\u201c\u201d\n]*\u201d|\u00ab[^\u00ab\u00bb\n]*\u00bb|(?<!\w)\'[^\'\n]+\'(?!\w)'
)
# Up to so many words in quotes are a name.
_NAME_WORDS = 3
# Lines of a quotation, a table, indented code, a log.
_FOREIGN_LINE: Final = re.compile(
    r"[ \t]*[>|]|[ \t]{4,}|\t|\s*\[?(?:\d{4}-\d\d-\d\d|\d\d:\d\d(?::\d\d)?)|\s*\[(?:info|warn(?:ing)?|error|debug)\]|"
    r"\s*(?:\$|#!|>>>|at )\s?\S+[(/\\.]",
    re.IGNORECASE,
)
# "Bob: hello" is a transcript, "From: ..." a mail: others speak from here on.
_LABEL: Final = re.compile(r"\s*[*_#\[(<]{0,3}([A-Za-z][\w .\-]{0,30})[\])>]{0,2}:[*_]{0,2}(?:\s|\Z)")
_OWN_LABELS: Final = frozenset(
    ("note", "ps", "p.s.", "p.s", "fyi", "btw", "remember", "correction", "update", "edit", "decision", "reminder",
     "important", "also", "goal", "next", "about me", "my name", "preferences", "i changed my mind")
)  # fmt: skip
# What these say belongs to what follows.
_KEPT_LABELS: Final = frozenset(("remember", "i changed my mind"))
# What is to be worked on follows.
_WORK: Final = (
    r"(?:translate|summari[sz]e|rewrite|proofread|paraphrase|rephrase|classify|parse|extract|analy[sz]e|reply to|"
    r"respond to|answer|review|transcribe|spellcheck|correct|explain|improve|shorten|polish|tl;?dr)"
)
_THING: Final = (
    r"(?:this|these|following|below|here(?:'s|\u2019s| is| are)|attached|e-?mail|message|letter|text|article|logs?|"
    r"output|document|doc|transcript|paste|pasted|quote|passage|page|readme|file|tool|command|website|story|poem|"
    r"response|result|biography|bio|cv|resume|dialogue|conversation|says|said|wrote|writes|reads|printed|returned|"
    r"shows?|tells? me|told me)"
)
_HANDED: Final = re.compile(
    rf"\b{_WORK}\b[^\n:]{{0,100}}:|\b{_WORK}\b[^\n.!?]{{0,60}}\b{_THING}\b[^\n]{{0,60}}\n|"
    rf"\b{_THING}\b[^\n:]{{0,60}}:(?=\s)|\b{_THING}\b[^\n]{{0,40}}\n(?=\s*\n|\s*\S+:)",
    re.IGNORECASE,
)
# A scene that somebody makes up: nothing in the message is a fact.
_SCENE: Final = re.compile(
    r"\b(?:pretend|role-?play|imagine|make[- ]believe|act as|in character|let's say|suppose|supposing|"
    r"hypothetical(?:ly)?|"
    r"for the sake of argument|write (?:me )?(?:a|an|the) (?:story|poem|song|novel|dialogue|scene|script|letter|speech|"
    r"monologue|joke|bio\w*|cover letter|e-?mail)|just kidding|just joking|i'm joking|i was joking|fictional|"
    r"my character|as if i|(?:example|sample|test) (?:sentence|text|data|message|input))\b",
    re.IGNORECASE,
)
_BULLET: Final = re.compile(r"\A\s*(?:[-*\u2022+]|\d{1,2}[.)])\s+")
_ENDS: Final = re.compile(r"(?<=[.!?\u2026])[\"')\]]*\s+|(?:(?<!\s)\s++)?;\s+")
_ABBREVIATED: Final = re.compile(
    r"\b(?:e\.g|i\.e|etc|vs|dr|mr|mrs|ms|prof|st|no|approx|inc|ltd|jr|sr)\.\Z", re.IGNORECASE
)


class Sentence(NamedTuple):
    """One sentence as its author wrote it, without the sign at its end; and whether that asks."""

    text: str
    asks: bool


def own_words(text: str) -> str:
    """Return what of a text its author says himself; "" where it makes up a scene. Quotations become `QUOTED`."""
    bare = text[:MOST_CHARS].replace("\u2019", "'").replace("\r\n", "\n")
    bare = "\n".join(_untagged(_FENCED.sub("\n", bare)))
    if _SCENE.search(bare):
        return ""
    handed = _HANDED.search(bare)
    if handed:
        # With the words in front of it in its sentence: half a sentence says something else.
        bare = bare[: max(bare.rfind(end, 0, handed.start()) + 1 for end in (". ", "! ", "? ", "\n"))]
    lines = "\n".join(_own_lines(bare))
    return _own_paragraphs(_QUOTES.sub(_quoted, lines))


def sentences(words: str) -> Iterator[Sentence]:
    """Yield the sentences of own words, line by line; those that are too long to be about one thing are left out."""
    for line in words.split("\n"):
        begun = ""
        for piece in _ENDS.split(_BULLET.sub("", line, count=1).strip()):
            begun = f"{begun} {piece}".strip() if begun else piece
            if _ABBREVIATED.search(begun):
                continue
            if begun and len(begun) <= SENTENCE_CHARS:
                yield _sentence(begun)
            begun = ""
        if begun and len(begun) <= SENTENCE_CHARS:
            yield _sentence(begun)


def _sentence(text: str) -> Sentence:
    bare = text.rstrip(" .!\u2026:)(*_")
    return Sentence(bare.rstrip("? ").strip("*_ "), bare.endswith("?"))


def _untagged(text: str) -> Iterator[str]:
    """Yield what no pair of tags encloses; a tag at the beginning of a line that is never closed reaches to the end."""
    at = 0
    unclosed: set[str] = set()
    for tag in _TAG.finditer(text):
        if tag.start() < at or tag[1] in unclosed:
            continue
        closing = text.find(f"</{tag[1]}", tag.end())
        if closing >= 0:
            yield text[at : tag.start()]
            at = text.find(">", closing) + 1 or len(text)
        elif not text[: tag.start()].rpartition("\n")[2].strip():
            yield text[at : tag.start()]
            return
        else:
            unclosed.add(tag[1])
    yield text[at:]


def _own_lines(text: str) -> Iterator[str]:
    """Yield the lines up to where others speak, without those of quotations, tables, code and logs."""
    for line in text.split("\n"):
        label = _LABEL.match(line)
        if label and " ".join(label[1].lower().split()) not in _OWN_LABELS and "http" not in label[1].lower():
            return
        if not _FOREIGN_LINE.match(line):
            yield line[label.end() :] if label and label[1].lower() not in _KEPT_LABELS else line


def _own_paragraphs(text: str) -> str:
    paragraphs = [one for one in re.split(r"\n\s*\n", text) if len(one) <= PARAGRAPH_CHARS]
    if len(text) > MESSAGE_CHARS:
        paragraphs = [*paragraphs[:1], *paragraphs[1:][-1:]]
    return "\n".join(paragraphs)


def _quoted(found: re.Match[str]) -> str:
    inside = found[0][1:-1]
    return inside if len(inside.split()) <= _NAME_WORDS else QUOTED
