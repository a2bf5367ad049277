"""Search: candidates are found by their words, and ranked by several signals.

A store keeps the terms of passages in an index of its own, takes the best of a query's terms, their neighbours and
passages of the days asked about, and has `score` rank them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain, pairwise
from math import exp, inf, log, log1p
from operator import mul
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, NamedTuple, Protocol

from squidbot.core.memories import MemoryHit
from squidbot.core.memory.days import Days, day_of, days, without_days
from squidbot.core.memory.words import STOP_WORDS, root, stem, synonyms
from squidbot.core.recall.search import terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from squidbot.core.memories import Memory, Passage


# Texts as search sees them: terms, and other features.

# Raise it with every change of the terms: indexes of other rules are rebuilt.
RULES = 2

# The first characters of a text count: about 20 ms of work.
TEXT_CHARS = 100_000
# A longer word is data and does not count.
WORD_CHARS = 64

_TOKEN = re.compile(r"[^\W_]++(?:['\u2019][^\W_]++|(?!))*+")
_PLAIN = re.compile(r"[a-z]+|[A-Z][a-z]*|[A-Z]+|[0-9]+")
# "I" and "you" in English, German, Spanish, French and Russian, but for words that mean another thing in one of them;
# in Chinese by the character.
_FIRST = """
i my me mine we our us ours myself ich mein meine meinen meinem meiner mir mich wir unser unsere yo mi mis mío mía
nosotros nuestro nuestra je mon ma moi nous notre nos я мой моя моё мои мне меня мы наш
"""
_SECOND = """
you your yours yourself hast dein deine deinen deinem deiner dir dich tú tu tus usted te toi ton tes vous votre vos ты
твой твоя тебе тебя вы ваш вам
"""
FIRST_PERSON, SECOND_PERSON = frozenset(_FIRST.split()), frozenset(_SECOND.split())
_I, _YOU = "我", "你您"
_ASKED = ("?", "\uff1f")
# Names that say what somebody is, and not who: they stand in questions as words.
ASSISTANTS = frozenset(("assistant", "ai", "bot", "chatbot", "model", "agent"))
ROLES = ASSISTANTS | {"user", "human", "system", "tool"}
# What standing instructions begin with; of Chinese, with no space behind.
INSTRUCTION_WORDS = (
    "always never whenever immer niemals siempre nunca toujours jamais всегда никогда 总是 始终 永远 每次"
)
_INSTRUCTS = re.compile(
    r"(?!\s*+never (?:mind|heard)\b)\s*+(?:(?:please|bitte|por favor|пожалуйста|请),?\s*+)?"
    rf"(?:(?:{'|'.join(INSTRUCTION_WORDS.split()[:-4])}|from now on|when i (?:ask|say|write|want)|ab jetzt|"
    r"nie|ne \w+ jamais)\b|"
    rf"{'|'.join(INSTRUCTION_WORDS.split()[-4:])}|从现在)",
    re.IGNORECASE,
)
# Letters in front of an apostrophe that, behind it, are one word of grammar: "I've" and "we'll" are their first half.
_ENDS = frozenset(("s", "m", "d", "re", "ve", "ll"))


class PassageFeatures(NamedTuple):
    """A passage as search sees it.

    Attributes:
        terms: stems of its words in order, without words of mere grammar.
        asks: whether it ends with a question.
        own_fraction: the fraction of its words that are "I", "my" and such.
        instructs: whether it begins as a standing instruction does.
    """

    terms: tuple[str, ...]
    asks: bool = False
    own_fraction: float = 0.0
    instructs: bool = False


def features_of(passage: Passage) -> PassageFeatures:
    """Return a passage as search sees it."""
    text = passage.text[:TEXT_CHARS]
    read = _read(text)
    words, stems = zip(*read, strict=True) if read else ((), ())
    own = sum(map(FIRST_PERSON.__contains__, words)) / max(1, len(words))
    asks = text.rstrip().endswith(_ASKED)
    return PassageFeatures(tuple(chain.from_iterable(stems)), asks, own, instructs(text))


def instructs(text: str) -> bool:
    """Return whether a text begins as a standing instruction does: "Always ..."."""
    return _INSTRUCTS.match(text) is not None and not text.rstrip().endswith(_ASKED)


def terms_of(text: str) -> tuple[str, ...]:
    """Return the terms of a text in order, as `features_of` does."""
    return tuple(term for _, stems in _read(text) for term in stems)


def lower_words(text: str) -> list[str]:
    """Return the words of a text in order, lower case, without endings after an apostrophe."""
    return [word for word, _ in _read(text)]


def _read(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the words of a text in order, each as `_known` has it, without data."""
    tokens = _TOKEN.findall(text[:TEXT_CHARS])
    if max(map(len, tokens), default=0) > WORD_CHARS:
        tokens = [token for token in tokens if len(token) <= WORD_CHARS]
    return [*map(_known, tokens)]


