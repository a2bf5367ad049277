"""English words without their inflections; words of other languages lose little by it, for a query loses the same.

A *stem* is what a word is counted by: plurals, -ing, -ed and irregular forms fall together. A *root* is what further
words of its family share, by -er, -ment, -ation and such: a guess, which counts for less.
"""

from __future__ import annotations

from functools import lru_cache

__all__ = ["STOP_WORDS", "root", "stem"]

# Words that stand in a question for its grammar; what they ask for is read elsewhere.
_GRAMMAR = """
a about above after again all also am an and any anyone anything are as at be because been before being below between
both but by can cannot could did do does doing don done down during each either else ever every few for from further get
gets getting give given go goes going gone got had has have having he her here hers herself him himself his how however
i if in into is it its itself just let like made make makes making many may me might mine more most much must my myself
no nor not now of off on once one only or other others our ours out over own per please same shall she should since so
some somebody someone something still such take taken takes than that the their theirs them themselves then there these
they thing things this those through to too took under until up upon us use used using very was we went were what
whatever when where whether which while who whom whose why will with within without would yet you your yours yourself
ll ve re m s d t didn doesn isn wasn weren won wouldn couldn shouldn hasn haven hadn aren ain im ive id ill youre dont
tell told say says said know knew does recently currently usually according mention mentioned
kind type sort
"""
STOP_WORDS = frozenset(_GRAMMAR.split())

# Forms that no rule gives, each row behind its stem.
_IRREGULAR = """
be was were been; become became; begin began begun; bite bit bitten; blow blew blown; break broke broken; bring
brought; build built; buy bought; catch caught; choose chose chosen; come came; deal dealt; dig dug; draw drew drawn;
dream dreamt; drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt; fight
fought; find found; flee fled; fly flew flown; forget forgot forgotten; forgive forgave forgiven; freeze froze frozen;
get got gotten; give gave given; go went gone goes; grow grew grown; hang hung; hear heard; hide hid hidden; hold
held; keep kept; know knew known; lay laid; lead led; leave left; lend lent; lie lain; light lit; lose lost; make
made; mean meant; meet met; pay paid; ride rode ridden; ring rang rung; rise rose risen; run ran; say said; see saw
seen; seek sought; sell sold; send sent; shake shook shaken; shine shone; shoot shot; show shown; sing sang sung; sink
sank sunk; sit sat; sleep slept; speak spoke spoken; spend spent; spin spun; stand stood; steal stole stolen; stick
stuck; strike struck; swear swore sworn; sweep swept; swim swam swum; take took taken; teach taught; tear tore torn;
tell told; think thought; throw threw thrown; understand understood; wake woke woken; wear wore worn; weave wove
woven; win won; write wrote written; child children; man men; woman women; person people; mouse mice; foot feet; tooth
teeth; goose geese; wife wives; knife knives; shelf shelves; half halves; wolf wolves; thief
thieves; loaf loaves; good better best; bad worse worst; far farther further; mom mum mother mommy mummy; dad father
daddy; kid kids; tv television; photo photos photograph photographs; bike bicycle; phone telephone; fridge
refrigerator; exam examination; gym gymnasium; math maths mathematics; ad advertisement; die died dying; lie lied
lying; tie tied tying; color colour colors colours colored coloured; favorite favourite favorites favourites; neighbor
neighbour neighbors neighbours; neighborhood neighbourhood; theater theatre theaters theatres; center centre; gray
grey; behavior behaviour; jewelry jewellery; program programme programmes
"""
_BASE_OF = {
    form: row.split()[0] for row in _IRREGULAR.replace("\n", " ").split(";") for form in row.split()[1:] if row.strip()
}
_VOWELS = frozenset("aeiouy")
# What a family's other words are made with, longest first; what stays is at least four letters.
_FAMILY = (
    "ization", "isation", "ational", "fulness", "iveness", "ousness", "ability", "ibility", "ations", "ation",
    "ition", "ments", "ement", "ment", "ness", "ible", "able", "ance", "ence", "ancy", "ency", "ship", "hood",
    "less", "ical", "ist", "ism", "ize", "ise", "ify", "ive", "ous", "ful", "ion", "ity", "ial", "ian", "ant",
    "ent", "al", "er", "or", "ic", "ly", "en", "i", "y",
)  # fmt: skip
FAMILY_LETTERS = 4


@lru_cache(65_536)
def stem(word: str) -> str:
    """Return a word, in lower case, without its inflection."""
    word = _BASE_OF.get(word, word)
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    bare = _unconjugated(_singular(word))
    return _unended(_BASE_OF.get(bare, bare))


@lru_cache(65_536)
def root(stemmed: str) -> str:
    """Return what a stem shares with others of its family; itself where nothing comes off."""
    if len(stemmed) <= FAMILY_LETTERS or not stemmed.isascii() or not stemmed.isalpha():
        return stemmed
    if not stemmed.endswith(_FAMILY):  # most, and at once
        return stemmed
    for ending in _FAMILY:
        if stemmed.endswith(ending) and len(stemmed) - len(ending) >= FAMILY_LETTERS:
            return _undoubled(stemmed[: -len(ending)])
    return stemmed


def _singular(word: str) -> str:
    if not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y" if len(word) > 4 else word[:-1]
    if word.endswith(("sses", "xes", "zes", "ches", "shes")):
        return word[:-2]
    return word[:-1]


def _unconjugated(word: str) -> str:
    if word.endswith("ied"):
        return word[:-3] + "y" if len(word) > 4 else word
    for ending in ("ing", "ed"):
        bare = word.removesuffix(ending)
        if bare != word and len(bare) > 1 and _has_vowel(bare) and not word.endswith("eed"):
            return _undoubled(bare)
    return word[:-2] if len(word) > 5 and word.endswith("ly") else word


def _unended(word: str) -> str:
    if len(word) <= 3:
        return word
    if word.endswith("e"):
        return word[:-1]
    return word[:-1] + "i" if word.endswith("y") and word[-2] not in _VOWELS else word


def _has_vowel(text: str) -> bool:
    return not _VOWELS.isdisjoint(text)


def _undoubled(text: str) -> str:
    return text[:-1] if len(text) > 3 and text[-1] == text[-2] and text[-1] not in "aeiouls" else text
