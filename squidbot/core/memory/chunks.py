"""Files cut into chunks that can be found by themselves, and the cards that say which chunks a file has."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from math import isfinite
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from squidbot.core.memories import CARDS, JOURNAL, Memory, Source, memory_id_of
from squidbot.core.text import read_iso_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from squidbot.core.memories import Scope, Trust
    from squidbot.core.messages import Message


Kind = Literal["text", "list", "code", "table", "front"]

_HEADING: Final = re.compile(r" {0,3}(#{1,6})(?:[ \t](.*))?")
_CLOSING: Final = re.compile(r"(?:\A|[ \t])#+\Z")
_UNDERLINE: Final = re.compile(r" {0,3}(=+|-+)[ \t]*")
_RULE: Final = re.compile(r" {0,3}(?:(?:\*[ \t]*+|(?!)){3,}+|(?:_[ \t]*+|(?!)){3,}+|(?:-[ \t]*+|(?!)){3,}+)\Z")
_FENCE: Final = re.compile(r" {0,8}(?:[-*+>] +)?(`{3,}|~{3,})([^`]*)")
_ITEM: Final = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\S")
_TABLE: Final = re.compile(r"[ \t]*\|")
_KEY: Final = re.compile(r"(?:- |[^\s#\-][^:]*:(?:\s|\Z)|---)")
_TITLE: Final = re.compile(r"^title[^\S\n]*+[:=](.+)", re.MULTILINE | re.IGNORECASE)
_FRONTS: Final = ("---", "+++")
_MARKUP: Final = re.compile(r"!?\[([^\[\]\n]*)\]\([^\[)\n]*\)|[`*]+|<[^<>\n]*>")
MOST_NAME_CHARS, MOST_HEADING_CHARS = 500, 120


class DocumentBlock(NamedTuple):
    """Lines that belong together, and the headings above them, outermost first."""

    text: str
    headings: tuple[str, ...]
    kind: Kind = "text"


def markdown(text: str) -> list[DocumentBlock]:
    """Return the blocks of Markdown: paragraphs, list items with indented lines, fenced code, tables, bare headings."""
    return list(_MarkdownReader(text.split("\n")).blocks())


def paragraphs(text: str) -> list[DocumentBlock]:
    """Return the parts between blank lines."""
    return [DocumentBlock(part.strip("\n"), ()) for part in re.split(r"\n[ \t]*\n", text) if part.strip()]


def yaml(text: str) -> list[DocumentBlock]:
    """Return the top-level entries of YAML, with the lines indented below each."""
    entries: list[list[str]] = [[]]
    for line in text.split("\n"):
        if _KEY.match(line):
            entries.append([])
        if line.strip() and line.strip() not in {"---", "..."}:
            entries[-1].append(line.rstrip())
    return [DocumentBlock("\n".join(lines), ()) for lines in entries if lines]


class _MarkdownReader:
    """Reads Markdown once, from its first line to its last."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0
        self._above: list[tuple[int, str]] = []
        self._is_bare = False  # nothing has come below the last heading

    def blocks(self) -> Iterator[DocumentBlock]:
        yield from self._front()
        while self._at < len(self._lines):
            line = self._lines[self._at]
            heading = _HEADING.fullmatch(line)
            if heading:
                yield from self._enter(len(heading[1]), heading[2] or "")
                self._at += 1
            elif not line.strip() or _UNDERLINE.fullmatch(line) or _RULE.match(line):
                self._at += 1
            elif _FENCE.match(line):
                yield self._block(self._fenced(), "code")
            elif _TABLE.match(line):
                yield self._block(self._while(lambda each: bool(_TABLE.match(each))), "table")
            elif _ITEM.match(line):
                yield self._block(self._item(), "list")
            else:
                yield from self._paragraph()
        yield from self._enter(0, "")

    def _block(self, lines: list[str], kind: Kind = "text") -> DocumentBlock:
        text = "\n".join(line.rstrip() for line in lines).strip("\n")
        self._is_bare = self._is_bare and not any(map(str.isalnum, text))
        return DocumentBlock(text, tuple(name for _, name in self._above), kind)

    def _enter(self, level: int, name: str) -> Iterator[DocumentBlock]:
        """Enter a heading; yield the one before it if that has nothing below it."""
        if self._is_bare and self._above and self._above[-1][0] >= level:
            last = self._above.pop()
            yield self._block([last[1]])
        self._above = [heading for heading in self._above if heading[0] < level]
        cut = _CLOSING.sub("", name.strip()[:MOST_NAME_CHARS])
        plain = " ".join(_MARKUP.sub(lambda found: found[1] or "", cut).split())[:MOST_HEADING_CHARS]
        if plain:
            self._above.append((level, plain))
            self._is_bare = True

    def _front(self) -> Iterator[DocumentBlock]:
        """Yield the front matter between two lines of dashes; its title is the heading above all."""
        mark = self._lines[0].rstrip()
        if mark not in _FRONTS:
            return
        end = next((at for at, line in enumerate(self._lines[1:], 1) if line.rstrip() == mark), 0)
        if not end or any(not line.strip() for line in self._lines[1:end]):
            return
        text = "\n".join(self._lines[1:end])
        title = _TITLE.search(text)
        if title:
            yield from self._enter(0, title[1].strip().strip("\"'"))
        self._at = end + 1
        yield self._block([text], "front")

    def _fenced(self) -> list[str]:
        opened = _FENCE.match(self._lines[self._at])
        mark = opened[1] if opened else "```"
        start = self._at
        self._at += 1
        while self._at < len(self._lines):
            inner = self._lines[self._at].strip().lstrip("> ")
            self._at += 1
            if inner.startswith(mark) and not inner.strip(mark[0]):
                break
        return self._lines[start : self._at]

    def _while(self, belongs: Callable[[str], bool]) -> list[str]:
        start = self._at
        while self._at < len(self._lines) and belongs(self._lines[self._at]):
            self._at += 1
        return self._lines[start : self._at]

    def _item(self) -> list[str]:
        """Return a list item, with the lines indented below it."""
        start = self._at
        indent = _indent(self._lines[start])
        self._at += 1
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if _FENCE.match(line) and _indent(line) > indent:
                self._fenced()
                continue
            if not line.strip():
                if self._indent_behind() <= indent:
                    break
            elif _HEADING.fullmatch(line) or (_ITEM.match(line) and _indent(line) <= indent):
                break
            self._at += 1
        return self._lines[start : self._at]

    def _indent_behind(self) -> int:
        """Return the indent of the next line that is not blank; 0 if there is none."""
        at = self._at
        while at < len(self._lines) and not self._lines[at].strip():
            at += 1
        return _indent(self._lines[at]) if at < len(self._lines) else 0

    def _paragraph(self) -> Iterator[DocumentBlock]:
        lines = self._while(lambda each: bool(each.strip()) and not self._begins(each))
        under = _UNDERLINE.fullmatch(self._lines[self._at]) if self._at < len(self._lines) else None
        if under:
            *lines, name = lines
            if lines:
                yield self._block(lines)
            yield from self._enter(1 if under[1][0] == "=" else 2, name.strip())
            self._at += 1
        else:
            yield self._block(lines)

    def _begins(self, line: str) -> bool:
        """Return whether something else than a paragraph begins at a line."""
        if _UNDERLINE.fullmatch(line):
            return True
        return any(form.match(line) for form in (_FENCE, _TABLE, _ITEM)) or _HEADING.fullmatch(line) is not None


