"""What a store with claims promises, as a check."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from squidbot.testing.values import ODD_IDS, ODD_TEXTS, closed_after, refuses

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.core.ports import Claims

__all__ = ["check_claims"]

# Seconds since 1970; the checks count from there.
NOW = 1_800_000_000.0


def check_claims(factory: Callable[[], Claims]) -> None:
    """Check the promises of `ports.Claims`.

    Promised: one holder at a time has a claim; it ends by its time, or when it is released by its holder, and lasts
    longer when it is renewed; sessions and kinds have their own; of many who ask at once one gets it.

    Raises:
        AssertionError: a promise is broken; the text says which.
    """
    for check in (_checks_one_holder, _checks_end, _checks_release, _checks_places, _checks_many_at_once):
        with closed_after(factory()) as store:
            check(store)


def _checks_one_holder(store: Claims) -> None:
    assert store.claim("s", "work", "a", NOW, 60.0) is True, "a claim that nobody has is to be had"
    assert store.claim("s", "work", "b", NOW + 59.0, 60.0) is False, "nobody else gets it while it lasts"
    assert store.claim("s", "work", "a", NOW + 59.0, 60.0) is True, "its holder may renew it"
    assert store.claim("s", "work", "b", NOW + 61.0, 60.0) is False, "renewed, it lasts longer"


def _checks_end(store: Claims) -> None:
    store.claim("s", "work", "a", NOW, 60.0)
    assert store.claim("s", "work", "b", NOW + 60.0, 10.0) is True, "a holder that has died holds it no longer"
    assert store.claim("s", "work", "a", NOW + 61.0, 60.0) is False, "who was too late to renew it has lost it"
    assert store.claim("s", "work", "a", NOW + 70.0, 60.0) is True, "each claim lasts as long as its own holder said"


def _checks_release(store: Claims) -> None:
    store.release("s", "work", "nobody")
    store.claim("s", "work", "a", NOW, 60.0)
    store.release("s", "work", "b")
    assert store.claim("s", "work", "b", NOW, 60.0) is False, "only its holder can end a claim"
    store.release("s", "work", "a")
    store.release("s", "work", "a")
    assert store.claim("s", "work", "b", NOW, 60.0) is True, "what was released is to be had"


def _checks_places(store: Claims) -> None:
    for number, session_id in enumerate(ODD_IDS):
        assert store.claim(session_id, "work", str(number), NOW, 60.0), f"{session_id[:40]!a} has its own claims"
    for text in ODD_TEXTS:
        assert store.claim("s", text, text, NOW, 60.0), f"each kind has its own claims, {text!a} too"
        assert store.claim("s", text, text, NOW, 60.0), f"a holder is known again, {text!a} too"
        assert store.claim("s", text, f"{text}x", NOW, 60.0) is False, f"holders are told apart, {text!a} too"
    refuses("an empty session id", store.claim, "", "work", "a", NOW, 60.0)
    refuses("an empty session id", store.release, "", "work", "a")


def _checks_many_at_once(store: Claims) -> None:
    got: list[str] = []

    def ask(holder: str) -> None:
        if store.claim("s", "work", holder, NOW, 60.0):
            got.append(holder)

    threads = [threading.Thread(target=ask, args=(str(number),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 1, f"of many who ask at once one gets it: got {got}"
