"""The files below a context folder, and which of them its configuration names (P-02)."""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING, Final

from squidbot.builtin import read_yaml
from squidbot.context.reading import below, named, text_of
from squidbot.core.errors import ConfigError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["CONFIGS", "core_files", "files_of"]

CONFIGS: Final = ("context_config.yml", "context_config.yaml")
# How many files are listed at most.
MOST_FILES: Final = 200


def core_files(folder: Path) -> tuple[str, ...]:
    """Return the files that every session is to have, by the folder's configuration; () where there is none.

    It is a list `core_files` of paths below the folder, or of mappings whose `path` is one.

    Raises:
        ConfigError: it can't be read, or says something else; with its place.
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
        raise ConfigError(f"{config}: unknown key {unknown[0]!a:.60}; there is core_files, a list of paths")
    files = listed.get("core_files") or []
    if not isinstance(files, list):
        raise ConfigError(f"{config}: core_files is a list of paths below the folder")
    for one in files:
        path = one.get("path") if isinstance(one, dict) else one
        if not isinstance(path, str):
            raise ConfigError(f"{config}: core_files has {one!a:.60}; each is a path below the folder")
        yield path
