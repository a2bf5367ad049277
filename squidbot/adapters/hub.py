"""Finds model files that other programs have downloaded, by repository and file name.

Hugging Face's hub keeps `models--org--name/snapshots/<revision>/file`, links into `blobs`; llama.cpp keeps the same,
and kept `org_name_file` in one folder before; LM Studio keeps `org/name/file`. Nothing is ever downloaded.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from squidbot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["find_model"]

_REPOSITORY: Final = re.compile(r"\w[\w.-]*/\w[\w.-]*", re.ASCII)
# As llama.cpp names the parts of a model (llama_split_path).
_PART: Final = re.compile(r"-(?P<number>[0-9]{5})-of-(?P<count>[0-9]{5})(?=\.gguf$)", re.IGNORECASE)
_LISTED: Final = 12

# A model's name in its repository, with slashes, and its file: of several parts the first.
_Files = dict[str, Path]
# What yields a repository's files in a folder, revision by revision.
_Layout = Callable[[Path, str], Iterator[_Files]]


def find_model(repo_id: str, filename: str, environment: Mapping[str, str] = os.environ) -> Path:
    """Return the downloaded file of a model; of several parts the first.

    Links are not resolved, because the other parts lie beside them. In a hub cache the branch main goes first, then
    the newest revision; caches that the environment names go before the usual ones.

    Args:
        repo_id: "org/name", as on the hub; case matters only if both spellings exist.
        filename: with or without its folder; `*` and `?` stand for anything ("*q4_k_m.gguf"), in any case if there is
            none in this; parts of a model count as one, by their name with or without the part. Projectors
            ("mmproj-...") have to be named.
        environment: variables, of which HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME, XDG_CACHE_HOME, LLAMA_CACHE,
            LOCALAPPDATA and HOME (USERPROFILE) say where to look.

    Raises:
        ConfigError: the file is not there, not whole, or there are several; says where was looked and what would do.
    """
    if not _REPOSITORY.fullmatch(repo_id):
        raise ConfigError(f'repo_id = "{repo_id}" is no repository; write "org/name", and the file into filename')
    if not filename:
        raise ConfigError('filename is empty; write a file of the repository, such as "*q4_k_m.gguf"')
    looked: dict[tuple[Path, _Layout], None] = {}
    seen: dict[str, None] = {}
    for folder, layout in _places(environment):
        if (folder, layout) in looked:
            continue
        looked[folder, layout] = None
        for files in layout(folder, repo_id):
            found = _matching(files, filename)
            if len(found) > 1:
                raise ConfigError(f'filename = "{filename}" of {repo_id} is {_listed(found)}; name one of them')
            if found:
                return next(iter(found.values()))
            seen |= dict.fromkeys(files)
    raise ConfigError(_missing(repo_id, filename, [folder for folder, _ in looked], seen))


def _missing(repo_id: str, filename: str, looked: Iterable[Path], seen: Mapping[str, object]) -> str:
    there = f"of {repo_id} there are {_listed(seen)}" if seen else f"nothing of {repo_id} is there"
    wanted = f'--include "{filename}"' if set(filename) & set("*?[") else filename
    return (
        f"{filename} of {repo_id} was not found, {there}; looked in {', '.join(dict.fromkeys(map(str, looked)))}. "
        f"Nothing is downloaded by itself; this does it: hf download {repo_id} {wanted}"
    )


def _listed(names: Mapping[str, object]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(list(names)[:_LISTED]) + more


# -- where ------------------------------------------------------------------------------------------------------------


def _places(environment: Mapping[str, str]) -> Iterator[tuple[Path, _Layout]]:
    """Yield the folders to search, each with its layout; those that the environment names go first."""
    home = Path(environment.get("HOME") or environment.get("USERPROFILE") or Path.home())

    def named(variable: str, *below: str) -> list[Path]:
        value = environment.get(variable, "")
        whole = home / value[2:] if value.startswith("~/") else Path(value)
        return [whole.joinpath(*below)] if value else []

    hubs = [*named("HF_HUB_CACHE"), *named("HUGGINGFACE_HUB_CACHE"), *named("HF_HOME", "hub")]
    hubs += [*named("XDG_CACHE_HOME", "huggingface", "hub"), home / ".cache" / "huggingface" / "hub"]
    yield from ((folder, _hub) for folder in (*hubs, *named("LLAMA_CACHE")))
    flat = [*named("LLAMA_CACHE"), *named("LOCALAPPDATA", "llama.cpp"), *named("XDG_CACHE_HOME", "llama.cpp")]
    flat += [home / "Library" / "Caches" / "llama.cpp"] if sys.platform == "darwin" else []
    yield from ((folder, _flat) for folder in (*flat, home / ".cache" / "llama.cpp"))
    yield from ((folder / "models", _tree) for folder in _lm_studio(home))


def _lm_studio(home: Path) -> Iterator[Path]:
    """Yield LM Studio's folders: the configured one, then the usual ones."""
    try:
        folder = (home / ".lmstudio-home-pointer").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        folder = ""
    if folder:
        yield Path(folder)
    yield from (home / ".lmstudio", home / ".cache" / "lm-studio")


