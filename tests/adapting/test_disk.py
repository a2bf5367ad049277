"""Files that one process writes at a time, and names that last."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from squidbot.adapting.disk import sync

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LOCKED = """
import sys
from pathlib import Path
from squidbot.adapting.disk import lock
with Path(sys.argv[1]).open("ab") as file:
    lock(file)
    print("locked", flush=True)
    sys.stdin.readline()
"""


def test_lock_is_had_by_one_process_until_it_dies(tmp_path: Path) -> None:
    """Who comes second waits: it says nothing before the first one is gone."""
    command = [sys.executable, "-c", LOCKED, str(tmp_path / "lock")]
    both = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)]
    assert both[0].stdout is not None
    assert both[0].stdout.readline() == "locked\n"
    both.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
    with pytest.raises(subprocess.TimeoutExpired):
        both[1].wait(0.5)
    both[0].kill()
    assert both[1].communicate("\n")[0] == "locked\n"
    both[0].communicate()


def test_names_are_synced_where_folders_can_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where they can't, as on Windows, a rename lasts by itself; a file that can't be opened is told."""
    file = tmp_path / "file"
    file.write_bytes(b"x")
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    sync(file)
    sync(tmp_path)
    assert len(synced) == 2
    monkeypatch.setattr(os, "open", _refused(os.open, tmp_path))
    sync(tmp_path)
    assert len(synced) == 2
    with pytest.raises(FileNotFoundError):
        sync(tmp_path / "nowhere")


def _refused(opened: Callable[..., int], folder: Path) -> Callable[..., int]:
    def refusing(path: object, *given: object) -> int:
        if path == folder:
            raise PermissionError(13, "Permission denied")
        return opened(path, *given)

    return refusing
