"""Where promises are tried: in memory, or with PROMISE_STORE=postgresql in a database, too, which answers the same."""

from __future__ import annotations

import os
import uuid
from functools import partial
from typing import TYPE_CHECKING, Any

from squidbot.adapters import stdlib
from squidbot.core.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.adapters.psycopg import PostgresqlStore

ASKED = (
    *("head", "opening", "append", "read", "pick", "newest", "last_record", "records", "search", "forget", "drop"),
    *("put", "remove", "by_id", "for_range", "claim", "release", "sessions", "sessions_with"),
)


def _opened() -> PostgresqlStore:
    """Return an empty store: a tenant of its own in the one schema."""
    from tests.postgresql import address, one_schema, opened, shared_pool  # noqa: PLC0415  # optional packages

    return opened("", schema=one_schema(), tenant=uuid.uuid4().hex, pool=shared_pool(address()))


class InBoth(stdlib.InMemoryStore):
    """A store in memory that asks PostgreSQL the same, errors included."""

    def __init__(self) -> None:
        super().__init__()
        self.database = _opened()


def _both(name: str) -> Callable[..., Any]:
    in_memory = getattr(stdlib.InMemoryStore, name)

    def ask(self: InBoth, *given: Any) -> object:  # noqa: ANN401  # as each method has it
        said = [list(each) if hasattr(each, "__next__") else each for each in given]  # each reads it
        answers = list[tuple[object, StoreError | None]]()
        for call in (partial(in_memory, self), getattr(self.database, name)):
            try:
                answers.append((call(*said), None))
            except StoreError as error:
                answers.append((None, error))
        (answer, raised), (other, wrong) = answers
        assert (answer, type(raised)) == (other, type(wrong)), f"{name}{said!r:.300}"
        if raised is not None:
            raise raised
        return answer

    return ask


if os.environ.get("PROMISE_STORE") == "postgresql":
    for _name in ASKED:
        setattr(InBoth, _name, _both(_name))
    stdlib.InMemoryStore = InBoth  # type: ignore[misc]  # before the tests import it
