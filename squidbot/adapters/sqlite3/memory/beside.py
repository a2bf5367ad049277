"""The files beside a store that are views of its vectors: what lies there under its name may hold what is forgotten."""

from __future__ import annotations

import shutil
from contextlib import suppress
from glob import escape
from pathlib import Path

from squidbot.core.errors import StoreError

__all__ = ["remove_beside"]

# What follows the name of the store's file: a name of the index's, and this.
ENDING = ".vectors"


def remove_beside(path: str) -> None:
    """Remove every index of vectors that lies beside a store's file, and what is left of unfinished ones.

    Each is made anew of the store's own vectors by whoever needs it.

    Raises:
        StoreError: one can't be removed.
    """
    store = Path(path)
    for ending in (ENDING, f"{ENDING}.part"):
        for found in store.parent.glob(f"{escape(store.name)}.*{ending}"):
            try:
                with suppress(FileNotFoundError):  # another process was faster
                    if found.is_dir() and not found.is_symlink():
                        shutil.rmtree(found)
                    else:
                        found.unlink()
            except OSError as error:
                raise StoreError(
                    f"{found}: an index that may hold what is to be forgotten can't be removed: {error.strerror}; "
                    "nothing was changed"
                ) from error
