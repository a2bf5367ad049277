"""Values for checks: messages and summaries made in one line, and texts and ids that careless code confuses."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from squidbot.core.errors import StoreError
from squidbot.core.messages import Category, Cost, StoredMessage, Summary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from squidbot.core.messages import Role

__all__ = ["ODD_IDS", "ODD_TEXTS", "closed_after", "made_message", "made_summary", "refuses"]

Store = TypeVar("Store")
P = ParamSpec("P")

# Ids that careless stores confuse, cut or refuse: case, spaces, NUL, paths, emoji, composed and decomposed é, lone
# surrogates beside the character that they would make together, and the longest there is.
ODD_IDS = (
    "a", "A", " a", "a ", "a\0", "a\0b", "../../etc/passwd", "/abs", "~/x", "C:\\x", "'; DROP TABLE messages; --", "%",
    "_", "\N{GRINNING FACE}", "\ud83d\ude00", "\ud83d", "e\u0301", "\u00e9", "0", "00", "None", "\n", "\ufeff",
    "x" * 1024,
)  # fmt: skip
ODD_TEXTS = (
    "",
    "\0",
    "a\0b",
    "\ud800",
    "\udfff\ud800",
    "\ud83d\ude00",
    "\N{GRINNING FACE}",
    "\ufeffx",
    "\r\n\x85\u2028",
    "\\u0000",
)


def made_message(  # noqa: PLR0913  # a message has many fields, and a test names those it needs
    seq: int,
    text: str = "hello",
    *,
    role: Role = "user",
    turn: int | None = None,
    bound: int | None = None,
    call_ids: tuple[str, ...] = (),
    result_ids: tuple[str, ...] = (),
) -> StoredMessage:
    """Return a stored message in the form "openai.chat", for tests.

    `turn` is `seq` and `bound`, in tokens, the length of `text` unless given; the estimate is a quarter of the bound.
    """
    bound = len(text) if bound is None else bound
    cost = Cost(bound // 4, bound)
    answers = {"tool_call_id": result_ids[0]} if role == "tool" and result_ids else {}
    return StoredMessage(
        seq=seq,
        turn=seq if turn is None else turn,
        role=role,
        category=Category.DIALOG,
        codec="openai.chat",
        payload=json.dumps({"role": role, "content": text, **answers}, ensure_ascii=False),
        call_ids=call_ids,
        result_ids=result_ids,
        cost=cost,
        sent_cost=cost,
        counter="chars",
    )


def made_summary(summary_id: str, first_seq: int, last_seq: int, *, session_id: str = "s", text: str = "") -> Summary:
    """Return a summary of first_seq..last_seq, for tests."""
    cost = Cost(len(text) // 4, len(text))
    return Summary(summary_id, session_id, first_seq, last_seq, "compact", text, cost, "chars", "digest", "tests")


@contextmanager
def closed_after(store: Store) -> Iterator[Store]:
    """Yield a store to a `with` block, and close it afterwards if it can be closed."""
    try:
        yield store
    finally:
        close = getattr(store, "close", None)
        if close is not None:
            close()


def refuses(promise: str, act: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
    """Check that a call raises StoreError.

    Raises:
        AssertionError: it does not; the text is `promise`.
    """
    try:
        act(*args, **kwargs)
    except StoreError:
        return
    raise AssertionError(f"{promise}: a StoreError was due")
