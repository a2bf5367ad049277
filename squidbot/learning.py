"""Facts read out of sessions as the settings want it: by rules, by a language model; forgotten with their messages.

What reads is imported when there is something to read: no turn waits for that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.core import events
from squidbot.core.events import Event
from squidbot.core.memories import View

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from squidbot.bootstrap import Wired
    from squidbot.core.memory.learning import Rests, Studied, Study
    from squidbot.core.memory.reading import ModelReader
    from squidbot.working import Order, Watched

__all__ = ["ByModel", "ByRules", "forget_with", "reader_of", "study_of"]


def study_of(wired: Wired, session_id: str, model: ModelReader | None = None, rests: Rests | None = None) -> Study:
    """Return what reads a session for facts.

    Raises:
        ConfigError: memory is switched off, or its settings are wrong.
        StoreError: the store of facts can't be opened.
    """
    from squidbot.core.memory.learning import Rests, Study  # noqa: PLC0415  # as the head of this file says, and below

    memory, remembering = wired.loaded.settings.memory, wired.remembering
    return Study(
        session_id,
        wired.store,
        wired.codecs,
        remembering.store,
        memory.isolation,  # type: ignore[arg-type]  # one of them, checked when it was read
        remembering.redactor,
        anonymous=memory.extract is not None,
        model=model,
        rests=rests or Rests(),
        observer=wired.relay,
    )


def reader_of(wired: Wired) -> ModelReader | None:
    """Return the language model that reads for facts; None where the settings want none.

    Raises:
        ConfigError: it can't be made, or `memory.extract` is "model" and none is named.
    """
    memory = wired.loaded.settings.memory
    if not wired.remembering.learns or memory.extract == "rules" or not (memory.llm or memory.extract):
        return None
    from squidbot.core.memory.reading import ModelReader  # noqa: PLC0415
    from squidbot.working import Guarded  # noqa: PLC0415

    return ModelReader(Guarded(wired.llm("memory.llm")), wired.remembering.redactor)


class ByRules:
    """The work: facts found by rule. Who reads what another one reads stores nothing, so nothing is claimed."""

    claim = ""

    def waits(self, one: Watched, _order: Order) -> bool:
        """Return whether messages are unread."""
        return study_of(one.wired, one.session_id).unread() is not None

    def doing(self, one: Watched, order: Order) -> Iterator[Studied]:
        """Read them."""
        for done in study_of(one.wired, one.session_id).by_rules(order.at):
            _merge(one.wired, done)
            yield done


class ByModel:
    """The work: facts found by a language model, beside the rules."""

    claim = "facts"

    def __init__(self, model: ModelReader, backoff_seconds: float) -> None:
        """Take the model, and how long a session rests after a failure."""
        from squidbot.core.memory.learning import Rests  # noqa: PLC0415

        self._model = model
        self._rests = Rests(backoff_seconds)

    def waits(self, one: Watched, order: Order) -> bool:
        """Return whether messages are unread, and the session does not rest; for "request" none rests."""
        rests = order.reason != "request" and self._rests.rests(one.session_id, order.at)
        return not rests and study_of(one.wired, one.session_id).unread("model") is not None

    def doing(self, one: Watched, order: Order) -> Iterator[Studied]:
        """Read them; with a reason turns that are not ended, too."""
        if order.reason == "request":
            self._rests.worked(one.session_id)
        study = study_of(one.wired, one.session_id, self._model, self._rests)
        for done in study.by_model(order.at, waits=not order.reason):
            _merge(one.wired, done)
            yield done


def forget_with(wired: Wired, session_id: str, seqs: Sequence[int]) -> tuple[str, ...]:
    """Forget the facts that only these messages say, where facts are kept, and return their ids.

    Raises:
        StoreError: they could not be forgotten.
    """
    store = wired.remembering.kept()
    if store is None:
        return ()
    from squidbot.core.memory.learning import WITH_MESSAGES  # noqa: PLC0415

    ids = store.unsay(session_id, seqs, WITH_MESSAGES)
    if ids:
        wired.withdraw(ids, reason="facts went with the messages that alone said them")
        wired.relay.notify(Event(events.FACTS_FORGOTTEN, session_id, ", ".join(ids)))
    return tuple(ids)


def _merge(wired: Wired, done: Studied) -> None:
    """Where the settings want it, have one fact stand for others that say nearly the same as what was just learned.

    Raises:
        StoreError: nothing was merged; what was learned is stored.
    """
    memory = wired.loaded.settings.memory
    if not memory.merge or not done.memories:
        return
    from squidbot.core.memory.merging import MOST_COMPARED, among_nearest, merges, places_of  # noqa: PLC0415

    store, meaning = wired.remembering.store, wired.remembering.meaning
    view = View(done.memories[0].scope, memory.isolation)  # type: ignore[arg-type]  # one of them, checked when read
    near = (meaning.near(done.memories, view) if meaning else None) or {}
    learnt = [one.memory_id for one in done.memories]
    nearest = sorted({*learnt}.union(*near.values()))  # however old they are
    held = {one.memory_id: one for one in (*store.get(nearest), *store.listed(view, limit=MOST_COMPARED))}
    plan = merges(list(held.values()), among_nearest(near), learnt)
    if plan:
        places = places_of(plan)
        store.supersede(places)
        told = ", ".join(f"{gone} by {kept}" for gone, kept in places.items())
        wired.relay.notify(Event(events.FACTS_MERGED, done.unread.session_id, told))
