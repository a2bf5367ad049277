"""Retention: whole sessions go once nobody has written to them for long, by `squidbot store sweep` or by settings."""

from __future__ import annotations

import time
import uuid
from collections import defaultdict
from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core import events
from squidbot.core.errors import ConfigError, DamagedStoreError, StoreError
from squidbot.core.events import Event
from squidbot.core.operations import Operation
from squidbot.core.ports import SupportsAges, SupportsClaims
from squidbot.core.transcript.lineage import children_of
from squidbot.core.transcript.recordings import left_of
from squidbot.services import forget
from squidbot.wiring import streams

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from squidbot.bootstrap import Wired
    from squidbot.hookspecs import Store
    from squidbot.services.background import SessionHandle, WorkOrder

DAY_SECONDS: Final = 86_400.0
# How often the background work sweeps. Whoever claims it keeps the claim for that long: no other process sweeps then.
SWEEP_SECONDS: Final = 3_600.0
RETENTION: Final = "retention"


class SweptSession(NamedTuple):
    """A session that was removed because of its age.

    Attributes:
        session_id: its id.
        messages: how many messages it had.
        written: when it was last written to, in seconds since 1970.
    """

    session_id: str
    messages: int
    written: float


class SweepOutcome(NamedTuple):
    """What a sweep has done.

    Attributes:
        swept: the removed sessions; in a dry run, those that would be.
        kept: sessions at rest that stay, because another one goes on from them.
        failed: sessions that stay because they are damaged, with the reason.
    """

    swept: tuple[SweptSession, ...] = ()
    kept: tuple[str, ...] = ()
    failed: Mapping[str, str] = {}

    @property
    def succeeded(self) -> bool:
        """Whether no session is damaged."""
        return not self.failed


def sweep(
    wired: Wired, before: float, *, dry_run: bool = False, tick: Callable[[int, int], None] = lambda _, __: None
) -> SweepOutcome:
    """Remove the sessions that nobody has written to since `before`, in seconds since 1970.

    Each goes in a transaction of its own, which looks at its age again. Their turns leave the log of turns; facts and
    journal entries stay. A session stays while another one that stays goes on from it. Call it again where it failed.

    Raises:
        StoreError: the store can't do it, or failed; what was removed before is gone.
    """
    store = ages_of(wired.store)
    if not dry_run:
        forget.finish(wired)
    found = dict(store.older_than(before))
    failed: dict[str, str] = {}
    above = _above(wired.store, found, failed)
    kept = set(failed)
    _keep(kept, above, [*failed, *(one for one in above if one not in found and wired.store.head(one) != (0, 0))])
    # The youngest first: those that go on from another before that one.
    going = [name for name in reversed(found) if name not in kept]
    if going and not dry_run:
        _leave_log(wired, going)
    swept = []
    for done, name in enumerate(going):
        tick(done, len(going))
        if name in kept:
            continue
        one = SweptSession(name, wired.store.head(name)[0], found[name])
        try:
            if dry_run or _dropped(wired, store, name, before):
                swept.append(one)
                continue
        except DamagedStoreError as error:
            failed[name] = str(error)
        kept.add(name)
        _keep(kept, above, [name])
    if swept and not dry_run and callable(scrub := getattr(store, "scrub", None)):
        with suppress(StoreError):  # they are gone; `is_scrubbed` shows the rest
            scrub()
    return SweepOutcome(tuple(swept), tuple(name for name in found if name in kept and name not in failed), failed)


def ages_of(store: object) -> SupportsAges:
    """Return the store if it knows which sessions are at rest.

    Raises:
        StoreError: it does not.
    """
    if not isinstance(store, SupportsAges):
        raise StoreError("this store does not know how old its sessions are; it has no method `older_than`")
    return store


def _above(store: Store, found: Mapping[str, float], failed: dict[str, str]) -> dict[str, list[str]]:
    """Return the sessions at rest that others go on from, by these others."""
    above = defaultdict[str, list[str]](list)
    for name in found:
        try:
            for child in children_of(store, name):
                above[child.other].append(name)
        except DamagedStoreError as error:
            failed[name] = str(error)
    return above


def _keep(kept: set[str], above: Mapping[str, Sequence[str]], living: list[str]) -> None:
    """Add all that living sessions go on from, directly or not."""
    while living:
        parents = [one for one in above.get(living.pop(), ()) if one not in kept]
        kept.update(parents)
        living += parents


def _dropped(wired: Wired, store: SupportsAges, session_id: str, before: float) -> bool:
    with wired.relay.watch(Operation(name="forget", session_id=session_id, store="messages")):
        left = left_of(wired.store, session_id)
        if not store.drop_if_older(session_id, before):
            return False
        if left:
            wired.store.append(session_id, 0, (), left)
    streams.drop(wired.place, session_id)
    wired.relay.notify(Event(events.FORGOTTEN, session_id, "nobody wrote to it for longer than sessions are kept"))
    return True


def _leave_log(wired: Wired, sessions: Sequence[str]) -> None:
    """Remove the turns of sessions from the log, in one pass: before the sessions, so that none is left behind."""
    if wired.turn_log is None:
        return
    names = {wired.turn_log.redactor.redacted(name) for name in sessions}
    wired.turn_log.forget(
        lambda session, turn, text: session in names if turn >= 0 else any(name in text for name in names)
    )


class RetentionWork:
    """Sweeps a store at most once an hour, whatever the number of its processes."""

    claim = ""

    def __init__(self, store: Store, days: float) -> None:
        """Take how many days a session is kept.

        Raises:
            ConfigError: the store can't tell which sessions are older.
        """
        try:
            ages_of(store)
        except StoreError as error:
            raise ConfigError(f"store.retention_days is {days:g}, but {error}") from error
        self._days, self._swept_at = days, -inf

    def waits(self, _: SessionHandle, order: WorkOrder) -> bool:
        """Return whether an hour has passed."""
        return order.at - self._swept_at >= SWEEP_SECONDS

    def doing(self, one: SessionHandle, order: WorkOrder) -> Iterator[SweepOutcome]:
        """Sweep, unless another process has within the hour."""
        self._swept_at, store = order.at, one.wired.store
        holder = uuid.uuid4().hex
        if isinstance(store, SupportsClaims) and not store.claim(
            RETENTION, "sweep", holder, time.time(), SWEEP_SECONDS
        ):
            return
        done = sweep(one.wired, order.at - self._days * DAY_SECONDS)
        if done.swept or done.failed:
            yield done
