"""One run of `squidbot replay`, without its command line: read all, check all, replay, compare."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.codecs.transcripts import read_transcripts
from squidbot.core.errors import ConfigError
from squidbot.replay.metrics import Ruler, Tally
from squidbot.replay.report import Results, Row, is_folder, open_dump
from squidbot.replay.rivals import RIVALS, score_rival
from squidbot.replay.runner import replay
from squidbot.replay.setup import CODECS, Reader, open_store, recording_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from squidbot.codecs.transcripts import Conversation
    from squidbot.replay.report import Dump
    from squidbot.replay.rivals import Rival
    from squidbot.replay.runner import Call, Outcome
    from squidbot.replay.setup import Recording, Store, Terms
    from squidbot.wiring.turnlog import TurnLog

__all__ = ["Places", "conversations_of", "model_calls", "run", "ticks_of"]


@dataclass(frozen=True, slots=True)
class Places:
    """Where a run reads and writes, as the user gave it; None: a temporary store, no dump, no log of turns."""

    transcripts: tuple[str, ...]
    store: str | None = None
    dump: str | None = None
    log: str | None = None


def conversations_of(places: Places) -> list[Conversation]:
    """Return every conversation of the transcripts, in order; an id that comes again gets a number behind it.

    Raises:
        TranscriptError: one of them can't be read.
        ConfigError: what would be written is what would be read, or is written twice.
    """
    found: dict[str, Conversation] = {}
    for path in places.transcripts:
        for conversation in read_transcripts(path):
            name = _unused(conversation.id, found)
            found[name] = replace(conversation, id=name)
    _check_apart(places, {conversation.path for conversation in found.values()})
    return list(found.values())


def model_calls(conversations: Iterable[Conversation]) -> int:
    """Return how many model calls the conversations record."""
    return sum(
        message.role == "assistant" and at > 0 for one in conversations for at, message in enumerate(one.messages)
    )


def ticks_of(conversations: Sequence[Conversation], beside: Sequence[Terms]) -> int:
    """Return how often `run` ticks: once for each model call and policy."""
    return model_calls(conversations) * (len(RIVALS) + len(beside) if beside else 1)


def run(
    conversations: Sequence[Conversation],
    terms: Terms,
    places: Places,
    *,
    beside: Sequence[Terms] = (),
    tick: Callable[[], None],
) -> Results:
    """Replay conversations and return what came of it.

    Beside it stand, if any are given, the same conversations under `beside`, of which `terms` is one, and under other
    policies.

    Raises:
        ConfigError: the store has one of the sessions already, or a place can't be written.
        StoreError: the store failed.
    """
    one_run = _Run(terms, Ruler(terms.meter.physical), tick)
    with ExitStack() as stack:
        store = stack.enter_context(open_store(Path(places.store) if places.store else None))
        _check_unused(store, conversations)
        dump = stack.enter_context(_dump(places.dump, several=len(conversations) > 1)) if places.dump else None
        log = _log(places.log)
        outcomes = [one_run.replayed(conversation, store, dump, log) for conversation in conversations]
    rows = tuple(one_run.compared(conversations, outcomes, beside)) if beside else ()
    return Results(terms, tuple(outcomes), rows)


@dataclass(frozen=True, slots=True)
class _Run:
    terms: Terms
    ruler: Ruler
    tick: Callable[[], None]

    def replayed(
        self, conversation: Conversation, store: Store, dump: Dump | None, log: TurnLog | None = None
    ) -> Outcome:
        with ExitStack() as stack:
            write = stack.enter_context(dump.of(conversation.id)) if dump else None

            def watch(call: Call) -> None:
                if write:
                    write(call)
                self.tick()

            follows = log.session(conversation.id, self.terms.window.model, CODECS) if log else None
            return replay(conversation, self.terms, store, self.ruler, watch, follows)

    def compared(
        self, conversations: Sequence[Conversation], outcomes: Sequence[Outcome], beside: Iterable[Terms]
    ) -> Iterator[Row]:
        """Yield each policy over all conversations: the rivals, then squidbot's own ways."""
        recordings = [recording_of(one, Reader(one, CODECS)) for one in conversations]
        for kind in RIVALS:
            yield Row(kind.name, ours=False, tally=_sum(self._scored(kind, one) for one in recordings))
        for terms in beside:
            tallies = [one.tally for one in outcomes]
            if terms.label != self.terms.label:
                other, store = replace(self, terms=terms), InMemoryStore()
                tallies = [other.replayed(one, store, None).tally for one in conversations]
            yield Row(terms.label, ours=True, tally=_sum(tallies))

    def _scored(self, kind: type[Rival], recording: Recording) -> Tally:
        terms, ruler = self.terms, self.ruler
        return score_rival(kind(terms.limit_tokens, ruler), recording, ruler, self.tick, terms.charges)


def _log(path: str | None) -> TurnLog | None:
    """Return the file that turns are written to; None for none.

    Raises:
        ConfigError: it is a folder.
    """
    if path is None:
        return None
    from squidbot.core.redaction import Redactor  # noqa: PLC0415  # only who looks for a fault needs it
    from squidbot.wiring.turnlog import TurnLog  # noqa: PLC0415  # as above

    return TurnLog(path, Redactor())


def _sum(tallies: Iterable[Tally]) -> Tally:
    total = Tally()
    for tally in tallies:
        total.add(tally)
    return total


def _unused(name: str, taken: dict[str, Conversation]) -> str:
    """Return a session's name that is not taken: the id, or the id with the first free number from 2."""
    number, free = 1, name
    while free in taken:
        number += 1
        # A session's id may have 1,024 characters.
        free = f"{name[:1000]}-{number}"
    return free


def _dump(given: str, *, several: bool) -> AbstractContextManager[Dump]:
    target = Path(given)
    return open_dump(target, folder=is_folder(target, given), several=several)


def _check_apart(places: Places, read: Iterable[str]) -> None:
    """Check that nothing that is read, or written otherwise, would be written over.

    Raises:
        ConfigError: it would.
    """
    outputs = {"--store": places.store, "--dump": places.dump}
    for option, given in outputs.items():
        if given and any(_same(given, path) for path in read):
            raise ConfigError(f"{option} {given} is a transcript that is read; name another file")
    if places.store and places.dump and _same(places.store, places.dump):
        raise ConfigError(f"--store and --dump name one file, {places.dump}; name two")


def _same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _check_unused(store: Store, conversations: Iterable[Conversation]) -> None:
    """Check that a replay begins each session.

    Raises:
        ConfigError: a session has messages or records already.
    """
    for conversation in conversations:
        if store.head(conversation.id) != (0, 0):
            raise ConfigError(
                f"--store has a session {conversation.id!a:.80} already; a replay begins its sessions: "
                "name another file, or none for a temporary one"
            )
