"""What is wrong with a text that is to stand for messages: it tells of itself, or of what nobody said."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from squidbot.core.errors import LLMError
from squidbot.core.jobs.prompts import HEADINGS
from squidbot.core.notes.literals import literals_of

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["check_answer", "cleaned"]

# Control characters and lone surrogates, which some providers refuse.
_UNSAFE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f\ud800-\udfff]")
# How a model refuses, and how an error of its server begins, where it should have told of the messages.
_REFUSAL = re.compile(
    r"\W*(?:(?:i['\u2019]m|i am|we['\u2019]re) (?:very |so |really )?(?:sorry|afraid|unable|not able)|sorry\b|"
    r"apologies\b|i apologi[sz]e|(?:unfortunately,? )?i (?:can(?:['\u2019]t|not)|could(?:n['\u2019]t| not)|"
    r"won['\u2019]t|will not|do(?:n['\u2019]t| not) have|must decline)\b|as an? (?:ai|large|language)|"
    r"there (?:is|are|was) (?:no|nothing)\b.{0,40}(?:summar|messages?)|please provide)",
    re.IGNORECASE,
)
_ERROR = re.compile(
    r"\W*(?:(?:\w+\.)*\w*(?:error|exception)\s*[:(\[]|traceback \(|cuda (?:error|out)|"
    r"(?:http|error|status)\W*(?:code )?[45]\d\d\b|"
    r"[45]\d\d (?:bad|unauth|forbid|not found|too many|internal|service|gateway|client|server)|rate limit|"
    r"out of memory|too many requests|internal server|service unavailable|bad gateway|"
    r"(?:gateway |request )time[d-]?\s?out|overloaded|connection (?:refused|reset|error)|"
    r"(?:this model['\u2019]s |the )?(?:maximum )?context (?:length|window)|(?:the )?prompt is too long|"
    r"exceeds?\b|quota|unauthori[sz]ed|invalid api|(?:null|none|n/a)\W*\Z|\{\s*\"error)",
    re.IGNORECASE,
)
_OWN_MARK = re.compile(r"</?squidbot\b|</?(?:summary|messages)>", re.IGNORECASE)
# A number that nobody arrives at by counting a few things.
_NUMBER = re.compile(r"(?<![\w.])\d(?:[\d.,]*\d)?(?!\w)")
_LEAST_DIGITS = 3
_CODE = re.compile(r"`([^`\n]{1,200})`")
_WORD = re.compile(r"[^\W\d_]\w{2,}")
# A capitalised word inside a sentence is a name, except in a language that writes every noun so.
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}\b")
_INNER_WORD = re.compile(r"(?<=[a-z,] )[A-Za-z][a-z]{2,}\b")
_NOUN_FRACTION = 0.15


def cleaned(text: str) -> str:
    """Return a text without what providers refuse, and without white space around it."""
    return _UNSAFE.sub("", text.replace("\r\n", "\n").replace("\t", " ")).strip()


def check_answer(answer: str, source: str) -> None:
    """Check a text that is to stand for the messages whose whole text is `source`.

    Raises:
        LLMError: it is empty, a refusal or an error's text, bears marks of squidbot's own, or writes a literal, a
            number or a name that does not occur there. The text of the error quotes no more than one of these.
    """
    if sum(map(str.isalnum, answer)) < _LEAST_DIGITS:
        raise LLMError("empty", "the answer says nothing")
    if _REFUSAL.match(answer):
        raise LLMError("refused", "the answer is a refusal")
    if _ERROR.match(answer):
        raise LLMError("unusable", "the answer is an error's text")
    if _OWN_MARK.search(answer):
        raise LLMError("unusable", "the answer bears marks that only squidbot writes")
    word = next(_invented(answer, source), None)
    if word is not None:
        raise LLMError("unusable", f"the answer writes {word!a:.60}, which its source does not")


def _invented(answer: str, source: str) -> Iterator[str]:
    """Yield what an answer may only have from its source, and has not."""
    known = literals_of(source)
    quoted = [*sorted(literals_of(answer)), *(word for code in _CODE.findall(answer) for word in _WORD.findall(code))]
    yield from (word for word in quoted if not (word.isdigit() or word in known or _stands_in(word, source)))
    numbers = [one for one in _NUMBER.findall(answer) if sum(map(str.isdigit, one)) >= _LEAST_DIGITS]
    # Commas between thousands are written by some and not by others.
    plain = source.replace(",", "") if numbers else ""
    yield from (number for number in numbers if not _stands_in(number.replace(",", ""), plain))
    yield from _names(answer, source)


def _names(answer: str, source: str) -> Iterator[str]:
    """Yield capitalised words inside sentences that occur nowhere in the source, in no case."""
    inner = len(_INNER_WORD.findall(source))
    if inner and len(_NAME.findall(source)) > _NOUN_FRACTION * inner:
        return
    lowered = source.lower()
    for name in _NAME.findall(answer):
        if name not in HEADINGS and name.lower() not in lowered:
            yield name


def _stands_in(word: str, source: str) -> bool:
    """Return whether a word stands in a text, and not as a piece of a longer one."""
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", source) is not None