def _indent(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())


# The stored state of a file: its card, and its chunks.

# The collection of chunks.
FILES: Final = "files"
# Increase it with every change of how files become chunks: all are read again then.
RULES = 2
# The reason for chunks that were not forgotten by request; they may come back.
OUTDATED: Final = "its file has changed, or is gone"
# Between the headings above a chunk.
JOINT: Final = " > "
_BY_HAND: Final = "asked for by hand"
_CONFIGURED: Final = "memory.index_paths"
# Forgotten chunks are looked up under so many former names of their file.
MOST_FORMER = 8


@dataclass(frozen=True, slots=True)
class DocumentCard:
    """The state of an indexed file.

    Attributes:
        path: relative to the folder of the settings, with slashes; absolute if it is not below that.
        digest: of its bytes, and of the rules that cut it into chunks.
        stamp: shows without reading the file that it is unchanged; "" if it might change without showing it.
        time: of its last change, in seconds since 1970.
        asked: the path named by hand that it belongs to; "" if the settings name it.
        chunks: the ids of its chunks in order, forgotten ones, too.
        former: its former names.
    """

    path: str
    digest: str
    stamp: str
    time: float
    asked: str = ""
    chunks: tuple[str, ...] = ()
    former: tuple[str, ...] = ()

    @classmethod
    def of(cls, memory: Memory) -> DocumentCard:
        """Return the card that a memory of the collection of cards holds."""
        source, *former = memory.sources
        stamp, *chunks = memory.tags
        asked = memory.reason.partition(": ")[2]
        return cls(
            source.path, source.digest, stamp, memory.time, asked, tuple(chunks), tuple(old.path for old in former)
        )

    def memory(self, scope: Scope) -> Memory:
        """Return it as a memory; its id follows from the state of the file."""
        scope = scope._replace(collection=CARDS)
        source = Source(path=self.path, digest=self.digest)
        return Memory(
            memory_id_of(scope, self.path, (source,)),
            self.path,
            "background",
            scope,
            self.time,
            trust="import",
            tags=(self.stamp, *self.chunks),
            sources=(source, *(Source(path=name) for name in self.former)),
            reason=f"{_BY_HAND}: {self.asked}" if self.asked else _CONFIGURED,
        )


