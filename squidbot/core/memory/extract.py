"""Facts found in messages by rule: few, and only those that people plainly state about themselves or the work.

Questions, conditions, reports of others' words, quotations, code, pasted texts and made-up scenes are no facts. A fact
keeps the words in which it was said, behind the name of who said it. Traits of the assistant come from sentences that
stand alone. The output of tools has no facts; of the assistant's messages only decisions count, as background.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Final

from squidbot.core.memory.facts import FactCandidate, Utterance, key_of, sentence_of, words_of
from squidbot.core.memory.rules import ANY, TOPICS, de, en, es, fr, ru, zh
from squidbot.core.memory.text import safe
from squidbot.core.own_words import QUOTED, own_marks, own_words, sentences, stands_alone
from squidbot.core.redaction import Redactor
from squidbot.core.transcript.markers import marked_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from squidbot.core.memories import FactCategory, Trust
    from squidbot.core.memory.rules import Topic
    from squidbot.core.own_words import Sentence

# Increase it with every change of the rules: it stands in the mark of each session.
VERSION: Final = "2"
LANGUAGES: Final = (en.RULES, de.RULES, es.RULES, fr.RULES, ru.RULES, zh.RULES)
# The most facts of one message: a text with more was probably pasted.
MOST_FACTS = 12
MARKED_CHARS, CLAUSE_CHARS = 400, 240
# A fact without its secret is kept if at least so many words are left.
_LEAST_WORDS = 8
# A user's message that speaks of "the user" quotes somebody else.
_OTHERS: Final = re.compile(r"\bthe\s+user(?:'s)?\b|\bassistant\b", re.IGNORECASE)
_MARKED: Final[dict[str, tuple[FactCategory, float]]] = {"GOAL": ("concerns", 0.7), "DECISION": ("background", 0.7)}
_REDACTOR: Final = Redactor()
_NAME_PART: Final = re.compile(r"[^\W\d_][^\W\d_'\-.]*+(?:['\-][^\W\d_]++|(?!))*+\.?\Z")
_PARTICLES: Final = frozenset(("de", "van", "von", "der", "da", "di", "bin", "el"))
_STRIPPED: Final = ' ,.;:!*_`"\u3002\uff01\uff0c'


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # A clause has one space between its words: a run of spaces would be tried in many ways.
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)


@cache
def _rows(table: str) -> tuple[tuple[str, str], ...]:
    rows: list[tuple[str, str]] = []
    for row in table.strip().replace("\n ", "").split("\n"):
        name, pattern = row.split(" | ", 1)
        for word, meaning in rows:
            pattern = pattern.replace(f"<{word}>", meaning)
        rows.append((name, pattern))
    return tuple(row for row in rows if not row[0].isupper())


@cache
def _language(table: str) -> tuple[re.Pattern[str], tuple[tuple[str, re.Pattern[str]], ...]]:
    (_, doubt), *rules = _rows(table)
    return _compiled(doubt), tuple((name, _compiled(rf"(?:{pattern})\Z")) for name, pattern in rules)


_ANY: Final = {name: _compiled(pattern) for name, pattern in _rows(ANY)}


def is_name(text: str) -> bool:
    """Return whether a text may be a person's name."""
    words = text.split()
    if not 1 <= len(words) <= 4:
        return False
    if any(not _NAME_PART.match(word) or _ANY["no name"].match(word) for word in words):
        return False
    return len(words) == 1 or all(word[:1].isupper() or word in _PARTICLES for word in words)


def is_capital(text: str) -> bool:
    """Return whether a text may be a proper noun: written with a capital, if its script has some."""
    first = text.removeprefix("the ")[:1]
    return first.isalpha() and not first.islower()


def is_place(text: str) -> bool:
    """Return whether a text may be a place on a map: written with a capital, and no known tool or day."""
    return is_capital(text) and not _ANY["no place"].match(text)


_FITS: Final[Mapping[str, Callable[[str], bool]]] = {
    "": bool,
    "name": is_name,
    "capital": is_capital,
    "place": is_place,
}


def extract(messages: Iterable[Utterance], redactor: Redactor = _REDACTOR) -> list[FactCandidate]:
    """Return the facts in messages, in order; the same from the same. Linear in the length of the messages.

    Each names its message and its rule. Secrets are removed; a fact that is nothing else is left out. Facts of users
    may have any category, those of the assistant are background; tools have none. A repeated fact is kept once, as it
    was said first; changed and changed back, it is a new one.
    """
    found: list[FactCandidate] = []
    for message in messages:
        for candidate in islice(_of_message(message), MOST_FACTS):
            kept = _without_secrets(candidate, redactor)
            if kept is not None:
                same = [fact.text for fact in found if fact.slot == kept.slot]
                if kept.text not in (same[-1:] if kept.slot else same):
                    found.append(kept)
    return found


def _without_secrets(candidate: FactCandidate, redactor: Redactor) -> FactCandidate | None:
    text = safe(redactor.redacted(candidate.text), MARKED_CHARS)
    if redactor.mark not in text or redactor.mark in candidate.text:
        return replace(candidate, text=text, sentence=safe(redactor.redacted(candidate.sentence), MARKED_CHARS))
    # A slot is made of the words of its fact, so it would hold the secret, too.
    left = text.replace(redactor.mark, " ").split()
    return replace(candidate, text=text, slot="", ends=(), sentence=text) if len(left) >= _LEAST_WORDS else None


