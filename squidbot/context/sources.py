"""Which documents settings and a session want: read, kept, and loaded and dropped on demand."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from squidbot.context.folder import CONFIGS, core_files, files_of
from squidbot.context.project import FILES, PROJECT, project_document
from squidbot.context.reading import below, named, text_of
from squidbot.core.arguments import takes, text
from squidbot.core.contexts import KIND, Document
from squidbot.core.errors import BudgetError, ConfigError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from squidbot.config import Loaded
    from squidbot.core.contexts import Documents

__all__ = ["Sources"]

Value = TypeVar("Value")


@dataclass
class Sources:
    """The documents of one session, beside the files that they are from.

    Attributes:
        documents: what the session keeps.
        folder: where files are loaded from; None where settings name none.
        project: where the project's documents are looked for; None where they are not.
        told: is called with what went wrong unasked, once for each such thing.
    """

    documents: Documents
    folder: Path | None = None
    project: Path | None = None
    told: Callable[[str], None] = lambda _said: None
    _known: set[str] = field(default_factory=set)
    _seen: object = None

    @classmethod
    def of(cls, loaded: Loaded, documents: Documents, told: Callable[[str], None]) -> Sources:
        """Return those of settings."""
        context = loaded.settings.context
        folder = Path(loaded.absolute(context.folder)) if context.folder else None
        return cls(documents, folder, loaded.folder if context.autoload_project_docs else None, told)

    @takes(path=text)
    def load(self, path: str) -> Document:
        """Keep a file below the folder as a document of the session, as it is now, and return it.

        Raises:
            ConfigError: settings name no folder, the path leads out of it, or the file is no text.
            NotFoundError: there is no such file.
            BudgetError: the documents would be more than their share of the window; nothing was kept.
            StoreError: nothing was kept.
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
        """Keep a text as a document of the session, under a name that it is dropped by, and return it.

        Raises:
            ConfigError: name or text is empty.
            BudgetError: the documents would be more than their share of the window; nothing was kept.
            StoreError: nothing was kept.
        """
        if not name.strip() or not text.strip():
            raise ConfigError("a document of context has a name and a text; one of them is empty")
        document = Document(name.strip(), text)
        self.documents.keep(document)
        return document

    @takes(path=text)
    def drop(self, path: str) -> None:
        """Take a document out of the session's head; its file stays as it is.

        Raises:
            NotFoundError: the session has none of that name.
            StoreError: nothing was changed.
        """
        known = {one.name for one in self.documents.all()}
        self.documents.drop(path if path in known else _plain(path))

    def files(self) -> list[tuple[str, int]]:
        """Return the files below the folder, each with its size in bytes, by name.

        Raises:
            ConfigError: settings name no folder, or it is not there.
        """
        return files_of(self._folder())

    def refresh(self) -> None:
        """Keep what settings want of every session, and what has changed of the files of its documents.

        What can't be read, or does not fit, is told once and stays as the session has it: no turn fails of it.

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
        """Return what is wrong with what `refresh` reads unasked, a sentence each."""
        found: list[str] = []
        looking = Sources(self.documents, self.folder, self.project, found.append)
        if self.project is not None:
            looking._tried(partial(project_document, self.project))  # its own
        if self.folder is not None:
            folder = looking._tried(self._folder)
            core = looking._tried(partial(core_files, self.folder)) if folder else ()
            for name in core or ():
                looking._tried(partial(self._read, self.folder, name, named=True))
        return found

    def _state(self) -> object:
        """Return what tells whether anything has changed: the newest record, and the stamps of the files."""
        last = self.documents.transcripts.last_record(self.documents.session_id, KIND)
        files = [self.project / name for name, _ in FILES] if self.project else []
        if self.folder is not None:
            folder = self.folder
            core = self._tried(lambda: core_files(folder))
            names = (*CONFIGS, *(one.name for one in self.documents.all()), *(core or ()))
            files += [self.folder / name for name in names]
        return last, [_stamp(file) for file in files]

    def _wanted(self, standing: dict[str, str]) -> Iterator[Document]:
        ever = self.documents.ever()
        # What was dropped by hand stays dropped.
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
            # A file that went away leaves its text with the session; one that is to be there is missed.
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
            raise ConfigError('no context folder is named; set context.folder to one, such as "context"')
        if not self.folder.is_dir():
            raise ConfigError(f"there is no folder {self.folder}; make it, or change context.folder")
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
