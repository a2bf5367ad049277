"""How those who share a store take turns: claims to one kind of work, and waiting for others."""

from __future__ import annotations

import os
import random
import threading
import time
import uuid
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from squidbot.adapters.common.threads import Waiting, give_way
from squidbot.core.errors import StoreError
from squidbot.core.ports import SupportsClaims

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from squidbot.core.ports import TranscriptStore

# A plan is made within milliseconds, in a slow process within seconds. A process that dies with its claim keeps others
# from making one for as long.
PLAN_CLAIM_SECONDS: Final = 5.0
# Many times what an append takes.
APPEND_SECONDS: Final = 0.2

_CLAIMED: set[tuple[object, ...]] = set()
_CLAIMING = threading.Lock()


@contextmanager
def claimed(
    store: TranscriptStore, session_id: str, kind: str, *, key: object = None, seconds: float
) -> Iterator[Callable[[], bool] | None]:
    """Yield a function that takes or renews the claim to one kind of work, and returns whether it succeeded.

    It yields `None` if this process already does that work: by `kind`, or by `key` if `kind` is "". A claim expires
    after `seconds`.
    """
    place, holder = (id(store), session_id, kind or id(key)), f"{os.getpid()}-{uuid.uuid4().hex}"
    claims = store if kind and isinstance(store, SupportsClaims) else None
    with _CLAIMING:
        is_free = place not in _CLAIMED
        _CLAIMED.add(place)
    if not is_free:
        yield None
        return
    taken = False

    def renew() -> bool:
        nonlocal taken
        taken = True
        return claims is None or claims.claim(session_id, kind, holder, time.time(), seconds)

    try:
        yield renew
    finally:
        if claims is not None and taken:
            with suppress(StoreError):  # it expires
                claims.release(session_id, kind, holder)
        with _CLAIMING:
            _CLAIMED.discard(place)


@contextmanager
def one_by_one(lock: threading.RLock) -> Iterator[None]:
    """Let threads that append to one session follow each other: the store refuses whoever comes between.

    Whoever waits for too long goes on, so that a hook may wait for another thread that appends.
    """
    held = lock.acquire(blocking=False)
    if not held:
        with Waiting():
            held = lock.acquire(timeout=APPEND_SECONDS)
    try:
        yield
    finally:
        if held:
            lock.release()


def wait(most_seconds: float) -> float:
    """Sleep for a random part of some seconds, and return the monotonic time in seconds.

    Random, so that several waiters do not wake at the same time. Without seconds, let other threads go on.
    """
    if most_seconds > 0:
        with Waiting():
            time.sleep(random.uniform(0, most_seconds))  # noqa: S311  # no secret
    else:
        give_way()
    return time.monotonic()
