"""Documents of the project and of a folder, which a session keeps in its head."""

from __future__ import annotations

import logging
import os
import re
import stat
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from squidbot.core import events
from squidbot.core.arguments import takes, text
from squidbot.core.budget import count_words, dedupe, truncate_newest
from squidbot.core.compaction.pressure import floor_of, history_of
from squidbot.core.errors import BudgetError, ConfigError, NotFoundError
from squidbot.core.events import Event
from squidbot.core.plan import Section
from squidbot.core.transcript.documents import DOCUMENT, Document
from squidbot.core.view.steps import speaks
from squidbot.wiring.registry import read_yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from squidbot.config import Loaded
    from squidbot.core.budget import HistoryCaps, PolicyCaps, TrimRule
    from squidbot.core.engine import CoreSession, Inputs
    from squidbot.core.messages import Message
    from squidbot.core.ports import Observer
    from squidbot.core.tokens.counters import Meter
    from squidbot.core.transcript.documents import SessionDocuments
    from squidbot.core.view.assembly import CoreAssembly


# Reads a file's text safely: below a folder, of limited size, and only text.

# No window has room for a larger document.
MOST_BYTES: Final = 1024 * 1024
MOST_NAME_CHARS: Final = 200
_LOG = logging.getLogger("squidbot")
# Characters that would end the line that names a document in a request; paths have none.
_REFUSED: Final = re.compile(r"[\x00-\x1f\x7f<>\ud800-\udfff]")


def named(path: str) -> str:
    """Return a path below a folder in its stored form: with "/" between its parts, without "." in front.

    Raises:
        ConfigError: it leads outside, or is not a valid document name.
    """
    parts = [part for part in path.replace("\\", "/").split("/") if part not in {"", "."}]
    if not parts or ".." in parts or Path(path).is_absolute() or path.startswith(("/", "~")) or ":" in parts[0]:
        raise ConfigError(f"{path!a:.80} is not a path below the folder; write it as in docs/api.md")
    name = "/".join(parts)
    if len(name) > MOST_NAME_CHARS or _REFUSED.search(name):
        raise ConfigError(
            f"{path!a:.80} is not a valid document name: at most {MOST_NAME_CHARS} characters, without < and >"
        )
    return name


def below(folder: Path, name: str) -> Path:
    """Return the file of a name below a folder, with all links followed.

    Raises:
        NotFoundError: there is no such file.
        ConfigError: a link leads out of the folder.
    """
    try:
        root = folder.resolve(strict=True)
        file = (root / name).resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise NotFoundError(f"no such file: {name!a:.120} below {folder}") from error
    if not file.is_relative_to(root):
        raise ConfigError(f"{name!a:.120} is outside of {folder}; copy the file into it")
    return file