class IndexChange(NamedTuple):
    """The ids to remove and the memories to add, with the numbers of new and old chunks among them."""

    gone: tuple[str, ...]
    memories: tuple[Memory, ...]
    new_chunks: int = 0
    old_chunks: int = 0


def memories_of(chunks: Sequence[Chunk], card: DocumentCard, scope: Scope) -> list[Memory]:
    """Return the chunks of a file as memories.

    An id follows from scope, path, words, and how often these came before in the file: a chunk keeps its id while its
    words stay, wherever in the file they stand.
    """
    return [
        Memory(
            memory_id,
            _text(chunk),
            "background",
            scope._replace(collection=FILES),
            card.time if chunk.time is None else chunk.time,
            trust=chunk.trust,
            speaker=chunk.speaker,
            tags=(*chunk.headings, chunk.tag) if chunk.tag else chunk.headings,
            sources=(Source(chunk.talk, place, place, card.path, card.digest),),
            reason="its file is indexed",
        )
        for place, (chunk, memory_id) in enumerate(zip(chunks, ids_of(chunks, card.path, scope), strict=True))
    ]


def ids_of(chunks: Iterable[Chunk], path: str, scope: Scope) -> list[str]:
    """Return the ids of chunks in a file of that path."""
    scope = scope._replace(collection=FILES)
    seen: Counter[tuple[str, str, str]] = Counter()
    found = []
    for chunk in chunks:
        words = (chunk.talk, chunk.speaker, _text(chunk))
        seen[words] += 1
        found.append(memory_id_of(scope, words[2], (Source(chunk.talk, seen[words], -1, path, chunk.speaker),)))
    return found


def exchange(
    card: DocumentCard, scope: Scope, memories: Sequence[Memory], old: Iterable[Memory], there: Iterable[Memory]
) -> IndexChange:
    """Return the exchange after which a file has the chunks `memories` and this card.

    `old` are the cards that go: of its former states or names; `there` those of their chunks, and of the new ones, that
    are in the store.
    """
    cards = {memory.memory_id: memory for memory in old}
    stored = {memory.memory_id: memory for memory in there}
    outdated = stored.keys() - {memory.memory_id for memory in memories}
    gone = [memory_id for memory_id in chunks_of(cards.values()) if memory_id in outdated]
    new, moved = [], {}
    for memory in memories:
        before = stored.get(memory.memory_id)
        if before is None:
            new.append(memory)
            continue
        # A chunk without a time of its own is as old as its words, not as the file.
        now = replace(memory, time=before.time) if memory.time == card.time else memory
        if _identity(before) != _identity(now):
            moved[now.memory_id] = now
    coming = (*moved.values(), *new, card.memory(scope))
    return IndexChange((*gone, *moved, *cards), coming, len(new), len(gone))


def chunks_of(cards: Iterable[Memory]) -> list[str]:
    """Return the ids of all chunks that cards name, each once, in order."""
    return list(dict.fromkeys(memory_id for card in cards for memory_id in DocumentCard.of(card).chunks))


def removal(old: Sequence[Memory], there: Iterable[Memory]) -> IndexChange:
    """Return the exchange that removes files: their cards, and their chunks that are in the store."""
    chunks = [memory.memory_id for memory in there]
    return IndexChange((*chunks, *(card.memory_id for card in old)), (), 0, len(chunks))


def _identity(memory: Memory) -> tuple[object, ...]:
    """Return what a chunk is compared by: everything but the state of its file."""
    places = tuple(source._replace(digest="") for source in memory.sources)
    return (memory.text, memory.time, memory.tags, memory.speaker, memory.trust, places)


