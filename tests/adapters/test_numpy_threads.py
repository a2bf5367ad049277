"""One thread for NumPy's products while vectors are made, and as many as before behind that."""

from __future__ import annotations

import importlib
import threading
from contextlib import suppress

import pytest

pytest.importorskip("numpy", reason="the extra numpy")
pytest.importorskip("threadpoolctl", reason="the extra numpy")

with suppress(ImportError):  # it brings products of another kind along
    importlib.import_module("faiss")

from threadpoolctl import ThreadpoolController, threadpool_limits

from squidbot.adapters.numpy import OneThread


def counts() -> set[int]:
    """Return how many threads each library of products has, of those that the whole process shares."""
    shared = ThreadpoolController().select(user_api="blas").select(threading_layer="pthreads")
    return {each["num_threads"] for each in shared.info()}


def test_products_have_one_thread_within_and_as_many_as_before_behind_it() -> None:
    """An error inside changes nothing of it."""
    with threadpool_limits(2, user_api="blas"):
        before, one = counts(), OneThread()
        assert before
        with one:
            assert counts() == {1}
        assert counts() == before
        with pytest.raises(ZeroDivisionError), one:
            1 / 0  # noqa: B018  # an error is all that is wanted
        assert counts() == before


def test_threads_that_overlap_leave_what_was_before() -> None:
    """Who comes second and leaves last does not keep it at one."""
    with threadpool_limits(2, user_api="blas"):
        before, one = counts(), OneThread()
        inside, leave = threading.Event(), threading.Event()

        def other() -> None:
            with one:
                inside.set()
                leave.wait(10)

        thread = threading.Thread(target=other)
        with one:
            thread.start()
            assert inside.wait(10)
        assert counts() == {1}
        leave.set()
        thread.join(10)
        assert counts() == before