@lru_cache(65_536)
def _known(token: str) -> tuple[str, tuple[str, ...]]:
    """Return a word in lower case, and its terms: none for grammar alone."""
    head, mark, tail = token.replace("\u2019", "'").rpartition("'")
    if mark and tail.lower() == "t":  # don't, isn't
        return token.lower(), ()
    if mark and tail.lower() in _ENDS:
        token = head
    lower = token.lower()
    if _PLAIN.fullmatch(token):
        return lower, () if lower in STOP_WORDS else (stem(lower),)
    return lower, tuple(stem(piece) for piece in sorted(terms(token)) if piece not in STOP_WORDS)


# Questions: their words, the people and days they are about, and the kind of answer they want.

# The first different terms of a query count.
QUERY_TERMS = 32


class ParsedQuery(NamedTuple):
    """A parsed query.

    Attributes:
        terms: the different stems of its words, in order, without grammar, dates and the names of speakers.
        named: words of the names of those who are asked about.
        days: the days it speaks of.
        is_words: whether it is several words without English grammar, and no question.
        of_asker, of_other: whether it is about the one who asks ("I"), and what the other said ("you").
    """

    terms: tuple[str, ...]
    named: frozenset[str] = frozenset()
    days: tuple[Days, ...] = ()
    is_words: bool = False
    of_asker: bool = False
    of_other: bool = False

    @classmethod
    def of(cls, text: str, now: float | None = None, names: Iterable[str] = ()) -> ParsedQuery:
        """Parse a question.

        Args:
            text: the question, or words.
            now: when it is asked, in seconds since 1970, for "last week" and "in May".
            names: the names of those who speak in the passages. A name in the question selects a speaker and is not
                searched: where two people talk, both say it.

        Raises:
            ValueError: it has no letter or digit.
        """
        words, asked_days = lower_words(text), days(text, now)
        found = (asked_days and terms_of(without_days(text))) or terms_of(text)
        speakers = frozenset[str]().union(*(name_words(name) for name in names if name.lower() not in ROLES))
        of_other = not SECOND_PERSON.isdisjoint(words) or any(sign in text for sign in _YOU)
        named = speakers.intersection(found)
        terms = _sought(words, found, speakers)
        if not terms:
            raise ValueError(f"nothing to look for in {text!a:.80}: give a word, a number or a name")
        return cls(
            terms,
            named,
            asked_days,
            len(terms) > 1 and STOP_WORDS.isdisjoint(words) and not text.rstrip().endswith(_ASKED),
            not of_other and (_I in text or not FIRST_PERSON.isdisjoint(words)),
            of_other,
        )


def is_sought(text: str, now: float | None = None) -> bool:
    """Return whether a query has words; hashes and other data are none.

    Raises:
        ValueError: it has no letter or digit.
    """
    try:
        ParsedQuery.of(text, now)
    except ValueError:
        if not any(map(str.isalnum, text)):
            raise
        return False
    return True


def _sought(words: Sequence[str], found: Sequence[str], speakers: frozenset[str]) -> tuple[str, ...]:
    """Return the terms to look for: not names and grammar, unless there is nothing else."""
    kept = [term for term in found if term not in speakers] or found or [stem(word) for word in words if word]
    return tuple(dict.fromkeys(kept))[:QUERY_TERMS]


def name_words(name: str) -> frozenset[str]:
    """Return the stems of the words of a name."""
    return frozenset(stem(word) for word in lower_words(name))


# The share of each term of a query that a passage has: by the word itself, its family, or its subject.

