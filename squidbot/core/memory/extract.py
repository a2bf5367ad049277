"""Facts found by rule in what was said: few, and only what its author plainly says of himself or of the work.

Questions, conditions, reports of what others said, quotations, code, pasted texts and made-up scenes say nothing, and
how the assistant is to be is said by a sentence that stands alone. Tools say nothing, whatever stands in their output.
The assistant says decisions, as background, and marks none.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.markers import marked_lines
from squidbot.core.memory.facts import Candidate
from squidbot.core.memory.rules import RULES
from squidbot.core.memory.telling import safe
from squidbot.core.memory.wording import ahead, conjugated, key_of, sentence_of, trimmed, turned, words_of
from squidbot.core.own_words import QUOTED, own_marks, own_words, sentences, stands_alone
from squidbot.core.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from squidbot.core.memories import Category, Trust
    from squidbot.core.memory.facts import Utterance
    from squidbot.core.memory.rules import Rule
    from squidbot.core.own_words import Sentence

__all__ = ["extract", "trait_in"]

# Of one message no more are kept: who says more in one has pasted it.
MOST_FACTS = 12
MARKED_CHARS = 400
# A fact out of which a secret was taken says something still, with so many words left.
_LEAST_WORDS = 6
# What is told as if, asked, wished, or said by others.
_OPEN: Final = re.compile(
    r"\b(?:if|unless|whether|would|could|might|maybe|perhaps|probably|wish|hope|hopefully|guess|what if|assuming|in "
    r"case|"
    r"for example|for instance|e\.g|such as if|used to|if only|as though|supposedly|apparently|i think|i thought|"
    r"not sure|"
    r"should i|do you|the user|the user's|when i was|someday|one day)\b",
    re.IGNORECASE,
)
_REPORTED: Final = re.compile(
    r"\b(?:(?i:he|she|they|it|who|someone|somebody|everyone|people|you|friend|brother|sister|boss|colleague)|"
    r"[A-Z][a-z]+)"
    r"\s+(?:just\s+|also\s+|once\s+|always\s+)?(?:said|says|say|wrote|writes|told|tells|claims?|claimed|thinks?|"
    r"thought|"
    r"asked|asks|believes?|mentioned|replied|insists?)\b"
)
# Who speaks of "the user" in a user's message is somebody else.
_OTHERS: Final = re.compile(r"\bthe\s+user(?:'s)?\b|\bassistant\b", re.IGNORECASE)
_POLITE: Final = re.compile(r"(?:can|could)\s+you\b|please\b", re.IGNORECASE)
_TODAY: Final = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|right now|at the moment|this (?:time|morning|afternoon|evening|week|"
    r"weekend|"
    r"month)|for now|temporarily|until|last (?:night|week)|in a (?:minute|moment|while)|for a (?:few|while|week|"
    r"bit))\b",
    re.IGNORECASE,
)
_CHANGES: Final = re.compile(
    r"\b(?:now|from now on|instead|any\s?more|these days|nowadays|switched|moved|changed my mind|no longer|actually)\b",
    re.IGNORECASE,
)
_LEAD: Final = re.compile(
    r"(?:(?:hi|hello|hey|well|so|also|and|but|oh|ok|okay|yes|yeah|yep|no|sure|thanks|actually|anyway|however|plus|"
    r"btw|fyi|"
    r"by the way|for the record|for reference|for context|just so you know|you should know(?: that)?|just|to be clear|"
    r"as i said|as you know|as for me|as a reminder|(?:please )?note that|honestly|personally|fun fact|first|second|"
    r"sorry|hi there|hello there|there|squid|in general|generally|usually|nowadays|these days|now|"
    r"i(?:'ve| have)? changed my mind|from now on(?=,?\s+i\b)|correction)[\s,:!.\-]++)++",
    re.IGNORECASE,
)
# Of texts with one space between their words, as are the rules: `\s*` twice is quadratic in a run of spaces.
_CLAUSE: Final = re.compile(
    r" ?(?:,|;| -{1,2}|[\u2013\u2014])? (?:and|but|so|also) (?:also |that )?(?=(?:i|i'm|i've|my|we|we're|"
    r"our|call|please) )|"
    r" ?(?:,| -{1,2}|[\u2013\u2014]) ?(?=(?:i'm|i am|i live|i work|i prefer|i use|i moved|my name|"
    r"call me|"
    r"from now on|always|never|please) )",
    re.IGNORECASE,
)
_ASKED: Final = re.compile(
    r"(?:please\s+|can\s+you\s+|could\s+you\s+|you\s+should\s+|i\s+want\s+you\s+to\s+|i'd\s+like\s+you\s+to\s+)*+"
    r"(?:remember|don't\s+forget|do\s+not\s+forget|never\s+forget|keep\s+in\s+mind|bear\s+in\s+mind|make\s+a\s+note|"
    r"take\s+note|note\s+to\s+self|for\s+future\s+reference|memori[sz]e|save\s+this|remember\s+this)"
    r"(?:\s+this)?\s*(?P<how>,?\s*that\s+|:\s*|,\s*|\s+to\s+|\s+)(?P<x>.+)\Z",
    re.IGNORECASE | re.DOTALL,
)
_NOT_ASKED: Final = re.compile(
    r"(?:when|how|what|where|who|why|if|me|it|this|that|those|these|the|you|him|her|them|us|anything|everything|"
    r"nothing)\b"
    r"(?!\s+(?:\w+\s+){0,6}(?:is|are|has|have|must|needs?|uses?|runs?|should|starts?|goes)\b)",
    re.IGNORECASE,
)
_YOU: Final = re.compile(r"\byou(?:r|rself)?\b", re.IGNORECASE)
_SAYS: Final = re.compile(r"\b(?:is|are|has|have|must|needs?|i|i'm|my|uses?|runs?|starts?)\b", re.IGNORECASE)
_FIRST_PERSON: Final = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|myself)\b", re.IGNORECASE)
_MARKED: Final[dict[str, tuple[Category, float]]] = {"GOAL": ("concerns", 0.7), "DECISION": ("background", 0.7)}
_LEAST_ASKED = 2
_NO_REDACTOR: Final = Redactor()


def extract(said: Iterable[Utterance], redactor: Redactor = _NO_REDACTOR) -> list[Candidate]:
    """Return what may be remembered of utterances, in order; the same from the same. Linear in what was said.

    Each candidate says which message it is from and by which rule. Secrets are taken out; a fact that is nothing else
    is left out. What users say may be of any category, what the assistant says is background; tools say nothing. Said
    again it is the same fact, as it was said first; changed and changed back, it is a new one.
    """
    found: list[Candidate] = []
    for one in said:
        for candidate in islice(_of_one(one), MOST_FACTS):
            kept = _without_secrets(candidate, redactor)
            if kept is not None and not _is_said(kept, found):
                found.append(kept)
    return found


def _is_said(candidate: Candidate, found: Sequence[Candidate]) -> bool:
    same = [one.text for one in found if one.slot == candidate.slot]
    return candidate.text in (same[-1:] if candidate.slot else same)


def _without_secrets(candidate: Candidate, redactor: Redactor) -> Candidate | None:
    text = safe(redactor.redacted(candidate.text), MARKED_CHARS)
    if redactor.mark not in text or redactor.mark in candidate.text:
        return replace(candidate, text=text, sentence=safe(redactor.redacted(candidate.sentence), MARKED_CHARS))
    # A slot is made of the words of its fact, so it would hold the secret, too.
    left = text.replace(redactor.mark, " ").split()
    left_over = replace(candidate, text=text, slot="", ends=(), sentence=text)
    return left_over if len(left) >= _LEAST_WORDS else None


def _of_one(said: Utterance) -> Iterator[Candidate]:
    """Yield what one message says."""
    if said.role not in ("user", "assistant"):
        return
    # An assistant may have read a marked line anywhere.
    marks = own_marks(said.text) if said.role == "user" else []
    for line in marked_lines("\n".join(marks)):
        if line.marker in _MARKED:
            category, importance = _MARKED[line.marker]
            made = replace(_made(said, f"marked [{line.marker}]"), text=sentence_of(line.said))
            yield replace(made, category=category, importance=importance)
    is_alone = stands_alone(said.text)
    for sentence in sentences(own_words(said.text)):
        if QUOTED not in sentence.text and not sentence.text.startswith("["):
            found = _of_sentence(sentence, said)
            yield from (one for one in found if is_alone or not one.trait)


def trait_in(said: Utterance, sentence: str, redactor: Redactor = _NO_REDACTOR) -> Candidate | None:
    """Return the trait that a sentence is, where the same sentence stands among a user's own words; None else.

    It need not stand alone: somebody has chosen it, who may have been talked into it, so the words have to be there.
    """
    wanted = words_of(sentence)
    for one in sentences(own_words(said.text)) if said.role == "user" else ():
        if wanted == words_of(one.text) and QUOTED not in one.text:
            found = (_without_secrets(each, redactor) for each in _of_sentence(one, said) if each.trait)
            return next(filter(None, found), None)
    return None


def _of_sentence(sentence: Sentence, said: Utterance) -> Iterator[Candidate]:
    spaced = " ".join(sentence.text.split())
    text = _LEAD.sub("", spaced, count=1) if _LEAD.match(spaced) else spaced
    asked = _ASKED.match(text) if said.role == "user" else None
    if asked and not _OTHERS.search(text) and (not sentence.asks or _POLITE.match(text)):
        yield from _asked_for(asked, said)
    elif not sentence.asks and not _OPEN.search(text) and not _REPORTED.search(text):
        yield from _of_clauses(text, said, spaced)


def _asked_for(asked: re.Match[str], said: Utterance) -> Iterator[Candidate]:
    """Yield what a user asks to be remembered: by the rules, if one knows it, else in the user's words."""
    what, how = trimmed(asked["x"]), asked["how"].strip().lower()
    known = [] if _OPEN.search(what) else list(_of_clauses(what, said, what))
    for one in known:
        yield replace(one, importance=max(0.8, one.importance), reason=f"{one.reason}; asked to remember")
    if known or not _is_plain(what, how):
        return
    made = replace(_made(said, "asked to remember"), importance=0.8)
    if how == "to":
        yield replace(made, text=f"To do, as asked: {turned(what)}.", category="concerns", importance=0.6)
    elif _FIRST_PERSON.search(what):
        yield replace(made, text=f"{_subject(said)} asked to remember: {sentence_of(what)}", category="core")
    else:
        yield replace(made, text=sentence_of(what), category="background")


