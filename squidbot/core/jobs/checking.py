# ruff: noqa: RUF001  # words of other languages stand in their own letters
"""What is wrong with a text that is to stand for messages: it tells of itself, or of what nobody said."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from squidbot.core.errors import LLMError
from squidbot.core.finding.matching import telling
from squidbot.core.finding.words import terms
from squidbot.core.jobs.prompts import HEADINGS
from squidbot.core.notes.literals import find_literals, literals_of

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["check_answer", "check_words", "cleaned"]

# Control characters and lone surrogates, which some providers refuse.
_UNSAFE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f\ud800-\udfff]")
# How a model refuses, and how an error of its server begins, where it should have told of the messages.
_REFUSAL = re.compile(
    r"\W*(?:(?:i['\u2019]m|i am|we['\u2019]re) (?:very |so |really )?(?:sorry|afraid|unable|not able)|sorry\b|"
    r"apologies\b|i apologi[sz]e|(?:unfortunately,? )?i (?:can(?:['\u2019]t|not)|could(?:n['\u2019]t| not)|"
    r"won['\u2019]t|will not|do(?:n['\u2019]t| not) have|must decline)\b|as an? (?:ai|large|language)|"
    r"there (?:is|are|was) (?:no|nothing)\b.{0,40}(?:summar|messages?)|"
    r"(?:(?:sure|of course|certainly|okay)\W+)?(?:please|could you|can you) (?:please )?(?:provide|share|paste|send)\b|"
    r"how (?:can|may) i help|"
    # German, French, Spanish, Portuguese, Italian, Russian, Chinese, Japanese
    r"(?:es )?tut mir (?:sehr )?leid|leider (?:kann|darf) ich|ich (?:kann|darf) (?:\w+ ){0,3}(?:nicht|keine?)\b|"
    r"entschuldig(?:e|en|ung)\b|als (?:ki|sprachmodell)\b|bitte (?:geben|gib|senden|sende|teilen|fügen|stellen)\b|"
    r"(?:je suis )?désolé|malheureusement,? je ne|je ne (?:peux|puis|suis)\b|en tant qu['\u2019]|veuillez\b|"
    r"lo (?:siento|lamento)|(?:lamentablemente|desafortunadamente),? no|no puedo\b|como (?:una? )?(?:ia|modelo)\b|"
    r"por favor,? (?:proporci|enví|compart|forne|envie)|desculpe|sinto muito|infelizmente,? não|"
    r"não (?:posso|consigo)\b|mi dispiace|purtroppo non posso|non posso\b|"
    r"извините|простите|"
    r"к сожалению,? я|я не могу|"
    r"пожалуйста,? (?:предостав|пришл|отправ)|"
    r"(?:很|非常)?抱歉|对不起|很遗憾|我(?:无法|不能)|作为(?:一个)?(?:人工智能|ai|语言模型)|请提供|"
    r"申し訳|すみません|ごめん|残念ながら|要約する)",
    re.IGNORECASE,
)
_ERROR = re.compile(
    r"\W*(?:(?:\w++\.)*+\w*(?:error|exception)\s*[:(\[]|traceback \(|cuda (?:error|out)|"
    r"(?:http|error|status)\W*(?:code )?[45]\d\d\b|"
    r"[45]\d\d (?:bad|unauth|forbid|not found|too many|internal|service|gateway|client|server)|rate limit|"
    r"out of memory|too many requests|internal server|service unavailable|bad gateway|"
    r"(?:(?:the )?(?:gateway |request |connection ))?time[d-]?\s?out|overloaded|insufficient (?:quota|credit|balance)|"
    r"content (?:was )?(?:filter|block)|blocked by|no content\b|(?:fehler|erreur|erro|errore|"
    r"ошибка|错误|请求(?:超时|失败|过多)|エラー)\s*[:(：（\d]|connection (?:refused|reset|error)|"
    r"(?:this model['\u2019]s |the )?(?:maximum )?context (?:length|window)|(?:the )?prompt is too long|"
    r"exceeds?\b|quota|unauthori[sz]ed|invalid api|(?:null|none|n/a)\W*\Z|\{\s*\"error)",
    re.IGNORECASE,
)
_OWN_MARK = re.compile(r"</?squidbot\b|</?(?:summary|messages)>", re.IGNORECASE)
# A number that nobody arrives at by counting a few things.
_NUMBER = re.compile(r"(?<![\w.])\d(?:[\d.,]*\d)?(?!\w)")
_VERSION = re.compile(r"(?<![\w.])v?\d{1,9}(?:\.\d{1,9}){1,5}(?!\w)")
_LEAST_DIGITS = 3
_CODE = re.compile(r"`([^`\n]{1,200})`")
_WORD = re.compile(r"[^\W\d_]\w{2,}")
_PART = re.compile(r"\w+")
# A capitalised word inside a sentence is a name, except in a language that writes every noun so.
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}\b")
_INNER_WORD = re.compile(r"(?<=[a-z,] )[A-Za-z][a-z]{2,}\b")
_NOUN_FRACTION = 0.15
# A text of so many names is long: it may put forms together ("save/load") and name what is still to be made. Of 24
# summaries that models wrote of a session of a coding agent, their own source lacks at most 7 % of the names, that of
# another session with the same repository 11 % and more.
_LONG_NAMES = 32
_INVENTED_FRACTION = 0.1
# One of the 24 goes on an older text that its source does not have: it lacks 29 %, but says 28 % of the names that
# stand there three times and more; no other session's text says more than 16 % of them and lacks less than a third.
_OLDER_FRACTION = 1 / 3
_OFTEN = 3
_OFTEN_FRACTION = 0.2
# So many names of a source ask for one more in its summary, up to three.
_NAMES_PER_NAME, _MOST_NAMES = 32, 3
# Words that carry content, of which so many and such a share stand in a source without names.
_LEAST_WORDS, _WORDS_FRACTION = 2, 0.25
_STOP_WORDS = frozenset(
    _PART.findall("""
    aber als auch auf aus bei bitte das dass dem den der des die dies diese ein eine einen einer es für haben hat
    ich ihnen ihr ist kann kein keine können mir mit nicht noch oder sie sind sich und uns von war werden wie wir
    wird zu zum zur au aux avec ce ces cette dans de du elle en est et il ils je la le les leur mais me ne nous on
    ou par pas pour que qui sa se ses son sont sur un une vous al como con cual del el ella ellos eran esta este
    ha han las lo los más mi muy para pero por si sin sobre su sus una unos y yo ao com da do dos ela ele em era
    essa esse eu foi isso mas na nas no nos não o os pela pelo seu sua um uma você che di e gli i in non per sono
    please text texts message messages summary summarize summarise help sorry request response provide в и не на
    что я с как это по но к у вы за из от так для мы он она вам могу был было
    """)
)


def cleaned(text: str) -> str:
    """Return a text without what providers refuse, and without white space around it."""
    return _UNSAFE.sub("", text.replace("\r\n", "\n").replace("\t", " ")).strip()


def check_answer(answer: str, source: str, shown: str = "") -> None:
    """Check a text that is to stand for the messages whose whole text is `source`; it may quote `shown`, too.

    Raises:
        LLMError: it is empty, a refusal or an error's text, bears marks of squidbot's own, writes a literal, a number
            or a name that does not occur there (of a long text, more than one in ten), or names nothing of what the
            source names; where that names nothing, it shares no words with it. The text of the error quotes no more
            than one of these.
    """
    _check_speaks(answer)
    _check_invents_little(answer, f"{source}\n{shown}" if shown else source)
    names = _named(source)
    if names:
        folded = answer.casefold()
        found = sum(_is_named(name, folded) for name in names)
        if found < min(_MOST_NAMES, 1 + len(names) // _NAMES_PER_NAME):
            raise LLMError("unusable", "the answer hardly names what its source names: no file, name or number of it")
    elif not _shares_words(answer, source):
        raise LLMError("unusable", "the answer has hardly a word of its source")


def check_words(text: str, source: str) -> None:
    """Check a sentence that a model made of `source`: it may say little of it, but nothing else.

    Raises:
        LLMError: as for `check_answer`, but that it need not name what the source names.
    """
    _check_speaks(text)
    word = next(_invented(text, source), None)
    if word is not None:
        raise _invention(word)


def _check_speaks(answer: str) -> None:
    if sum(map(str.isalnum, answer)) < _LEAST_DIGITS:
        raise LLMError("empty", "the answer says nothing")
    if _REFUSAL.match(answer):
        raise LLMError("refused", "the answer is a refusal")
    if _ERROR.match(answer):
        raise LLMError("unusable", "the answer is an error's text")
    if _OWN_MARK.search(answer):
        raise LLMError("unusable", "the answer bears marks that only squidbot writes")


def _invention(word: str) -> LLMError:
    return LLMError("unusable", f"the answer writes {word!a:.60}, which its source does not")


def _check_invents_little(answer: str, source: str) -> None:
    literals, numbers = _quoted(answer), _numbers(answer)
    count = len(literals) + len(numbers)
    if count < _LONG_NAMES:
        word = next(_invented(answer, source), None)
    else:
        words = set(_PART.findall(source))
        missing = [one for one in literals if not words.issuperset(_PART.findall(one))]
        missing += _missing(numbers, source)
        word = missing[0] if len(missing) > _INVENTED_FRACTION * count else None
        if word is not None and len(missing) < _OLDER_FRACTION * count and _says_often(answer, source):
            word = None
    if word is not None:
        raise _invention(word)


def _says_often(answer: str, source: str) -> bool:
    """Return whether an answer has a good share of the names that its source says often."""
    often = [name for name, count in Counter(name for _, name in find_literals(source)).items() if count >= _OFTEN]
    return sum(_stands_in(name, answer) for name in often) > _OFTEN_FRACTION * len(often)


def _quoted(answer: str) -> list[str]:
    """Return the literals of an answer, and the words that it writes as code."""
    code = (word for code in _CODE.findall(answer) for word in _WORD.findall(code))
    return [word for word in dict.fromkeys((*sorted(literals_of(answer)), *code)) if not word.isdigit()]


def _numbers(text: str) -> list[str]:
    # Commas between thousands are written by some and not by others.
    found = (one.replace(",", "") for one in _NUMBER.findall(text))
    return [one for one in dict.fromkeys(found) if sum(map(str.isdigit, one)) >= _LEAST_DIGITS]


def _missing(numbers: list[str], source: str) -> Iterator[str]:
    plain = source.replace(",", "") if numbers else ""
    return (number for number in numbers if not _stands_in(number, plain))


def _named(source: str) -> set[str]:
    """Return what a source names: literals, versions, numbers of three digits and more, names."""
    names = () if _writes_nouns_large(source) else _NAME.findall(source)
    return {*literals_of(source), *_VERSION.findall(source), *_numbers(source), *names}


def _is_named(name: str, answer: str) -> bool:
    """Return whether an answer, in lower case, has a name, or the last part of a path."""
    folded = name.casefold()
    return _stands_in(folded, answer) or ("/" in folded and _stands_in(folded.rpartition("/")[2] or folded, answer))


def _shares_words(answer: str, source: str) -> bool:
    words = [word for word in telling(answer) if word[0][0] not in _STOP_WORDS]
    known = terms(source)
    shared = sum(any(known.issuperset(form) for form in word) for word in words)
    return shared >= min(_LEAST_WORDS, len(words)) and shared > _WORDS_FRACTION * len(words)


def _invented(answer: str, source: str) -> Iterator[str]:
    """Yield what an answer may only have from its source, and has not."""
    known = literals_of(source)
    yield from (word for word in _quoted(answer) if not (word in known or _stands_in(word, source)))
    yield from _missing(_numbers(answer), source)
    yield from _names(answer, source)


def _writes_nouns_large(source: str) -> bool:
    inner = len(_INNER_WORD.findall(source))
    return bool(inner) and len(_NAME.findall(source)) > _NOUN_FRACTION * inner


def _names(answer: str, source: str) -> Iterator[str]:
    """Yield capitalised words inside sentences that occur nowhere in the source, in no case."""
    if _writes_nouns_large(source):
        return
    lowered = source.lower()
    for name in _NAME.findall(answer):
        if name not in HEADINGS and name.lower() not in lowered:
            yield name


def _stands_in(word: str, source: str) -> bool:
    """Return whether a word stands in a text, and not as a piece of a longer one."""
    at = source.find(word)
    while at >= 0:
        # A look at its neighbours alone: a search by pattern looks at every character of what may be megabytes.
        if not _PART.match(source[at - 1 : at]) and not _PART.match(source, at + len(word)):
            return True
        at = source.find(word, at + 1)
    return False