# -- what is there ----------------------------------------------------------------------------------------------------


def _hub(folder: Path, repo_id: str) -> Iterator[_Files]:
    """Yield the snapshots of a repository in a hub cache, main first, then the newest."""
    for repository in _named(folder, "models--" + repo_id.replace("/", "--")):
        snapshots = [path for path in _children(repository / "snapshots") if path.is_dir()]
        main = _first_line(repository / "refs" / "main")
        yield from map(_files_in, sorted(snapshots, key=lambda path: (path.name != main, -_changed(path), path.name)))


def _tree(folder: Path, repo_id: str) -> Iterator[_Files]:
    """Yield a repository in a folder of its organisation's name."""
    organisation, name = repo_id.split("/")
    for above in _named(folder, organisation):
        yield from map(_files_in, _named(above, name))


def _flat(folder: Path, repo_id: str) -> Iterator[_Files]:
    """Yield the files of a repository in llama.cpp's earlier cache, where all are in one folder."""
    start = repo_id.replace("/", "_") + "_"
    files = [path for path in _children(folder) if path.name.lower().startswith(start.lower())]
    yield _whole({path.name[len(start) :]: path for path in files})


def _named(folder: Path, name: str) -> list[Path]:
    """Return the folder of that name, or those of that name in another case."""
    if (folder / name).is_dir():
        return [folder / name]
    return [path for path in _children(folder) if path.name.lower() == name.lower() and path.is_dir()]


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:  # not there, or not ours to read: nothing is found in it, and it is named among those looked in
        return []


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _first_line(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return ""


def _files_in(folder: Path) -> _Files:
    found = (Path(above, name) for above, _, names in os.walk(folder) for name in sorted(names))
    return _whole({path.relative_to(folder).as_posix(): path for path in found})


def _whole(files: _Files) -> _Files:
    """Return the complete models: without dangling links and incomplete sets of parts."""
    there = {name: path for name, path in files.items() if name.lower().endswith(".gguf") and path.is_file()}
    return {name: path for name, path in there.items() if _begins(name, there)}


def _begins(name: str, there: _Files) -> bool:
    """Return whether a file is a whole model, or the first part of a complete one."""
    part = _PART.search(name)
    if part is None:
        return True
    parts = range(2, int(part["count"]) + 1)
    others = (f"{name[: part.start()]}-{number:05d}-of-{part['count']}{name[part.end() :]}" for number in parts)
    return int(part["number"]) == 1 and all(name_of_part in there for name_of_part in others)


# -- which ------------------------------------------------------------------------------------------------------------


def _matching(files: _Files, filename: str) -> _Files:
    """Return the matches: by whole name, else without part numbers, else ignoring case, else with "_" for "/"."""
    wanted = filename.replace("\\", "/")
    usual = {name: path for name, path in files.items() if "mmproj" in wanted or "mmproj" not in name.lower()}

    def as_is(text: str) -> str:
        return text

    def joined(text: str) -> str:
        return _PART.sub("", text)

    def folded(text: str) -> str:
        return joined(text).lower()

    def flat(text: str) -> str:
        return folded(text).replace("/", "_")

    for plain in (as_is, joined, folded, flat):
        found = {
            name: path
            for name, path in usual.items()
            if any(fnmatchcase(plain(form), plain(wanted)) for form in (name, PurePosixPath(name).name))
        }
        if found:
            return found
    return {}