def _text(chunk: Chunk) -> str:
    """Return the words that a chunk is found by: its headings, then its own."""
    return f"{JOINT.join(chunk.headings)}\n{chunk.text}" if chunk.headings else chunk.text


# Chunks, and how long they may be.

# Of recorded talk, as one file, 87 % of questions had all their evidence within 1,000 tokens by turns, 86 by chunks of
# 40 words, 84 of 80, 80 of 150; without their places, so that no neighbour speaks, 75, 77, 79 and 79. Prose is not
# cut at 40: an argument is longer than a turn, and each chunk carries its headings.
CHUNK_WORDS = 80
# Paragraphs and turns of up to so many words stay whole; code and tables of up to so many more.
MOST_WORDS = 160
MOST_CODE_WORDS = 400
# A word of English and the space behind it; code and writing without spaces are counted by their bytes in UTF-8.
WORD_BYTES = 7

_SENTENCE_END = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s+|(?<=[\u3002\uff01\uff1f])")


class Chunk(NamedTuple):
    """A part of a file that is found by itself.

    Attributes:
        text: its words.
        headings: those above it, outermost first.
        talk: the conversation of its file that it belongs to; "" for none.
        speaker: who says it; "" if nobody does.
        time: when it was said, in seconds since 1970; `None`: the time of its file.
        trust: who it is from.
        tag: the kind of its file; "" for none.
    """

    text: str
    headings: tuple[str, ...] = ()
    talk: str = ""
    speaker: str = ""
    time: float | None = None
    trust: Trust = "import"
    tag: str = ""


