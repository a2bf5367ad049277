"""A folder with a file for each model, under the model's name, written whole or not at all.

If models' names are spelled alike as files, the first has the name, the others a digest after it, and an index in the
folder maps files to models. A damaged file is set aside and never lost.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from squidbot.adapters.common.files import lock, make_folder, open_own, sync, write
from squidbot.core.errors import DamagedStoreError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["ModelFiles", "name_of"]

# Hidden, so no model's file has this name.
_INDEX: Final = ".index.json"
_LOCK: Final = ".index.lock"
# Valid names of such files: no other index entry can lead out of the folder.
_NAME: Final = re.compile(r"[a-z0-9_+][a-z0-9_+-]{0,200}", re.ASCII)
# Names that Windows gives to devices.
_TAKEN: Final = re.compile(r"con|prn|aux|nul|com[0-9]|lpt[0-9]")
# With a digest and ".json" below 255 bytes, which every file system allows.
MOST_NAME_CHARS: Final = 120


def name_of(model: str) -> str:
    """Return a model's name as that of a file, without ".json": `qwen2.5:7b` -> `qwen2-5-7b`.

    ":", "." and spaces, and all other characters unfit for file names, become "-"; letters are small. No name is
    "unknown". A name that is too long, a device's, or begins with "-", gets a digest.
    """
    name = re.sub(r"[^a-z0-9_+-]", "-", model.lower(), flags=re.ASCII) or "unknown"
    if name.startswith("-"):
        return _with_digest(name.lstrip("-") or "unknown", model)
    return _with_digest(name, model) if len(name) > MOST_NAME_CHARS or _TAKEN.fullmatch(name) else name


def _with_digest(name: str, model: str) -> str:
    return f"{name[:MOST_NAME_CHARS]}-{_digest(model.encode('utf-8', 'surrogatepass'))}"


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()[:8]


class ModelFiles:
    """A folder of such files.

    `owner` reads a file's text: it returns the file's model, or raises ValueError. `fresh` returns the text of a
    model's file in which nothing was said.

    Attributes:
        failure: why the newest `save` failed; "" if it succeeded.
        aside: where the newest `load` has put the damaged file; `None` if there was none.
    """

    def __init__(
        self, folder: str | os.PathLike[str], owner: Callable[[str], str], fresh: Callable[[str], str]
    ) -> None:
        """Name a folder, created with the first file."""
        self.folder = Path(folder)
        self._owner, self._fresh = owner, fresh
        self.failure = ""
        self.aside: Path | None = None

    def path_of(self, model: str) -> Path:
        """Return the file of a model, whether it exists or not.

        Raises:
            StoreError: the folder can't be read.
        """
        try:
            owners = self._owners()
        except OSError as error:
            raise StoreError(f"{self.folder}: can't be read: {error.strerror or error}") from error
        for name, one in owners.items():
            if one == model:
                return self.folder / f"{name}.json"
        name = name_of(model)
        return self.folder / f"{_with_digest(name, model) if name in owners else name}.json"

    def indexed(self, path: Path) -> str:
        """Return the model that the index has for a file; "" if it has none."""
        return self._index().get(path.stem, "")

    def load(self, model: str) -> str:
        """Return the text of a model's file; a fresh text if it is missing.

        Set a damaged file aside, and put the backup of a writer that died midway, or a fresh file, in its place. If
        the fresh one can't be written, `failure` says why.

        Raises:
            StoreError: the file can't be read or set aside.
        """
        path, self.aside = self.path_of(model), None
        try:
            for _ in range(2):
                with suppress(DamagedStoreError):
                    return self._text(path)
                self.aside = self.set_aside(path, "damaged")
                backup = path.with_suffix(".backup")
                if not backup.exists():
                    break
                backup.replace(path)
        except FileNotFoundError:
            return self._recovered(path) or self._fresh(model)
        except OSError as error:
            raise StoreError(f"{path}: can't be read: {error.strerror or error}") from error
        text = self._fresh(model)
        self.save(model, text)
        return text

    def save(self, model: str, text: str) -> bool:
        """Write a model's file whole, durably, and return whether it worked; if not, `failure` says why.

        Keep a copy as `.backup` meanwhile; read and check the new file before it gets the name. After any failure the
        file is unchanged, and nothing of the attempt remains.
        """
        self.failure = ""
        try:
            path = self.path_of(model)
            make_folder(self.folder)
            with self._writing():
                path = self.path_of(model)
                self._replace(path, model, text)
        except OSError as error:
            self.failure = f"{error.filename or self.folder}: can't be written: {error.strerror or error}"
        except (StoreError, ValueError) as error:
            self.failure = str(error)
        return not self.failure

    def set_aside(self, path: Path, why: str) -> Path:
        """Rename a file to `NAME.json.WHY-DIGEST`, the digest of its bytes, and return the path.

        Raises:
            OSError: it can't be renamed.
        """
        aside = path.with_name(f"{path.name}.{why}-{_digest(path.read_bytes())}")
        path.replace(aside)
        return aside

    def _recovered(self, path: Path) -> str | None:
        """Return the backup's text of a missing file, restored as the file; `None` without a backup."""
        backup = path.with_suffix(".backup")
        try:
            text = self._text(backup)
            backup.replace(path)
        except (OSError, DamagedStoreError):
            return None
        return text

    def _replace(self, path: Path, model: str, text: str) -> None:
        backup, part = path.with_suffix(".backup"), path.with_name(f".{path.name}.part-{os.getpid()}")
        try:
            self._back_up(path, model, part)
            write(part, text.encode())
            if self._owner(part.read_text("utf-8")) != model:
                raise StoreError(f"{path}: what was written is not what was to be written; the file is as it was")
            self._note(path, model)
            part.replace(path)
            self._last(path, backup)
        finally:
            if backup.exists() and not path.exists():
                backup.replace(path)
            backup.unlink(missing_ok=True)
            part.unlink(missing_ok=True)

    def _last(self, path: Path, backup: Path) -> None:
        """Make a new name durable, or restore the file."""
        try:
            sync(self.folder)
        except OSError:
            if backup.exists():
                backup.replace(path)
            else:
                path.unlink()
            raise

    def _back_up(self, path: Path, model: str, part: Path) -> None:
        """Copy a model's file to its `.backup`; set aside a file that is not of that model."""
        if not path.exists():
            return
        try:
            is_own = self._owner(self._text(path)) == model
        except DamagedStoreError:
            is_own = False
        if is_own:
            write(part, path.read_bytes())
            part.replace(path.with_suffix(".backup"))
        else:
            self.set_aside(path, "damaged")

    def _note(self, path: Path, model: str) -> None:
        """Index a file's model before the file exists: two models never take one name."""
        owners = self._owners()
        if owners.get(path.stem) != model:
            value = {"files": dict(sorted({**owners, path.stem: model}.items()))}
            part = self.folder / f"{_INDEX}.part-{os.getpid()}"
            write(part, json.dumps(value, indent=2).encode())
            part.replace(self.folder / _INDEX)

    def _owners(self) -> dict[str, str]:
        """Return each file's model, by its name without ".json": from the index, else from the file."""
        named = self._index()
        paths = sorted(self.folder.glob("*.json")) if self.folder.is_dir() else []
        for path in paths:
            if path.stem not in named and not path.name.startswith("."):
                # An unreadable one takes no name from others: writing it fails.
                with suppress(DamagedStoreError, OSError):
                    named[path.stem] = self._owner(self._text(path))
        return named

    def _index(self) -> dict[str, str]:
        """Return the index; empty if it is damaged: the files have the same data."""
        try:
            value = json.loads((self.folder / _INDEX).read_bytes())
            return {name: str(model) for name, model in value["files"].items() if _NAME.fullmatch(name)}
        except (FileNotFoundError, NotADirectoryError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return {}

    def _text(self, path: Path) -> str:
        """Return the text of a file.

        Raises:
            DamagedStoreError: it is not a model's file.
            OSError: it can't be read.
        """
        data = path.read_bytes()
        try:
            text = data.decode("utf-8-sig")
            self._owner(text)
        except ValueError as error:
            raise DamagedStoreError(f"{path}: {error}") from error
        return text

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with open_own(self.folder / _LOCK, "a") as file:
            lock(file)
            yield
