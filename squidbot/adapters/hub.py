"""Finds model files in the caches of Hugging Face's hub, by repository and file name. Never downloads.

A cache has `models--org--name/snapshots/<revision>/file`, links into `blobs`; llama.cpp's has the same layout.
"""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from squidbot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

__all__ = ["find_model"]

_REPOSITORY: Final = re.compile(r"\w[\w.-]*/\w[\w.-]*", re.ASCII)
# As llama.cpp names the parts of a model (llama_split_path).
_PART: Final = re.compile(r"-(?P<number>[0-9]{5})-of-(?P<count>[0-9]{5})(?=\.gguf$)", re.IGNORECASE)
_LISTED: Final = 12
# Variables that name a cache, each with the folders below it.
_VARIABLES: Final = (
    ("HF_HUB_CACHE", ""),
    ("HUGGINGFACE_HUB_CACHE", ""),
    ("HF_HOME", "hub"),
    ("XDG_CACHE_HOME", "huggingface/hub"),
    ("HOME", ".cache/huggingface/hub"),
    ("LLAMA_CACHE", ""),
)

# A model's name in its repository, with slashes, and its file; of several parts the first.
_Files = dict[str, Path]


def find_model(repo_id: str, filename: str, environment: Mapping[str, str] = os.environ) -> Path:
    """Return the downloaded file of a model; of several parts the first.

    Links are not resolved, because the other parts are beside them. The branch main comes first, then the newest
    revision; caches from the environment come before the usual one.

    Args:
        repo_id: "org/name", as on the hub; case matters only if both spellings exist.
        filename: with or without its folder; `*` and `?` match anything ("*q4_k_m.gguf"), in any case if this has no
            match; a model's parts count as one, by their name with or without the part. Projectors ("mmproj-...")
            must be named.
        environment: HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME, XDG_CACHE_HOME, LLAMA_CACHE and HOME (USERPROFILE)
            name the places to search.

    Raises:
        ConfigError: the file is missing, incomplete, or ambiguous; the text has the searched places and the remedy.
    """
    if not _REPOSITORY.fullmatch(repo_id):
        raise ConfigError(f'repo_id must look like "org/name", not "{repo_id}"; put the file name into filename')
    if not filename:
        raise ConfigError('filename is empty; write a file of the repository, such as "*q4_k_m.gguf"')
    seen: dict[str, None] = {}
    caches = _caches(environment)
    for cache in caches:
        for files in _revisions(cache, repo_id):
            found = _matching(files, filename)
            if len(found) > 1:
                raise ConfigError(
                    f'filename "{filename}" matches several files of {repo_id}: {_listed(found)}; choose one'
                )
            if found:
                return next(iter(found.values()))
            seen |= dict.fromkeys(files)
    there = f"of {repo_id} there are {_listed(seen)}" if seen else f"nothing of {repo_id} is there"
    wanted = f'--include "{filename}"' if set(filename) & set("*?[") else filename
    raise ConfigError(
        f"{filename} of {repo_id} was not found, {there}; looked in {', '.join(map(str, caches))}. "
        f"Nothing is downloaded by itself; this does it: hf download {repo_id} {wanted}"
    )


def _listed(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
    return ", ".join(listed[:_LISTED]) + more


def _caches(environment: Mapping[str, str]) -> list[Path]:
    """Return the folders to search, without repeats."""
    home = environment.get("HOME") or environment.get("USERPROFILE") or str(Path.home())
    found: dict[Path, None] = {}
    for variable, below in _VARIABLES:
        if value := home if variable == "HOME" else environment.get(variable, ""):
            folder = Path(home, value[2:]) if value.startswith("~/") else Path(value)
            found[folder / below] = None
    return list(found)


def _revisions(cache: Path, repo_id: str) -> Iterator[_Files]:
    """Yield the complete models of each snapshot of a repository, main first, then the newest."""
    name = "models--" + repo_id.replace("/", "--")
    exact = cache / name
    repositories = (
        [exact] if exact.is_dir() else [path for path in _children(cache) if path.name.lower() == name.lower()]
    )
    for repository in repositories:
        try:
            main = (repository / "refs" / "main").read_text(encoding="utf-8").strip()
        except (OSError, ValueError):
            main = ""
        snapshots = [path for path in _children(repository / "snapshots") if path.is_dir()]
        for snapshot in sorted(snapshots, key=lambda path: (path.name != main, -path.stat().st_mtime, path.name)):
            there = _models_in(snapshot)
            yield {name: path for name, path in there.items() if _begins(name, there)}


def _models_in(snapshot: Path) -> _Files:
    """Return the model files of a snapshot, without broken links."""
    paths = (Path(above, file) for above, _, names in os.walk(snapshot) for file in sorted(names))
    models = (path for path in paths if path.suffix.lower() == ".gguf" and path.is_file())
    return {path.relative_to(snapshot).as_posix(): path for path in models}


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:  # missing or unreadable: the error names it among the searched folders
        return []


def _begins(name: str, there: _Files) -> bool:
    """Return whether a file is a whole model, or the first part of a complete one."""
    part = _PART.search(name)
    if part is None:
        return True
    numbers = range(2, int(part["count"]) + 1)
    others = (f"{name[: part.start()]}-{number:05d}-of-{part['count']}{name[part.end() :]}" for number in numbers)
    return int(part["number"]) == 1 and all(other in there for other in others)


def _matching(files: _Files, filename: str) -> _Files:
    """Return the matches: by whole name, else without part numbers, else in any case."""
    wanted = filename.replace("\\", "/")
    usual = {name: path for name, path in files.items() if "mmproj" in wanted or "mmproj" not in name.lower()}
    spellings: tuple[Callable[[str], str], ...] = (
        str,
        lambda text: _PART.sub("", text),
        lambda text: _PART.sub("", text).lower(),
    )
    for plain in spellings:
        found = {
            name: path
            for name, path in usual.items()
            if any(fnmatchcase(plain(form), plain(wanted)) for form in (name, PurePosixPath(name).name))
        }
        if found:
            return found
    return {}
