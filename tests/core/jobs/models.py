"""Language models to summarize with: one that tells what it was shown, and hosts that let it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from squidbot.core.engine import ContextEngine
from squidbot.core.settings import strategy
from squidbot.core.summaries import ModelSummarizer
from squidbot.testing.models import ScriptedLLM

from ..promises.driver import CODEC, Host, Setup

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.adapters.stdlib import InMemoryStore
    from squidbot.core.errors import LLMError
    from squidbot.core.messages import Part
    from squidbot.core.summaries import SummaryQueue, SummarySettings

    from ..promises.driver import Heard

# A room in which notes are a chain, and blocks are of a few turns.
MIDDLE = Setup(16_384, settings=strategy("balanced", 14_336))


def telling(_system: str, prompt: str) -> str:
    """Return an honest summary: the files that the messages name."""
    names = list(dict.fromkeys(re.findall(r"src/part_\d+\.py", prompt)))
    return f"<summary>\nRead {', '.join(names[:5])} and explained each.\n</summary>"


def writer(answer: str | LLMError | Callable[[str, str], str] = telling) -> ModelSummarizer:
    """Return a summarizer over a model with this answer."""
    return ModelSummarizer(ScriptedLLM(answer))


def desk_of(
    store: InMemoryStore,
    setup: Setup = MIDDLE,
    observer: Heard | None = None,
    jobs: SummarySettings | None = None,
    session_id: str = "s",
) -> SummaryQueue:
    """Return the desk of a session over the store, of a fresh engine."""
    engine = ContextEngine(store, store, {CODEC.tag: CODEC}, observer)
    return engine.summary_queue(session_id, setup.window, setup.meter, setup.settings, jobs)


def shown(host: Host) -> set[str]:
    """Return the ids of the summaries by a model that notes in any request of a host take sentences from."""
    parts = [part for call in host.calls if call.assembly for part in call.assembly.parts if part.summary_id]
    return {text for part in parts for text in used_in(host.store, part)}


def used_in(store: InMemoryStore, note: Part) -> tuple[str, ...]:
    """Return the ids of the summaries by a model that a note as it was sent takes sentences from."""
    found = store.by_id("s", [note.summary_id or ""])
    return found[0].told_from if found else ()