def _of_message(message: Utterance) -> Iterator[FactCandidate]:
    if message.role not in ("user", "assistant"):
        return
    # An assistant may have read a marked line anywhere.
    marks = own_marks(message.text) if message.role == "user" else []
    for line in marked_lines("\n".join(marks)):
        if line.marker in _MARKED:
            category, importance = _MARKED[line.marker]
            draft = _draft(message, sentence_of(line.said), f"marked [{line.marker}]")
            yield replace(draft, category=category, importance=importance)
    is_alone = stands_alone(message.text)
    for sentence in sentences(own_words(message.text)):
        if QUOTED not in sentence.text and not sentence.text.startswith("["):
            yield from (fact for fact in _of_sentence(sentence, message) if is_alone or not fact.trait)


def trait_in(message: Utterance, sentence: str, redactor: Redactor = _REDACTOR) -> FactCandidate | None:
    """Return the trait that a sentence is, if the same sentence stands among a user's own words; otherwise `None`.

    It need not stand alone: a model has chosen it, and may have been talked into it, so the words have to be there.
    """
    wanted = words_of(sentence)
    for own in sentences(own_words(message.text)) if message.role == "user" else ():
        if wanted == words_of(own.text) and QUOTED not in own.text:
            found = (_without_secrets(fact, redactor) for fact in _of_sentence(own, message) if fact.trait)
            return next(filter(None, found), None)
    return None


def _of_sentence(sentence: Sentence, message: Utterance) -> Iterator[FactCandidate]:
    """Yield the facts of a sentence by the first language that finds any."""
    whole = " ".join(sentence.text.split())
    text = _ANY["lead"].sub("", whole.replace("`", ""))
    asked = _ANY["asked"].match(text) if message.role == "user" and not _OTHERS.search(text) else None
    clauses = _statements(asked["x"] if asked else text, asks=sentence.asks and not asked)
    for language in LANGUAGES:
        found = list(_of_clauses(clauses, language, message))
        if found:
            least, why = (0.8, "; asked to remember") if asked else (0.0, "")
            is_new = _ANY["changed"].search(whole) is not None
            for fact in found:
                kept = replace(fact, sentence=whole, changes=fact.changes or is_new, reason=f"{fact.reason}{why}")
                yield replace(kept, importance=max(least, fact.importance))
            return
    plain = asked["x"].strip(_STRIPPED) if asked and asked["that"] and not sentence.asks else ""
    if plain and not any(_language(one)[0].search(plain) for one in LANGUAGES):
        yield replace(_draft(message, _said(message, plain), "asked to remember"), importance=0.8, sentence=whole)


def _statements(text: str, *, asks: bool) -> list[str]:
    """Return the clauses before the one that asks, and those that it takes as given; no other ones of a question."""
    pieces = [(piece, _ANY["lead"].sub("", piece)) for piece in _ANY["split"].split(text)]
    end = next((at for at, (_, clause) in enumerate(pieces) if _ANY["asks"].match(clause)), len(pieces))
    first = 0 if asks and end == len(pieces) else end
    stated = [
        clause for at, (piece, clause) in enumerate(pieces) if at < first or (at > end and _ANY["given"].match(piece))
    ]
    return [_ANY["tail"].sub("", clause.strip(_STRIPPED)).strip(_STRIPPED) for clause in stated]


def _of_clauses(clauses: Iterable[str], language: str, message: Utterance) -> Iterator[FactCandidate]:
    """Yield the facts of clauses, up to one that puts what follows in doubt: "If ...", "He says, I ..."."""
    for at, clause in enumerate(clauses):
        fact = _of_clause(clause, language, message) if len(clause) <= CLAUSE_CHARS else None
        if fact is not None:
            yield fact
        elif any(
            not found.start() + at or found.end() == len(clause) for found in _language(language)[0].finditer(clause)
        ):
            return


def _of_clause(clause: str, language: str, message: Utterance) -> FactCandidate | None:
    """Return the fact that the first rule finds that matches a clause, in its own words."""
    for name, pattern in _language(language)[1]:
        topic = TOPICS[name]
        match = pattern.match(clause) if message.role == "user" or name == "decision" else None
        parts = match.groupdict("") if match is not None else {}
        if match is not None and _FITS[topic.fits](parts.get("x", clause)):
            is_sure = topic.trait or not _language(language)[0].search(parts["x"] if topic.lasts else clause)
            return _fact(topic, parts, message, f"rule {name!r}", clause) if is_sure else None
    return None


def _fact(topic: Topic, parts: Mapping[str, str], message: Utterance, reason: str, clause: str) -> FactCandidate:
    x, y = (key_of(parts.get(part, "")) for part in "xy")
    words = {"s": message.speaker.casefold() or "user", "x": x, "y": y, "j": "".join(y.split())}
    return replace(
        _draft(message, sentence_of(clause) if topic.trait else _said(message, clause), reason),
        category=topic.category if message.role == "user" else "background",
        importance=topic.importance,
        slot=topic.slot.format(**words),
        ends=tuple(end.format(**words) for end in topic.ends if y or "{y}" not in end),
        changes=topic.changes,
        trait=topic.trait,
    )


def _said(message: Utterance, clause: str) -> str:
    return f"{message.speaker or f'The {message.role}'}: {sentence_of(clause)}"


def _draft(message: Utterance, text: str, reason: str) -> FactCandidate:
    trust: Trust = "user" if message.role == "user" else "assistant"
    seq = message.seq
    return FactCandidate(text, "background", trust, seq, seq, message.time, message.speaker, reason=reason)