def _is_plain(what: str, how: str) -> bool:
    """Return whether it is plain that a user asks to remember words, and neither recalls something nor gives advice."""
    if len(what.split()) < _LEAST_ASKED or how == ",":
        return False
    if how == "to":
        return _YOU.search(what) is None
    return how.endswith(("that", ":")) or (_NOT_ASKED.match(what) is None and _SAYS.search(what) is not None)


def _of_clauses(text: str, said: Utterance, whole: str) -> Iterator[Candidate]:
    is_passing = _TODAY.search(text) is not None
    changes = _CHANGES.search(whole) is not None
    for piece in _CLAUSE.split(text):
        clause = _LEAD.sub("", piece, count=1) if _LEAD.match(piece) else piece
        rules = (rule for rule in RULES if said.role == "user" or rule.name == "decision")
        found = next(filter(None, (_by(rule, ahead(clause).strip(), said) for rule in rules)), None)
        if found is not None and (found.lasts or not is_passing):
            yield replace(found.candidate, changes=changes or found.candidate.changes, sentence=whole)


class _Found(NamedTuple):
    candidate: Candidate
    lasts: bool


def _by(rule: Rule, clause: str, said: Utterance) -> _Found | None:
    """Return what a rule makes of a clause; None where it is not about that."""
    match = rule.pattern.match(clause)
    if match is None:
        return None
    given = {name: trimmed(value) for name, value in match.groupdict(default="").items()}
    x, y = given.get("x", ""), given.get("y", "")
    if not x or not rule.fits(x):
        return None
    third = turned(x)
    parts = {
        "S": _subject(said), "s": said.speaker.casefold() or "user", "o": x, "x": third, "vx": conjugated(third),
        "y": turned(y) if y.lower() != "os" else "OS", "Y": y.capitalize(), "kx": key_of(x), "ky": key_of(y),
        "jy": "".join(key_of(y).split()),
    }  # fmt: skip
    ends = tuple(one.format(**parts) for one in rule.ends if parts["ky"] or "{ky}" not in one)
    candidate = replace(
        _made(said, f"rule {rule.name!r}"),
        text=sentence_of(rule.text.format(**parts)),
        category=rule.category if said.role == "user" else "background",
        importance=rule.importance,
        slot=rule.slot.format(**parts),
        ends=ends,
        changes=rule.changes,
        trait=rule.trait,
    )
    return _Found(candidate, rule.lasts)


def _made(said: Utterance, reason: str) -> Candidate:
    trust: Trust = "user" if said.role == "user" else "assistant"
    return Candidate("", "background", trust, said.seq, said.seq, said.time, said.speaker, reason=reason)


def _subject(said: Utterance) -> str:
    return said.speaker or "The user"