def text_of(file: Path, name: str) -> str:
    """Return the text of a file, with Unix line ends. Errors call it `name`.

    Raises:
        NotFoundError: there is no such file.
        ConfigError: it can't be read, is larger than 1 MiB, or is not UTF-8 text.
    """
    try:
        # A pipe would wait for its writer.
        with os.fdopen(os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise NotFoundError(f"{name!a:.120} is not a file")
            content = opened.read(MOST_BYTES + 1)
    except FileNotFoundError as error:
        raise NotFoundError(f"no such file: {name!a:.120}") from error
    except IsADirectoryError as error:
        raise NotFoundError(f"{name!a:.120} is a folder; name a file in it") from error
    except OSError as error:
        raise ConfigError(f"{name!a:.120} cannot be read: {error.strerror or error}") from error
    if len(content) > MOST_BYTES:
        raise ConfigError(f"{name!a:.120} is larger than {MOST_BYTES:,} bytes; split it")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{name!a:.120} is not UTF-8 text: byte {error.start:,}") from error
    if "\x00" in text:
        raise ConfigError(f"{name!a:.120} is not text: it has a NUL character")
    return text.replace("\r\n", "\n").strip("\n")


# The files below a context folder, and those that its configuration names.

CONFIGS: Final = ("context_config.yml", "context_config.yaml")
# How many files are listed at most.
MOST_FILES: Final = 200


def core_files(folder: Path) -> tuple[str, ...]:
    """Return the files for every session, from the folder's configuration; () without one.

    Its list `core_files` has paths below the folder, or mappings with a `path`.

    Raises:
        ConfigError: it can't be read, or is wrong; the text says where.
    """
    for config in CONFIGS:
        try:
            text = text_of(below(folder, config), config)
        except NotFoundError:
            continue
        return tuple(dict.fromkeys(_named(read_yaml(text, str(folder / config)), folder / config)))
    return ()


def files_of(folder: Path) -> list[tuple[str, int]]:
    """Return the files below a folder, each with its size in bytes, by name; hidden ones and links out are left out."""
    found = islice(_walked(folder), MOST_FILES + 1)
    return sorted(found)


def _walked(folder: Path) -> Iterator[tuple[str, int]]:
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        for one in sorted(files):
            name = os.path.relpath(os.path.join(place, one), folder).replace(os.sep, "/")  # noqa: PTH118
            if one.startswith(".") or name in CONFIGS:
                continue
            try:
                yield named(name), below(folder, name).stat().st_size
            except (ConfigError, NotFoundError, OSError):
                continue


def _named(said: object, config: Path) -> Iterator[str]:
    for path in _paths(said, config):
        try:
            yield named(path)
        except ConfigError as error:
            raise ConfigError(f"{config}: {error}") from error


def _paths(said: object, config: Path) -> Iterator[str]:
    listed = said if isinstance(said, dict) else {"core_files": said}
    if unknown := [key for key in listed if key != "core_files"]:
        raise ConfigError(f"{config}: unknown key {unknown[0]!a:.60}; expected core_files, a list of paths")
    files = listed.get("core_files") or []
    if not isinstance(files, list):
        raise ConfigError(f"{config}: core_files must be a list of paths below the folder")
    for file in files:
        path = file.get("path") if isinstance(file, dict) else file
        if not isinstance(path, str):
            raise ConfigError(f"{config}: core_files has {file!a:.60}; each item must be a path below the folder")
        yield path


# The documents of a project, cut to their caps.

PROJECT: Final = "[project]"
# The first that exists is used, up to this many characters:
FILES: Final = (("PENGUIN.md", 2400), ("AGENTS.md", 2000), ("README.md", 1200))


def project_document(folder: Path) -> Document | None:
    """Return the first of PENGUIN.md, AGENTS.md and README.md in a folder, cut to its cap; None if there is none.

    Raises:
        ConfigError: it can't be read.
    """
    for name, most_chars in FILES:
        try:
            text = text_of(folder / name, name)
        except NotFoundError:
            continue
        if text.strip():
            return Document(PROJECT, f"{name}:\n{_cut(text, most_chars)}")
    return None


def _cut(text: str, most_chars: int) -> str:
    if len(text) <= most_chars:
        return text
    mark = f"\n[the first {most_chars:,} of {len(text):,} characters]"
    if most_chars <= len(mark):
        raise ConfigError(f"{most_chars} characters are too few for a document")
    return text[: most_chars - len(mark)].rstrip() + mark


# The documents that settings and a session want: read, stored, and loaded and dropped on demand.

Value = TypeVar("Value")


@dataclass
class DocumentSources:
    """The documents of one session, and their files.

    Attributes:
        documents: the session's documents.
        folder: the folder of files to load; None if settings name none.
        project: the folder of the project's documents; None if settings want none.
        told: called once with each problem that nobody's call has caused.
    """

    documents: SessionDocuments
    folder: Path | None = None
    project: Path | None = None
    told: Callable[[str], None] = lambda _said: None
    _known: set[str] = field(default_factory=set)
    _seen: object = None

    @classmethod
    def of(cls, loaded: Loaded, documents: SessionDocuments, told: Callable[[str], None]) -> DocumentSources:
        """Return the sources that settings name."""
        context = loaded.settings.context
        folder = Path(loaded.absolute(context.folder)) if context.folder else None
        return cls(documents, folder, loaded.folder if context.autoload_project_docs else None, told)

    @takes(path=text)
    def load(self, path: str) -> Document:
        """Store a file below the folder, as it is now, as a document of the session, and return it.

        Raises:
            ConfigError: settings name no folder, the path leads out of it, or the file is not text.
            NotFoundError: there is no such file.
            BudgetError: the documents would exceed their share of the window; nothing was stored.
            StoreError: nothing was stored.
        """
        folder = self._folder()
        name = named(path)
        document = Document(name, text_of(below(folder, name), name))
        if not document.text.strip():
            raise ConfigError(f"{name!a:.120} is empty; there is nothing to load")
        self.documents.keep(document)
        return document

    @takes(name=text, text=text)
    def add(self, name: str, text: str) -> Document:
        """Store a text as a document of the session, and return it; `drop` takes its name.

        Raises:
            ConfigError: name or text is empty.
            BudgetError: the documents would exceed their share of the window; nothing was stored.
            StoreError: nothing was stored.
        """
        if not name.strip() or not text.strip():
            raise ConfigError("a document needs a name and a text")
        document = Document(name.strip(), text)
        self.documents.keep(document)
        return document

    @takes(path=text)
    def drop(self, path: str) -> None:
        """Remove a document from the session's head; its file stays as it is.

        Raises:
            NotFoundError: the session has no document of that name.
            StoreError: nothing was changed.
        """
        known = {one.name for one in self.documents.all()}
        self.documents.drop(path if path in known else _plain(path))

    def files(self) -> list[tuple[str, int]]:
        """Return the files below the folder, each with its size in bytes, by name.

        Raises:
            ConfigError: settings name no folder, or it does not exist.
        """
        return files_of(self._folder())

    def refresh(self) -> None:
        """Store the documents that settings want in every session, and changed files of its documents.

        A file that can't be read, or does not fit, is reported once; the session keeps its old text, and no turn fails.

        Raises:
            StoreError: the store failed.
        """
        if (self.folder is None and self.project is None) or (self._seen and self._seen == self._state()):
            return
        standing = {one.name: one.text for one in self.documents.all()}
        for document in self._wanted(standing):
            if standing.get(document.name) != document.text:
                self._tried(partial(self.documents.keep, document))
        self._seen = self._state()

    def faults(self) -> list[str]:
        """Return the problems of the files that `refresh` reads, one sentence each."""
        found: list[str] = []
        looking = DocumentSources(self.documents, self.folder, self.project, found.append)
        if self.project is not None:
            looking._tried(partial(project_document, self.project))  # its own
        if self.folder is not None:
            folder = looking._tried(self._folder)
            core = looking._tried(partial(core_files, self.folder)) if folder else ()
            for name in core or ():
                looking._tried(partial(self._read, self.folder, name, named=True))
        return found

    def _state(self) -> object:
        """Return a value that changes with the documents: the newest record, and the stamps of the files."""
        last = self.documents.transcripts.last_record(self.documents.session_id, DOCUMENT.name)
        files = [self.project / name for name, _ in FILES] if self.project else []
        if self.folder is not None:
            folder = self.folder
            core = self._tried(lambda: core_files(folder))
            names = (*CONFIGS, *(one.name for one in self.documents.all()), *(core or ()))
            files += [self.folder / name for name in names]
        return last, [_stamp(file) for file in files]

    def _wanted(self, standing: dict[str, str]) -> Iterator[Document]:
        ever = self.documents.ever()
        # A dropped document stays dropped.
        is_out = ever - standing.keys()
        if self.project is not None and PROJECT not in is_out:
            project = self.project
            yield from filter(None, [self._tried(lambda: project_document(project))])
        if self.folder is None:
            return
        folder = self.folder
        core = self._tried(lambda: core_files(folder)) or ()
        names = [*(name for name in standing if name != PROJECT), *(one for one in core if one not in ever)]
        for name in names:
            document = self._tried(partial(self._read, folder, name, named=name in core))
            yield from filter(None, [document])

    def _read(self, folder: Path, name: str, *, named: bool) -> Document | None:
        try:
            return Document(name, text_of(below(folder, name), name))
        except NotFoundError:
            # The session keeps the text of a deleted file; a missing file that settings name is reported.
            if named:
                raise
            return None

    def _tried(self, act: Callable[[], Value]) -> Value | None:
        try:
            return act()
        except (ConfigError, NotFoundError, BudgetError) as error:
            if (said := str(error)) not in self._known:
                self._known.add(said)
                self.told(said)
            return None

    def _folder(self) -> Path:
        if self.folder is None:
            raise ConfigError('context.folder is not set; set it to a folder such as "context"')
        if not self.folder.is_dir():
            raise ConfigError(f"no such folder: {self.folder}; create it, or change context.folder")
        return self.folder


def _stamp(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _plain(path: str) -> str:
    try:
        return named(path)
    except ConfigError:
        return path


# Policy caps: limits for memory and summary documents, and for a whole request.

# Caps of documents by section name.
DOCUMENTS = ("memory", "summary")


@dataclass(slots=True)
class CapPolicy:
    """Assembles under the caps on history and total. They do not count the host's system text and tools.

    Nor do they count the current turn: history is what came before it. `told` has the fallbacks already reported.
    """

    caps: PolicyCaps
    meter: Meter
    rule: TrimRule = "ladder"
    told: set[str] = field(default_factory=set)

    def sections(self, memory: str, summary: str) -> tuple[Section, ...]:
        """Return the host's documents for the head: deduplicated, then each cut to its newest lines."""
        count = self.meter.physical.count if self.caps.unit == "tokens" else count_words
        if self.caps.dedupe and memory and summary:
            summary, _ = dedupe(summary, memory)
        texts = {
            "memory": truncate_newest(memory, self.caps.memory, count),
            "summary": truncate_newest(summary, self.caps.summary, count),
        }
        return tuple(Section(name, text) for name, text in texts.items() if text)

    def assemble(
        self, session: CoreSession, incoming: Sequence[Message], inputs: Inputs, observer: Observer
    ) -> CoreAssembly:
        """Return a request within the caps, or, with an event, the smallest one that must exceed them.

        Raises:
            BudgetError: it does not fit the window.
            InvalidRequestError: no message awaits an answer.
            StoreError: the store failed.
        """
        given = self._within(session, incoming, inputs)
        session.settings = replace(session.settings, cap=self._left(given))
        assembly = session.assemble(incoming, given)
        self._tell(assembly, given, observer, emptied=given is not inputs)
        return assembly

    def _left(self, inputs: Inputs) -> HistoryCaps:
        """Return the rest of the caps after the documents."""
        memory, summary = (self._units(inputs, name) for name in DOCUMENTS)
        return self.caps.left(memory, summary, reduces=self.rule == "ladder")

    def _units(self, inputs: Inputs, name: str) -> int:
        """Return the cost of a document, in the unit of the caps."""
        return sum(self.meter.text(section.text).estimate for section in inputs.sections if section.name == name)

    def _within(self, session: CoreSession, incoming: Sequence[Message], inputs: Inputs) -> Inputs:
        """Return the inputs with the documents that fit beside the newest messages: the summary goes first.

        With the rule "ladder", messages are cut instead.
        """
        if self.rule == "ladder":
            return inputs
        standing, left = session.room().view, self._left(inputs)
        behind = standing.messages if any(map(speaks, incoming)) else standing.turn
        over = floor_of(standing, behind, left) - left.total
        texts = {section.name: section.text for section in inputs.sections}
        for name in reversed(DOCUMENTS):
            cost = self._units(inputs, name)
            if over > 0 < cost:
                texts[name] = truncate_newest(texts[name], max(0, cost - over), self._count)
                over -= cost
        cut = (section._replace(text=texts[section.name]) for section in inputs.sections)
        sections = tuple(one for one in cut if one.text)
        return inputs if sections == inputs.sections else replace(inputs, sections=sections)

    def _count(self, text: str) -> int:
        return self.meter.text(text).estimate

    def _tell(self, assembly: CoreAssembly, inputs: Inputs, observer: Observer, *, emptied: bool) -> None:
        """Report at a new turn what exceeds the caps, and each fallback once."""
        fallbacks = [cause for cause in self._fallbacks(emptied=emptied) if cause not in self.told]
        self.told.update(fallbacks)
        told = [(events.BUDGET_FALLBACK, cause) for cause in fallbacks]
        if (cause := self._overrun(assembly, inputs)) is not None:
            told.append((events.BUDGET_OVERRUN, cause))
        window, bound = assembly.window, assembly.cost.bound
        for cause in fallbacks:  # with no observer, too
            _LOG.warning("session %s: %s", assembly.session_id, cause)
        for name, cause in told:
            costs = (bound, bound) if name == events.BUDGET_FALLBACK else (0, 0)
            event = Event(name, assembly.session_id, cause, window.window_id, -1, *costs, model=window.model)
            observer.notify(event)

    def _overrun(self, assembly: CoreAssembly, inputs: Inputs) -> str | None:
        standing, caps = assembly.view, self.caps
        if not standing.at_turn:
            return None
        history, notes = history_of(standing), standing.summaries.estimate
        if max(history, standing.in_flight.estimate) > caps.history:
            return f"the newest messages exceed the {caps.history:,} {caps.unit} of [budget]"
        documents = sum(self._units(inputs, name) for name in DOCUMENTS)
        over = history + notes + documents > caps.total
        return f"history and documents exceed the {caps.total:,} {caps.unit} of [budget]" if over else None

    def _fallbacks(self, *, emptied: bool) -> Iterator[str]:
        if emptied:
            yield "the newest messages leave too little room for summary and memory"
        if self.caps.unit == "tokens" and self.meter.physical.name == "words":
            yield "caps are in tokens, but budget.counter counts words; counting words"