# BM25's usual constants: the saturation of repeated words, and the weight of length.
SATURATION, LENGTH_SHARE = 1.2, 0.75
# A word of the same family, and one spelled alike (times how alike): "adoption" for "adopt", "colour" for "color".
RELATED = 0.5
ALIKE = 0.6  # of their three-letter pieces shared, from which on two words are spelled alike
PREFIX_LETTERS = 3
SPELLED_LETTERS = 5

Near = tuple[tuple[int, float], ...]  # places of a query's terms, and how near a word is to each


class Statistics(Protocol):
    """Figures of all passages that are searched."""

    @property
    def passages(self) -> int:
        """Their number."""

    def frequencies(self, terms: Iterable[str]) -> Mapping[str, int]:
        """Return how many passages have each term.

        Terms of no passage may be left out, and, if counting is slow, all but the query's: they count as rare.
        """


class Weights(NamedTuple):
    """The share of each term of a query, 1 in all, and the words of passages that are near to terms."""

    shares: tuple[float, ...]
    near: Mapping[str, Near]


def idf(frequency: int, passages: int) -> float:
    """Return the inverse document frequency of a term as in BM25, above 0."""
    return log(1 + (max(passages - frequency, 0) + 0.5) / (frequency + 0.5))


def weights_of(query: ParsedQuery, vocabulary: Iterable[str], statistics: Statistics) -> Weights:
    """Return the shares of a query's terms, and the words of a vocabulary that are near to them."""
    nearby = _nearby(query.terms, vocabulary)
    known = statistics.frequencies([*query.terms, *nearby])
    # A word that no passage has is no rarer than one of a single passage: the question has it.
    tells = {term: idf(max(1, known.get(term, 0)), statistics.passages) for term in (*query.terms, *nearby)}
    total = sum(tells[term] for term in query.terms)
    near: dict[str, Near] = {}
    for word, places in nearby.items():
        # A common word in the place of a rare one counts as common.
        near[word] = tuple((at, value * min(1.0, tells[word] / tells[query.terms[at]])) for at, value in places)
    for place, term in enumerate(query.terms):
        others = tuple(each for each in near.get(term, ()) if each[0] != place)
        near[term] = ((place, 1.0), *others)
    return Weights(tuple(tells[term] / total for term in query.terms), near)


def strengths(terms: Sequence[str], weights: Weights, length: int | None = None) -> list[float]:
    """Return how much of each term of the query a passage has, each 0 to 1; it has `length` terms, or those given."""
    found = [0.0] * len(weights.shares)
    length = len(terms) if length is None else length
    damping = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * min(1.0, length / PART_TERMS))
    counts: dict[str, int] = {}
    for term in terms:
        if term in weights.near:
            counts[term] = counts.get(term, 0) + 1
    for term, count in counts.items():
        share = count / (count + damping)
        for place, nearness in weights.near[term]:
            found[place] = max(found[place], nearness * share)
    return found


def _nearby(terms: Sequence[str], vocabulary: Iterable[str]) -> dict[str, Near]:
    """Return the words that are near to any of the terms."""
    families: dict[str, list[int]] = {}
    spelled: dict[str, list[int]] = {}
    subjects: dict[str, list[tuple[int, float]]] = {}
    for place, term in enumerate(terms):
        families.setdefault(root(term), []).append(place)
        if len(term) >= SPELLED_LETTERS:
            spelled.setdefault(term[:PREFIX_LETTERS], []).append(place)
        for other in synonyms(term):
            subjects.setdefault(other.stem, []).append((place, other.near))
    found: dict[str, Near] = {}
    # Words of a family begin alike, as those do that are spelled alike: most of a vocabulary is passed over at once.
    beginnings = {term[:PREFIX_LETTERS] for term in terms}
    for word in [each for each in vocabulary if each[:PREFIX_LETTERS] in beginnings or each in subjects]:
        by_subject, by_letters = subjects.get(word, ()), spelled.get(word[:PREFIX_LETTERS], ())
        by_family = families.get(root(word), ())
        near = dict(by_subject)
        near.update((at, _alike(word, terms[at])) for at in by_letters)
        near.update(dict.fromkeys(by_family, RELATED))
        if places := tuple((at, value) for at, value in near.items() if value > 0 and terms[at] != word):
            found[word] = places
    return found


