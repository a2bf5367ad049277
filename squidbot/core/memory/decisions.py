"""Which sentences of a message tell what was decided, or how a user wants something done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from squidbot.core.memory.extract import extract
from squidbot.core.memory.search import instructs, terms_of
from squidbot.core.notes.extract import decides, orders, sentences

if TYPE_CHECKING:
    from squidbot.core.memory.facts import FactCandidate, Utterance

# By these words messages that tell decisions are found in a store.
DECIDING: Final = "decided decision agreed chose settled always never must prefer instead"
# A longer message of a user's is pasted, and of a longer one of the assistant's its first part counts.
MOST_CHARS: Final = 20_000
MOST_SENTENCES: Final = 200


def decisions_in(message: Utterance, about: frozenset[str] = frozenset()) -> list[str]:
    """Return the sentences of a message that tell a decision or an order, in their order.

    `about` has the terms (`terms_of`) of the subject; without any, every subject counts. With them, all that a user
    says of the subject and does not ask counts. Tools decide nothing.
    """
    if message.role not in {"user", "assistant"}:
        return []
    of_user, found = message.role == "user", list[str]()
    said = sentences(message.text[:MOST_CHARS])[:MOST_SENTENCES]
    by_rules = [(fact.sentence or fact.text).rstrip(".") for fact in extract([message]) if _is_decision(fact)]
    for at, sentence in enumerate(said):
        if sentence.endswith(("?", "\uff1f")):
            continue
        decided = decides(sentence) or any(rule in sentence for rule in by_rules)
        decided = decided or (of_user and (instructs(sentence) or orders(sentence)))
        # What is decided about a subject may not name it again: the sentences beside it do.
        text = " ".join(said[max(0, at - 1) : at + 2]) if decided else sentence
        if (decided or (of_user and about)) and _speaks_of(about, text):
            found.append(sentence)
    return found


def _is_decision(fact: FactCandidate) -> bool:
    return fact.trait or "decision" in fact.reason or fact.reason.startswith("marked")


def _speaks_of(about: frozenset[str], text: str) -> bool:
    """Return whether a text has at least half of the terms."""
    return 2 * len(about.intersection(terms_of(text))) >= len(about)