def count_words(text: str) -> int:
    """Return the length of a text in words of English, roughly."""
    return max(len(text.split()), len(text.encode("utf-8", "surrogatepass")) // WORD_BYTES)


def packed(texts: Iterable[str], joint: str, most_words: int = CHUNK_WORDS) -> Iterator[str]:
    """Yield neighbouring texts joined up to `most_words`; a longer text alone."""
    kept: list[str] = []
    length = 0
    for text in texts:
        words = count_words(text)
        if kept and length + words > most_words:
            yield joint.join(kept)
            kept, length = [], 0
        kept.append(text)
        length += words
    if kept:
        yield joint.join(kept)


def cut(text: str, most_words: int = MOST_WORDS) -> Iterator[str]:
    """Yield a text, or if it is longer than `most_words`, its parts of about `CHUNK_WORDS`: lines, sentences, words."""
    if count_words(text) <= most_words:
        yield text
        return
    yield from packed((part for line in text.split("\n") for part in _parts(line, most_words)), "\n")


def _parts(line: str, most_words: int) -> Iterator[str]:
    if count_words(line) <= most_words:
        yield line
        return
    for sentence in packed(filter(None, _SENTENCE_END.split(line)), " "):
        yield from (sentence,) if count_words(sentence) <= most_words else _word_runs(sentence)


def _word_runs(text: str) -> Iterator[str]:
    """Yield a text without sentences by its words, and a long word by its characters."""
    chars = CHUNK_WORDS * WORD_BYTES // 2
    words = (word[at : at + chars] for word in text.split() for at in range(0, len(word), chars))
    yield from packed(words, " ")


# Markdown, plain text and YAML in chunks: text below one heading together, code whole, headings kept.

_DAY: Final = re.compile(r"(?<!\d)(\d{4})[-_.]?(\d\d)[-_.]?(\d\d)(?!\d)")
_BARE_ROW: Final = re.compile(r"[|:\-\s]*")
_FORMS: Final[Mapping[str, Callable[[str], list[DocumentBlock]]]] = {
    "md": markdown,
    "markdown": markdown,
    "mdx": markdown,
    "rst": markdown,
    "txt": markdown,
    "yaml": yaml,
    "yml": yaml,
}


def prose(text: str, name: str) -> list[Chunk]:
    """Return the chunks of a text; the name of its file gives its form, and is the top heading.

    A day in the name or in a heading is when it was said.
    """
    stem, _, suffix = name.rpartition(".")
    read = _FORMS.get(suffix.lower(), paragraphs) if stem else markdown
    title = stem or name
    found = read(text.replace("\r\n", "\n").replace("\r", "\n"))
    return [
        Chunk(part, headings or (title,), time=_time((title, *headings)))
        for headings, same in groupby(found, key=lambda block: block.headings)
        for run in _runs(same)
        for part in packed(_cuts(run), "\n")
        if any(map(str.isalnum, part))
    ]


def _runs(found: Iterable[DocumentBlock]) -> Iterator[list[DocumentBlock]]:
    """Yield blocks that may be one chunk; code ends it, as the text after it is about something else."""
    run: list[DocumentBlock] = []
    for block in found:
        run.append(block)
        if block.kind in {"code", "table"}:
            yield run
            run = []
    yield run


def _cuts(found: Sequence[DocumentBlock]) -> Iterator[str]:
    for block in found:
        if block.kind == "table" and count_words(block.text) > MOST_WORDS:
            yield from _rows(block.text.split("\n"))
        else:
            yield from cut(block.text, MOST_CODE_WORDS if block.kind == "code" else MOST_WORDS)


def _rows(lines: Sequence[str]) -> Iterator[str]:
    """Yield a table in parts, each with the head of it."""
    head, rows = lines[:1], [line for line in lines[1:] if not _BARE_ROW.fullmatch(line)]
    for part in packed((part for row in rows for part in cut(row)), "\n"):
        yield "\n".join((*head, part))


def _time(names: Sequence[str]) -> float | None:
    """Return the innermost day that is named, at noon, in seconds since 1970; `None` if none is."""
    for name in reversed(names):
        for year, month, day in _DAY.findall(name):
            try:
                return datetime(int(year), int(month), int(day), 12, tzinfo=UTC).timestamp()
            except ValueError:
                continue
    return None


# Recorded messages and the entries of a journal in chunks: one for each, several for a long one.

# Names of the fields of journals: time, author, words.
_TIMES: Final = ("time", "timestamp", "ts", "date", "datetime", "created_at", "at")
_SPEAKERS: Final = ("speaker", "author", "role", "from")
_WORDS: Final = ("text", "content", "message", "entry", "note", "summary", "body")
_NOTHING: Final[tuple[object, ...]] = (None, "", [], {})
# Later than the year 5000 in seconds: it is milliseconds.
_MILLISECONDS_FROM: Final = 1e11
# Of a tool call its name and so many characters of its arguments count.
CALL_CHARS = 300


def talk(name: str, messages: Iterable[Message], redacted: Callable[[str], str]) -> Iterator[Chunk]:
    """Yield the chunks of a conversation; the output of tools has their trust, and system messages are left out."""
    for message in messages:
        if message.role == "system":
            continue
        printed = message.role == "tool" or bool(message.results)
        calls = (f"{call.name} {call.arguments[:CALL_CHARS]}" for call in message.calls)
        text = redacted("\n".join(filter(None, (message.text, *calls))))
        for part in cut(text):
            if any(map(str.isalnum, part)):
                speaker = "tool" if printed else message.role
                yield Chunk(part, (), name, speaker, _finite(message.time), "tool" if printed else "import")


def entries(values: Iterable[Mapping[str, object]], redacted: Callable[[str], str]) -> Iterator[Chunk]:
    """Yield the chunks of a journal: of each entry its words first, then its other fields with their names."""
    for value in values:
        when = next((name for name in _TIMES if _talk_time(value.get(name)) is not None), "")
        who = _texts(value, _SPEAKERS)[:1]
        words = _texts(value, _WORDS)
        others = [name for name in value if name not in {when, *who, *words} and value[name] not in _NOTHING]
        text = "\n".join(
            (*(str(value[name]) for name in words), *(f"{name}: {_shown(value[name])}" for name in others))
        )
        speaker = redacted(str(value[who[0]])) if who else ""
        trust: Trust = "tool" if speaker == "tool" else "import"
        whole = Chunk("", (), "", speaker, _talk_time(value.get(when)), trust, JOURNAL)
        yield from (whole._replace(text=part) for part in cut(redacted(text)) if any(map(str.isalnum, part)))


def _texts(value: Mapping[str, object], names: Iterable[str]) -> list[str]:
    """Return which of these fields are texts, and not empty."""
    return [name for name in names if isinstance(value.get(name), str) and value[name]]


def _shown(value: object) -> str:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _talk_time(value: object) -> float | None:
    """Return a time in seconds since 1970, `None` if it is none; a text without a zone is UTC."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        if not isinstance(value, str):
            seconds = float(value)
            return _finite(seconds / 1000 if abs(seconds) >= _MILLISECONDS_FROM else seconds)
        return read_iso_time(value.strip())
    except (ValueError, OverflowError):
        return None


def _finite(seconds: float | None) -> float | None:
    """Return a time, `None` for NaN and Infinity, which Python reads in JSON."""
    return seconds if seconds is not None and isfinite(seconds) else None