def _alike(word: str, other: str) -> float:
    """Return how much a word spelled like another counts, 0 for one that is not."""
    if len(word) < SPELLED_LETTERS - 1:
        return 0.0
    pieces, others = _pieces(word), _pieces(other)
    share = 2 * len(pieces & others) / (len(pieces) + len(others))
    return RELATED * share if share >= ALIKE else 0.0


def _pieces(word: str) -> set[str]:
    framed = f"^{word}$"
    return {framed[start : start + 3] for start in range(len(framed) - 2)}


# Signals, each 0 to about 1, before they are weighed.

# What is said near a passage counts for it: it falls by e in so many terms between them. Near is the turn before and
# behind, far is what the talk is about. By terms, not by turns: what helps among short turns hurts among pages.
NEAR_TERMS, FAR_TERMS = 15, 100
# A passage longer than this is compared by its best part of so many terms, half overlapping the next.
PART_TERMS = 40
SHORT_TERMS = 12
WORDLESS = 0.4  # how far a standing instruction counts that has no word of the question
# People tell of a day within days: that chance falls so after the day; before it, three times as fast.
TOLD_WITHIN_DAYS, AHEAD = 10, 3
OTHER_DAYS = 0.5
# A passage of the day asked about reaches at least so much of a question that has no more terms beside the day.
REACH_OF_DAYS, BESIDE_DAYS_TERMS = 0.4, 2
# UTF-8 bytes of a token, about, and what a line costs beside its text.
TOKEN_BYTES, LINE_TOKENS = 4, 8


class PreparedPassage(NamedTuple):
    """A passage, and how search sees it."""

    passage: Passage
    prepared: PassageFeatures


class Signals(NamedTuple):
    """The signals of a passage.

    Attributes:
        near, far: how much of the question is said in it or near it, relative to the best.
        group: how much of the question its session or file says in all.
        whole: 1 if several words are searched, and it has all of them, or words near to them, in one part.
        answers: how much of it is said right before, if that is a question, or the answer of an assistant is asked for.
        stranger: 1 if the question is about another speaker.
        assistant: 1 if an assistant said it, and the question is about the one who asks.
        instructs: 1 if it is a standing instruction; less without a word of the question.
        days: how near its time is to the days asked about, or how well the days that it speaks of match them.
        length: the logarithm of its terms, up to a short passage's.
        cost: the logarithm of its tokens.
        own_words: the fraction of its words that are "I", "my" and such.
    """

    near: float = 0.0
    far: float = 0.0
    group: float = 0.0
    whole: float = 0.0
    answers: float = 0.0
    stranger: float = 0.0
    assistant: float = 0.0
    instructs: float = 0.0
    days: float = 0.0
    length: float = 0.0
    cost: float = 0.0
    own_words: float = 0.0


def signals(
    query: ParsedQuery, candidates: Sequence[PreparedPassage], statistics: Statistics
) -> tuple[list[Signals], float]:
    """Return the signals of each candidate, in order, and the share of the query that the best of them has, 0 to 1.

    Neighbours and groups count as far as they are among the candidates.
    """
    vocabulary = set[str]().union(*(candidate.prepared.terms for candidate in candidates))
    weights = weights_of(query, vocabulary, statistics)
    had = [_best_part(candidate.prepared.terms, weights) for candidate in candidates]
    near, far = (_spread(candidates, had, weights.shares, terms) for terms in (NEAR_TERMS, FAR_TERMS))
    best_near, best_far = max(near, default=0.0), max(far, default=0.0)
    groups = _by_group(candidates, had, weights.shares)
    answers = _answers(query, candidates, [_weighed(each, weights.shares) for each in had])
    strangers = _strangers(query, candidates)
    found = [
        Signals(
            near=near[number] / (best_near or 1.0),
            far=far[number] / (best_far or 1.0),
            group=groups[_group(passage)],
            whole=float(query.is_words and all(had[number])),
            answers=answers[number],
            stranger=float(passage.speaker in strangers),
            assistant=float(query.of_asker and passage.speaker.lower() in ASSISTANTS),
            instructs=prepared.instructs * (1.0 if any(had[number]) else WORDLESS),
            days=_of_days(query.days, passage) if query.days else 0.0,
            length=log1p(min(len(prepared.terms), SHORT_TERMS)),
            cost=log(LINE_TOKENS + len(passage.text.encode("utf-8", "replace")) / TOKEN_BYTES),
            own_words=prepared.own_fraction,
        )
        for number, (passage, prepared) in enumerate(candidates)
    ]
    of_days = max((signal.days for signal in found), default=0.0) if len(query.terms) <= BESIDE_DAYS_TERMS else 0.0
    return found, max(best_near, REACH_OF_DAYS * of_days)


