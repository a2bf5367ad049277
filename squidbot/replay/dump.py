"""The requests of a replay as JSON lines, in files that are complete or do not exist."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.parse import quote

from squidbot.adapters.common.files import make_folder, open_whole
from squidbot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from squidbot.replay.recording import RequestBlock

# A file's name may have 255 bytes; the ending and the mark of an unfinished file need some.
_LONGEST_NAME_CHARS = 180


def dump_line(number: int, bound_tokens: int, blocks: Sequence[str], conversation_id: str | None = None) -> str:
    """Return a call's line, ASCII only, without a line break; `blocks` are its blocks as JSON text."""
    named = f'"conversation": {json.dumps(conversation_id)}, ' if conversation_id is not None else ""
    rest = f'"call": {number}, "reported_tokens": {bound_tokens}, "jobs": [], "blocks": [{", ".join(blocks)}]'
    return f"{{{named}{rest}}}"


def block_json(block: RequestBlock) -> str:
    """Return a block as JSON text, ASCII only: line separators and lone surrogates of other texts stay harmless."""
    keys = ("role", "kind", "text", "source", "tool_calls", "tool_result")
    return json.dumps({key: getattr(block, key) for key in keys})


def file_name(conversation_id: str, *, apart: bool = False, ending: str = ".jsonl") -> str:
    """Return the name of a conversation's file in a folder: its id, with characters invalid in file names as %XX.

    `apart` adds a hash of the id, for ids that differ only in upper and lower case.
    """
    data = conversation_id.encode("utf-8", "surrogatepass")
    name = quote(data, safe=" ()+,=@[]{}~")
    if apart or len(name) > _LONGEST_NAME_CHARS:
        name = f"{name[:_LONGEST_NAME_CHARS]}~{sha256(data).hexdigest()[:16]}"
    return f"{name}{ending}"


class Dump:
    """The output of requests: one file, or a folder with a file for each conversation."""

    def __init__(self, folder: Path, file: IO[str] | None, *, named: bool) -> None:
        """Take the folder, or an open file; `named`: lines name their conversation. Use `open_dump`."""
        self._folder, self._file, self._named = folder, file, named
        # Names in the folder, case folded: some file systems take "A" for "a".
        self._taken: set[str] = set()

    @contextmanager
    def of(self, conversation_id: str) -> Iterator[Callable[[int, int, Sequence[RequestBlock]], None]]:
        """Yield the writer of one conversation's calls: it takes number, bound in tokens, and request.

        In a folder, the file appears when it is complete.

        Raises:
            ConfigError: the file can't be written.
        """
        with ExitStack() as stack:
            file = self._file or stack.enter_context(_whole(self._path(conversation_id)))
            known: dict[int, tuple[RequestBlock, str]] = {}

            def write(number: int, bound_tokens: int, blocks: Sequence[RequestBlock]) -> None:
                nonlocal known
                # A block that stays from request to request is the same object: it is spelled once.
                known = {id(block): known.get(id(block)) or (block, block_json(block)) for block in blocks}
                texts = [known[id(block)][1] for block in blocks]
                file.write(dump_line(number, bound_tokens, texts, conversation_id if self._named else None) + "\n")

            yield write

    def _path(self, conversation_id: str) -> Path:
        name = file_name(conversation_id)
        if name.casefold() in self._taken:
            name = file_name(conversation_id, apart=True)
        self._taken.add(name.casefold())
        return self._folder / name


def is_folder(path: str) -> bool:
    """Return whether a path means a folder: it is one, or ends in a slash."""
    return path.endswith(("/", os.sep)) or Path(path).is_dir()


@contextmanager
def open_dump(path: str, *, several: bool) -> Iterator[Dump]:
    """Yield a dump into a file, or into a folder: one that exists, or a path that ends in a slash.

    `several` says that there are several conversations. A file appears when the block ends without an error; after an
    error, nothing of it remains.

    Raises:
        ConfigError: the place can't be written.
    """
    target = Path(path)
    if is_folder(path):
        with _refusing(target):
            make_folder(target)
        yield Dump(target, None, named=False)
    else:
        with _whole(target) as file:
            yield Dump(target, file, named=several)


@contextmanager
def _whole(path: Path) -> Iterator[IO[str]]:
    """Open a file that appears when it is complete; write to a device or a pipe directly."""
    with ExitStack() as stack:
        with _refusing(path):
            file = stack.enter_context(open_whole(path))
        yield file


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ConfigError(f"--dump: cannot write {path}: {error.strerror}") from error
