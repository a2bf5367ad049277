"""The requests of a replay as JSON lines, in files that are there whole or not at all.

A line holds one model call: `call` counts them from 0, `reported_tokens` is the bound that was enforced, `jobs` are the
summaries that a model made since the call before (none: squidbot's are made by rule), `blocks` is the request. A call
for which no request could be made has no line. Where one file holds many conversations, `conversation` is the id.
"""

from __future__ import annotations

import json
import os
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from io import TextIOWrapper
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.parse import quote

from squidbot.adapting.disk import make_folder, open_own
from squidbot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from squidbot.replay.blocks import Block
    from squidbot.replay.runner import Call

__all__ = ["Dump", "block_json", "dump_line", "file_name", "is_folder", "open_dump"]

# A file's name may have 255 bytes; the ending and the mark of an unfinished file need some.
_LONGEST_NAME_CHARS = 180


def is_folder(target: Path, given: str) -> bool:
    """Return whether a dump goes into a folder, a file for each conversation: it is one, or is written like one."""
    return target.is_dir() or given.endswith(("/", os.sep))


def file_name(conversation_id: str, *, apart: bool = False) -> str:
    """Return the name of a conversation's dump in a folder: its id, with what no file name may hold as %XX.

    `apart`: with a hash of the id behind it, for one that differs from another only in upper and lower case.
    """
    name = quote(conversation_id.encode("utf-8", "surrogatepass"), safe=" ()+,=@[]{}~")
    if apart or len(name) > _LONGEST_NAME_CHARS:
        digest = sha256(conversation_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        name = f"{name[:_LONGEST_NAME_CHARS]}~{digest}"
    return f"{name}.jsonl"


def dump_line(call: Call, blocks_json: list[str], conversation_id: str | None = None) -> str:
    """Return the line of a call, ASCII only, without a line break; `blocks_json` are its blocks as JSON text."""
    named = f'"conversation": {json.dumps(conversation_id)}, ' if conversation_id is not None else ""
    return (
        f'{{{named}"call": {call.number}, "reported_tokens": {call.bound_tokens}, "jobs": [], '
        f'"blocks": [{", ".join(blocks_json)}]}}'
    )


def block_json(block: Block) -> str:
    """Return a block as JSON text, ASCII only: line separators and lone surrogates of other texts stay harmless."""
    return json.dumps(
        {
            "role": block.role,
            "kind": block.kind,
            "text": block.text,
            "source": block.source,
            "tool_calls": block.tool_calls,
            "tool_result": block.tool_result,
        },
    )


class Dump:
    """Where the requests go: one file, or a folder with a file for each conversation."""

    def __init__(self, target: Path, file: IO[str] | None, *, named: bool) -> None:
        """Take the folder, or the file that is open; `named`: lines say whose they are. `open_dump` makes one."""
        self._target = target
        self._file = file
        self._named = named
        # Names in the folder, case folded: some file systems take "A" for "a".
        self._taken: set[str] = set()

    def _apart(self, conversation_id: str) -> Path:
        """Return a conversation's file, which is no other's."""
        name = file_name(conversation_id)
        if name.casefold() in self._taken:
            name = file_name(conversation_id, apart=True)
        self._taken.add(name.casefold())
        return self._target / name

    @contextmanager
    def of(self, conversation_id: str) -> Iterator[Callable[[Call], None]]:
        """Give what writes the calls of one conversation, in order; in a folder its file takes its place behind.

        Raises:
            ConfigError: the file can't be written.
        """
        with ExitStack() as stack:
            file = self._file or stack.enter_context(_whole(self._apart(conversation_id)))
            known: dict[int, tuple[Block, str]] = {}

            def write(call: Call) -> None:
                nonlocal known
                if call.blocks is None:
                    return
                # What stays from request to request is the same object: it is spelled once, and held while it is sent.
                known = {id(block): known.get(id(block)) or (block, block_json(block)) for block in call.blocks}
                blocks = [known[id(block)][1] for block in call.blocks]
                file.write(dump_line(call, blocks, conversation_id if self._named else None) + "\n")

            yield write


@contextmanager
def open_dump(target: Path, *, folder: bool, several: bool) -> Iterator[Dump]:
    """Give a dump into a folder, made where it is missing, or into a file; `several`: of several conversations.

    The file takes its place when the block ends well; where it ends in an exception nothing of it stays.

    Raises:
        ConfigError: the place can't be written.
    """
    if not folder:
        with _whole(target) as file:
            yield Dump(target, file, named=several)
        return
    with _refusing(target):
        make_folder(target)
    yield Dump(target, None, named=False)


@contextmanager
def _whole(path: Path) -> Iterator[IO[str]]:
    """Open a file that takes its place at the end; a device or a pipe is written as it is."""
    if path.exists() and not path.is_file():
        with _refusing(path):
            device = path.open("w", encoding="ascii")
        with device:
            yield device
        return
    path = Path(os.path.realpath(path))
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        # An interrupt may come right behind the opening, too.
        with _refusing(path):
            file = TextIOWrapper(open_own(unfinished, "x"), encoding="ascii", newline="\n")
        with file:
            yield file
        unfinished.replace(path)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Say which option is wrong where the system refuses a path."""
    try:
        yield
    except OSError as error:
        raise ConfigError(f"--dump {path} can't be written: {error.strerror}") from error