def _weighed(had: Sequence[float], shares: Sequence[float]) -> float:
    return float(sum(map(mul, had, shares)))


def _best_part(terms: Sequence[str], weights: Weights) -> list[float]:
    """Return how much of each term of the query a passage has, or the part of a long one that has most."""
    if len(terms) <= PART_TERMS:
        return strengths(terms, weights)
    half = PART_TERMS // 2
    halves: dict[int, list[str]] = {}
    wanted = weights.near.keys() & set(terms)
    for place, term in [each for each in enumerate(terms) if each[1] in wanted] if wanted else ():
        halves.setdefault(place // half, []).append(term)
    parts = [
        strengths([*halves.get(number, ()), *halves.get(number + 1, ())], weights, PART_TERMS)
        for number in dict.fromkeys(each for place in halves for each in (place - 1, place))
    ]
    return max(parts, key=lambda part: _weighed(part, weights.shares), default=[0.0] * len(weights.shares))


def _spread(
    candidates: Sequence[PreparedPassage], had: Sequence[Sequence[float]], shares: Sequence[float], within: float
) -> list[float]:
    """Return how much of the query is said in or near each candidate; what is apart counts less, by e in `within`."""
    spread = [list(each) for each in had]
    usual = fmean(len(each.prepared.terms) for each in candidates) if candidates else 0.0
    rows: dict[str, list[int]] = {}
    for number, (passage, _) in enumerate(candidates):
        if passage.group:
            rows.setdefault(passage.group, []).append(number)
    for row in rows.values():
        row.sort(key=lambda number: candidates[number].passage.position)
        for ordered in (row, row[::-1]):
            told = [0.0] * len(shares)
            for last, number in pairwise(ordered):
                apart = (len(candidates[last].prepared.terms) + len(candidates[number].prepared.terms)) / 2
                between = max(0, abs(candidates[number].passage.position - candidates[last].passage.position) - 1)
                left = exp(-(apart + usual * between) / within)
                told = [left * max(pair) for pair in zip(told, had[last], strict=True)]
                spread[number] = list(map(max, spread[number], told))
    return [_weighed(each, shares) for each in spread]


def _by_group(
    candidates: Sequence[PreparedPassage], had: Sequence[Sequence[float]], shares: Sequence[float]
) -> dict[tuple[str, str], float]:
    """Return the share of the query that each group has."""
    members: dict[tuple[str, str], list[Sequence[float]]] = {}
    for (passage, _), each in zip(candidates, had, strict=True):
        members.setdefault(_group(passage), []).append(each)
    return {
        group: _weighed([max(column) for column in zip(*some, strict=True)], shares) for group, some in members.items()
    }


def _answers(query: ParsedQuery, candidates: Sequence[PreparedPassage], own: Sequence[float]) -> list[float]:
    """Return the share of the passage before each candidate, if the candidate answers it."""
    asking, said = dict[tuple[str, int], float](), dict[tuple[str, int], float]()
    for (passage, prepared), share in zip(candidates, own, strict=True):
        if passage.group:
            said[passage.group, passage.position + 1] = share
            asking[passage.group, passage.position + 1] = share * prepared.asks
    passages = [passage for passage, _ in candidates]
    known = (said if query.of_other and each.speaker.lower() in ASSISTANTS else asking for each in passages)
    return [before.get((each.group, each.position), 0.0) for each, before in zip(passages, known, strict=True)]


def _strangers(query: ParsedQuery, candidates: Sequence[PreparedPassage]) -> set[str]:
    """Return the speakers that the question is not about; a speaker without a name is none."""
    if not query.named:
        return set()
    speakers = {candidate.passage.speaker for candidate in candidates} - {""}
    return {speaker for speaker in speakers if query.named.isdisjoint(name_words(speaker))}


def _group(passage: Passage) -> tuple[str, str]:
    """Return a key of a passage's group; without a group it is its own."""
    return (passage.group, "") if passage.group else ("", passage.key)


def _of_days(asked: Sequence[Days], passage: Passage) -> float:
    """Return how well a passage fits the days asked about: by its time, or by the days that it speaks of."""
    told = days(passage.text[:TEXT_CHARS], passage.time)
    spoken = max((_meet(one, other) for one in asked for other in told), default=0.0)
    if passage.time is None:
        return spoken
    day = day_of(passage.time)
    gaps = [max(0.0, day - last, (first - day) * AHEAD) for first, last in asked]
    said = exp(-min(gaps) / TOLD_WITHIN_DAYS)
    # Who speaks of other days only is about those.
    return max(spoken, said * OTHER_DAYS if told and not spoken else said)


def _meet(asked: Days, day: Days) -> float:
    """Return 1 for the same days, less for overlapping days of another length, 0 for others."""
    shared = min(asked.last, day.last) - max(asked.first, day.first) + 1
    if shared <= 0:
        return 0.0
    return 1 / (1 + log((max(asked.last, day.last) - min(asked.first, day.first) + 1) / shared))


# Signals by vectors.

LEAST_SPREAD = 1e-6


class Similarity(NamedTuple):
    """Cosines for one query, by one embedder.

    Attributes:
        similar: the cosine of the query's vector and a passage's, -1 to 1, by the passage's key; of most passages that
            are ranked, not of the nearest alone.
        even: by how much the nearest passage stands out (`prominence`) if it answers as likely as not. It is the
            embedder's; `None` if nobody has measured it: then words alone say how likely.
    """

    similar: Mapping[str, float]
    even: float | None = None


def likenesses(candidates: Sequence[PreparedPassage], similar: Mapping[str, float]) -> list[float]:
    """Return the cosine of each candidate, in order, in standard deviations above the mean of all, from cosines by key.

    Cosines differ by embedder: those of one lie between .1 and .7, those of another between .7 and .9. A missing vector
    counts as the mean.
    """
    known = [similar[candidate.passage.key] for candidate in candidates if candidate.passage.key in similar]
    mean = fmean(known) if known else 0.0
    spread = max(LEAST_SPREAD, pstdev(known, mean)) if known else 1.0
    return [(similar.get(candidate.passage.key, mean) - mean) / spread for candidate in candidates]


def prominence(candidates: Sequence[PreparedPassage], similar: Mapping[str, float]) -> float:
    """Return the cosine of the nearest candidate above the mean of the others', -2 to 2; 0 if none has a cosine.

    A single one stands above 0, as most texts have nothing to do with each other.
    """
    known = sorted(similar[candidate.passage.key] for candidate in candidates if candidate.passage.key in similar)
    if not known:
        return 0.0
    nearest = known.pop()
    return nearest - (fmean(known) if known else 0.0)


# Scores: weighed signals, as chances that mean the same in every store.

# Fitted on chats of two people, on talks with an assistant, and on a few in Chinese, as the tokens in front of a
# question's last evidence, each set counting alike; between fits that left out a fifth of each set's conversations they
# moved by a tenth. What each is for, and what it costs to leave it out: `python -m benchmarks --only recall`.
WEIGHTS = Signals(
    near=3.1,  # an answer rarely repeats the question: it stands beside what does
    far=3.1,  # and where the talk is about it
    group=2.7,  # a session that has all of the question, before one that has half of it often
    whole=3.0,  # set by hand: in no question
    answers=2.8,  # what is said right behind the same question; the assistant's answer, if that is asked for
    stranger=-1.2,  # little: those who ask mix up who it was
    assistant=-1.6,  # "have I ...": people tell of themselves, the assistant repeats it
    instructs=1.7,  # "Always ... when I ask about ...": rarely has the question's words
    days=3.0,  # only where days are asked about
    length=2.7,  # "Great!" answers nothing
    cost=-2.0,  # a page has to be worth its room
    own_words=2.2,  # people tell of themselves; a fraction, rarely above .2
)
# The chance that a question was asked where it belongs, and not of another conversation, which the best passage's score
# is: by how much of the question that passage has, with its neighbours, and a whole session has, and by the number of
# its terms, as few of many are found at once. Fitted as a logistic choice on as many of these as of those. What is told
# then, of questions that belong and of others: `python -m benchmarks --only recall`.
REACH, SCATTERED, EACH_TERM = 12.3, -0.8, 0.85
BASE = -5.15
# The more there is, the more is found by chance: beyond the size of the conversations that this was fitted on, so much
# less for each time e as many.
USUAL_PASSAGES, GROWN = 600, 0.1
# Behind the best, scores fall by e in so much of what is weighed: nine in ten questions that search answers have all of
# their evidence above MIN_RELEVANCE then.
FALL = 12.0
# With vectors, fitted as those above with these fixed: of a likeness of 3 or 4, which the nearest of two hundred has.
# That of neighbours found a third of a point more in chats, and two less among long answers.
LIKENESS = 0.4
# The chance of the best passage then follows how far the nearest cosine stands above the mean of the others that are
# ranked, and what words say of it. Fitted as a logistic choice of which questions belong; `Similarity.even` is another
# of its numbers. A bare cosine means other things in each store: a question about somebody who speaks is nearer to all
# that he says, and one about docs is near to nothing.
STEEP, BY_WORDS = 7.5, 0.88
LEAST_BY_WORDS = -1.0  # that none of the words is there says no more than this
# The more there is, the nearer is the nearest by chance; among fewer than the least so many, as among them.
NEARER, LEAST_PASSAGES = 0.3, 10
# Where fewer of what is ranked have a vector, words alone speak: the nearest of those that have one may be far, while
# what answers has none.
ENOUGH_FRACTION = 0.9
# Nine in ten questions that search answers have a passage above it, and 15 in 100 of those that belong elsewhere.
MIN_RELEVANCE = 0.3
SCORE_DIGITS = 6  # a score survives being written down, and what differs by less is a tie


def score(
    query: ParsedQuery, candidates: Sequence[PreparedPassage], statistics: Statistics, meaning: Similarity | None = None
) -> list[MemoryHit]:
    """Return all candidates with their scores, best first, ties newest first, then by key.

    With `meaning` vectors count, too, if nearly all candidates have one.
    """
    found, reach = signals(query, candidates, statistics)
    values = [sum(map(mul, WEIGHTS, signal)) for signal in found]
    likely = BASE + REACH * reach + SCATTERED * max((signal.group for signal in found), default=0.0)
    likely += EACH_TERM * log(len(query.terms)) - GROWN * max(0.0, log(max(1, statistics.passages) / USUAL_PASSAGES))
    known = sum(candidate.passage.key in meaning.similar for candidate in candidates) if meaning else 0
    if meaning and known >= ENOUGH_FRACTION * len(candidates):
        near = likenesses(candidates, meaning.similar)
        values = [value + LIKENESS * likeness for value, likeness in zip(values, near, strict=True)]
        if meaning.even is not None:
            by_vectors = STEEP * (prominence(candidates, meaning.similar) - meaning.even)
            by_vectors -= NEARER * log(max(LEAST_PASSAGES, statistics.passages) / USUAL_PASSAGES)
            likely = by_vectors + BY_WORDS * max(LEAST_BY_WORDS, likely)
    best = max(values, default=0.0)
    chance = 1 / (1 + exp(-likely)) if likely > -500 else 0.0
    hits = [
        (MemoryHit(each.passage.key, round(chance * exp((value - best) / FALL), SCORE_DIGITS)), each.passage)
        for each, value in zip(candidates, values, strict=True)
    ]
    return [hit for hit, _ in sorted(hits, key=lambda pair: order(*pair))]


def order(hit: MemoryHit, passage: Passage) -> tuple[float, float, str]:
    """Return the sort key of hits: best first, ties newest first, then by key."""
    return -hit.score, inf if passage.time is None else -passage.time, hit.key


# Candidates by words that are ranked, beside their neighbours: 400 find no more within 2,000 tokens.
CANDIDATES = 128
# The neighbours of so many are ranked, too, and at most so many passages of each day asked about.
NEIGHBOURS_OF = 128
OF_DAYS = 50
# The newest standing instructions are ranked for each question: one rarely has its words.
INSTRUCTIONS = 32
NEAREST = 100  # by vectors, where there are
NEIGHBOURS, NEIGHBOURS_OF_PAGE = (-1, 1, -2, 2), (-1, 1)
TURN_CHARS = 1_500


def neighbours_of(passage: Passage) -> tuple[int, ...]:
    """Return the steps to the neighbours of a candidate that are ranked, too: fewer of a page."""
    return NEIGHBOURS if len(passage.text) <= TURN_CHARS else NEIGHBOURS_OF_PAGE


# The order of hits: a little for importance and age; nothing twice.

# The difference between the most and the least important, and the most that age takes: with 10 % half a point of the
# evidence within 2,000 tokens is lost, with 5 % .2.
IMPORTANCE_FRACTION = 0.2
AGE_FRACTION = 0.05
# Age takes half of that after so many days, times the factor of the memory's tag, otherwise of its category. Searching
# changes neither.
HALF_LIFE_DAYS = 90.0
_FACTORS = {
    "fact": 2.0, "professional": 1.5, "health": 1.2, "relationship": 1.0, "preference": 0.8, "event": 0.5, "plan": 0.3,
    "core": 2.0, "background": 1.0, "preferences": 0.8, "concerns": 0.5,
}  # fmt: skip
# So many hits are put in order among themselves, so that a longer page begins with the same ones.
BLOCK = 64
# Texts say the same if they share so many of their terms, and all numbers and negations.
SAME_FRACTION = 0.9
_NEGATIONS = frozenset(
    ["no", "not", "never", "none", "nobody", "nothing", "without", "neither", "nor", "longer", "cannot"]
)
DAY_SECONDS = 86_400.0


def half_life_days(memory: Memory) -> float:
    """Return the half-life of a memory's weight in days; above 0."""
    factor = next((_FACTORS[tag] for tag in memory.tags if tag in _FACTORS), _FACTORS[memory.category])
    return HALF_LIFE_DAYS * factor


def worth(memory: Memory, now: float) -> float:
    """Return the factor of a memory's score in the order of hits: 1 for a new memory of importance .5.

    It follows from the memory and from `now`, in seconds since 1970, never from earlier searches.
    """
    days = max(0.0, now - memory.time) / DAY_SECONDS
    left: float = 0.5 ** (days / half_life_days(memory))
    return (1 + IMPORTANCE_FRACTION * (memory.importance - 0.5)) * (1 - AGE_FRACTION * (1 - left))


def in_final_order(hits: Sequence[MemoryHit], memories: Mapping[str, Memory], now: float) -> list[Memory]:
    """Return the memories of hits, which come best first, in their final order.

    Each `BLOCK` of hits stays together. Hits that are not among the memories are left out.
    """
    found = []
    for start in range(0, len(hits), BLOCK):
        block = [(hit, memories[hit.key]) for hit in hits[start : start + BLOCK] if hit.key in memories]
        found += sorted(block, key=lambda pair: -pair[0].score * worth(pair[1], now))
    return [memory for _, memory in found]


def distinct(memories: Iterable[Memory]) -> list[Memory]:
    """Return memories without those that repeat one of the last `BLOCK` before them."""
    kept: list[tuple[Memory, frozenset[str], frozenset[str]]] = []
    for memory in memories:
        terms, apart = frozenset(terms_of(memory.text)), _told_apart_by(memory.text)
        if not any(
            memory.text == other.text
            or (apart == their_apart and len(terms & theirs) >= SAME_FRACTION * max(1, len(terms | theirs)))
            for other, theirs, their_apart in kept[-BLOCK:]
        ):
            kept.append((memory, terms, apart))
    return [memory for memory, _, _ in kept]


def _told_apart_by(text: str) -> frozenset[str]:
    """Return the numbers of a text, and "not" if it has a negation: texts that differ in them say other things."""
    numbers = (term for term in terms_of(text) if any(map(str.isdigit, term)))
    words = lower_words(text)
    negated = any(word in _NEGATIONS or word.endswith(("n't", "n\u2019t")) for word in words)
    return frozenset((*numbers, *(["not"] if negated else [])))
