"""A file's text, read safely: below a folder, of a size, and text at all."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Final

from squidbot.core.errors import ConfigError, NotFoundError

__all__ = ["MOST_BYTES", "below", "named", "text_of"]

# More than any window that takes a quarter of it has room for is no document.
MOST_BYTES: Final = 1024 * 1024
MOST_NAME_CHARS: Final = 200
# What would end the line that names a document in a request, and what no path has.
_REFUSED: Final = re.compile(r"[\x00-\x1f\x7f<>\ud800-\udfff]")


def named(path: str) -> str:
    """Return a path below a folder as it is kept: with "/" between its parts, without "." in front.

    Raises:
        ConfigError: it leads elsewhere, or can't be the name of a document.
    """
    parts = [part for part in path.replace("\\", "/").split("/") if part not in {"", "."}]
    if not parts or ".." in parts or Path(path).is_absolute() or path.startswith(("/", "~")) or ":" in parts[0]:
        raise ConfigError(f"{path!a:.80} is no path below the folder; write for example docs/api.md")
    name = "/".join(parts)
    if len(name) > MOST_NAME_CHARS or _REFUSED.search(name):
        raise ConfigError(f"{path!a:.80} is no name of a document: up to {MOST_NAME_CHARS} characters, none of < and >")
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
        raise NotFoundError(f"there is no file {name!a:.120} below {folder}") from error
    if not file.is_relative_to(root):
        raise ConfigError(f"{name!a:.120} leads out of {folder}; put the file itself there")
    return file


def text_of(file: Path, name: str) -> str:
    """Return the text of a file; line ends are made those of Unix. `name` is what errors call it.

    Raises:
        NotFoundError: it is not there, or no file.
        ConfigError: it can't be read, is larger than 1 MiB, or no text in UTF-8.
    """
    try:
        # A pipe would wait for its writer.
        with os.fdopen(os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise NotFoundError(f"{name!a:.120} is no file")
            content = opened.read(MOST_BYTES + 1)
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no file {name!a:.120}") from error
    except IsADirectoryError as error:
        raise NotFoundError(f"{name!a:.120} is a folder; name a file in it") from error
    except OSError as error:
        raise ConfigError(f"{name!a:.120} can't be read: {error.strerror or error}") from error
    if len(content) > MOST_BYTES:
        raise ConfigError(f"{name!a:.120} is larger than {MOST_BYTES:,} bytes; take a part of it")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{name!a:.120} is no text in UTF-8: byte {error.start:,}") from error
    if "\x00" in text:
        raise ConfigError(f"{name!a:.120} is no text: it has a NUL character")
    return text.replace("\r\n", "\n").strip("\n")
