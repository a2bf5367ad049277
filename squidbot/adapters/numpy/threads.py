"""One thread for NumPy's products: several wait for each other on a busy machine, and small ones gain nothing."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from threadpoolctl import ThreadpoolController

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

__all__ = ["OneThread"]


class OneThread:
    """Has the products of the whole process use one thread while anybody is within; threads may share it.

    How many there are is a number of the process's: whoever comes first sets it, and the last to leave puts it back.
    """

    def __init__(self) -> None:
        """Look which libraries there are: of NumPy's kind, whose threads are the whole process's.

        Those over OpenMP, which FAISS brings along, have a number in each thread: who leaves last would put it back in
        his own.
        """
        self._libraries = ThreadpoolController().select(user_api="blas").select(threading_layer="pthreads")
        self._lock = threading.Lock()
        self._within = 0
        self._limit: AbstractContextManager[object] | None = None

    def __enter__(self) -> None:
        """Begin."""
        with self._lock:
            self._within += 1
            if self._within == 1:
                self._limit = self._libraries.limit(limits=1)
                self._limit.__enter__()

    def __exit__(self, *_: object) -> None:
        """End."""
        with self._lock:
            self._within -= 1
            if not self._within and self._limit is not None:
                self._limit.__exit__(None, None, None)
                self._limit = None
