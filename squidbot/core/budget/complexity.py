"""How much room a question's answer is likely to want, from 0 to 1."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["ENGLISH", "WordLists", "score_complexity"]

# Characters looked at from either end; the score has 5 ms (W-18), and a pasted file says nothing about the request.
_LOOK_CHARS = 10_000

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class WordLists:
    """The words of one language that the score looks for, in lower case.

    Attributes:
        create: verbs that ask for something new, code above all.
        analyse: verbs that ask for an analysis.
        request: further verbs by which one asks for something; with the two above they count the parts of a request.
        question_marks: the characters that end a question.
        spaced: whether words stand between spaces; if not, as in Chinese or Japanese, they are found anywhere.
    """

    create: frozenset[str]
    analyse: frozenset[str]
    request: frozenset[str]
    question_marks: str = "?"
    spaced: bool = True


ENGLISH = WordLists(
    create=frozenset({"build", "create", "generate", "implement", "write"}),
    analyse=frozenset({"analyse", "analyze", "assess", "compare", "diagnose", "evaluate", "investigate", "review"}),
    request=frozenset(
        {
            *("add", "answer", "change", "check", "debug", "define", "delete", "describe", "design", "document"),
            *("explain", "extract", "find", "fix", "give", "identify", "improve", "list", "measure", "optimise"),
            *("optimize", "plan", "propose", "prove", "recommend", "refactor", "remove", "rename", "rewrite", "run"),
            *("search", "show", "solve", "suggest", "summarise", "summarize", "test", "translate", "update", "verify"),
        }
    ),
)


def score_complexity(text: str, *, tools_mode: bool, words: WordLists = ENGLISH) -> float:
    """Return the complexity of a user's text, 0 to 1, in thousandths (W-09).

    .05, and .05 in tools mode; up to .20 for the first 200 characters; .20 for a word that asks to create, .30 for
    one that asks to analyse; .10 for each part beyond the first, three at most. Parts are the question marks or the
    distinct request verbs, whichever are more. Of a text over 20,000 characters the middle is not looked at.
    """
    seen = text if len(text) <= 2 * _LOOK_CHARS else f"{text[:_LOOK_CHARS]}\n{text[-_LOOK_CHARS:]}"
    verbs = _found(seen.lower(), words)
    questions = sum(seen.count(mark) for mark in words.question_marks)
    parts = max(1, questions, len(verbs))
    thousandths = 50 + 50 * tools_mode + min(200, len(text)) + 100 * min(3, parts - 1)
    thousandths += 200 * bool(verbs & words.create) + 300 * bool(verbs & words.analyse)
    return min(1000, thousandths) / 1000


def _found(lowered: str, words: WordLists) -> frozenset[str]:
    verbs = words.create | words.analyse | words.request
    if words.spaced:
        return verbs.intersection(_WORD.findall(lowered))
    return frozenset(verb for verb in verbs if verb in lowered)
