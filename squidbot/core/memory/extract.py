"""Facts found in messages by rule: few, and only those that people plainly state about themselves or the work.

Questions, conditions, reports of others' words, quotations, code, pasted texts and made-up scenes are no facts. Traits
of the assistant come from sentences that stand alone. The output of tools has no facts; of the assistant's messages
only decisions count, as background.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.memory.facts import (
    FactCandidate,
    Utterance,
    conjugated,
    first_thought,
    in_third_person,
    is_name,
    is_place,
    key_of,
    sentence_of,
    trimmed,
    words_of,
)
from squidbot.core.memory.text import safe
from squidbot.core.own_words import QUOTED, own_marks, own_words, sentences, stands_alone
from squidbot.core.redaction import Redactor
from squidbot.core.transcript.markers import marked_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from squidbot.core.memories import FactCategory, Trust
    from squidbot.core.own_words import Sentence

# The rules: a pattern of a clause, the fact that it states, and what that is about.

# Increase it with every change of the rules: it stands in the mark of each session.
VERSION: Final = "1"


_ADVERBS: Final = (
    r"(?:(?:really|also|still|usually|generally|actually|currently|now|personally|much|mostly|strongly|definitely|"
    r"absolutely|truly|just|do|mainly|typically|only|simply|finally|recently)\s+){0,2}"
)
_I: Final = rf"i\s+{_ADVERBS}"
_I_AM: Final = rf"(?:i'm|im|i\s+am)\s+{_ADVERBS}"
_I_HAVE: Final = rf"(?:i've|i\s+have|i)\s+{_ADVERBS}"
_WE: Final = (
    rf"(?:we|our\s+(?:team|project|company|app|stack)|(?:the|this)\s+(?:project|team|repo|codebase|app))\s+{_ADVERBS}"
)
_AT_LAST: Final = r"(?:any\s?more|any\s+longer)"
_NO_LONGER: Final = rf"(?:i\s+no\s+longer|i\s+(?:don't|do\s+not)(?=.*\s{_AT_LAST}))"
_X, _Y = r"(?P<x>.+)", r"(?P<y>.+)"

# Words that refer to something near, and mean nothing to later readers.
_POINTS: Final = re.compile(
    r"(?:it|this|that|that's|these|those|them|they|he|she|him|her|how|what|when|where|you|your|yours|one|ones|here|"
    r"there|so|such|either|neither|both|nothing|everything|something|anything|the\s+(?:one|ones|first|second|third|"
    r"last|other|former|latter|next|new|old|same|idea|way|look|sound|above|below|following|result|output|answer|"
    r"option|approach|fact|suggestion|version|previous|current|error|bug|test|tests|file|code)|(?:option|approach|"
    r"version)\s+\w+|another|a\s+(?:few|bit|lot|little|couple|different|similar)|if|whether|more|less|better|none|"
    r"not|no|never|to\s+(?:know|see|say|ask|hear|think|believe|point|mention|have\s+(?:this|that|it)))\b",
    re.IGNORECASE,
)
# The same in the middle of something liked: "having them around".
_NEAR: Final = re.compile(
    r".*\b(?:it|this|that|them|these|those|his|her|its|their|him|you|your|here|there)\b|(?:all|the)\s+\w+\s|to\Z|"
    r"to\s+help\Z|to\s+just\b",
    re.IGNORECASE,
)
_NOWHERE: Final = re.compile(
    r"(?:constant\s+)?(?:fear|hope|peace|harmony|denial|dread|comfort|exile|sin|poverty|luxury|style|terror|chaos|"
    r"times|interesting\s+times|my\s+(?:head|dreams|car|mind)|a\s+(?:world|society|simulation|dream|bubble|time|"
    r"country\s+where))\b",
    re.IGNORECASE,
)
_STATES: Final = re.compile(
    r"(?:not|too|very|still|already|currently|being|broken|down|slow|failing|wrong|missing|empty|full|ready|fine|"
    r"good|bad|great|ok|okay|unclear|unknown|hard|easy|done|gone|here|there|dead|behind|ahead|up|out|off|on\s+fire|"
    r"green|red|stuck|hanging|crashing|returning|running|working|fixed|merged|outdated|stale|correct|what|where|why|"
    r"how|because|a\s+(?:mess|problem|pain|bit|mystery|bottleneck|lot)|\w+ing\b(?!\.)|nothing|something|that|this|it|"
    r"supposed|due)\b",
    re.IGNORECASE,
)
_NO_KINDS: Final = re.compile(
    r"an?\s+(?:bit|little|lot|few|couple|huge|big|fan|idiot|fool|loss|mess|hurry|rush|meeting|call|bad|good|great|"
    r"total|complete|new|user|person\s+who|\w+\s+(?:person|one|mood|position|situation|spot))\b",
    re.IGNORECASE,
)
_RELATIONS: Final = (
    "wife|husband|spouse|partner|girlfriend|boyfriend|fianc\u00e9e?|boss|manager|mother|mom|mum|father|dad|landlord|"
    "doctor|dentist|therapist|team lead|assistant|accountant|lawyer"
)
_KIN: Final = (
    "sister|brother|son|daughter|kid|child|dog|cat|pet|horse|rabbit|best friend|friend|roommate|colleague|coworker"
)
_HABITS: Final = (
    "use|eat|drink|buy|fly|work|write|run|commit|test|travel|take|wear|read|watch|sleep|wake|start|check|sign|deploy|"
    "pay|cook|drive|go|play|have|keep|leave|listen|call|order|walk|ride|train|study|speak|prefer|smoke|vote|shop|"
    "rebase|squash"
)
_ORDERS: Final = (
    r"answer|reply|respond|write|use|ask|call|run|add|include|show|explain|format|commit|push|deploy|test|keep|tell|"
    r"give(?!\s+up)|mention|start|begin|end|put|make|translate|speak|talk|suggest|summari[sz]e|quote|touch|delete|"
    r"remove|edit|change|modify|install|send|assume|address|check|prefer|apologi[sz]e|sign|create|merge|rebase|"
    r"squash|cite|say|greet|work"
)
_THINGS: Final = (
    "branch|database|db|repo|repository|framework|language|port|server|host|hostname|url|endpoint|command|script|"
    "region|bucket|cluster|deadline|license|licence|formatter|linter|package manager|test runner|timezone|time zone|"
    "domain|namespace|registry|budget|version|style guide|convention|backend|frontend|queue|cache|orm|editor|shell|"
    "platform|codename|code name|project name|launch date|release date|due date|stack|environment|directory|folder"
)
_SMALL: Final = r"(?:at|of|in|on|for|from|with|to|by|about|this|that|and|is|or)"
_ILLS: Final = (
    "diabetes|asthma|adhd|celiac disease|coeliac disease|epilepsy|dyslexia|hay fever|migraines|insomnia|autism"
)
_BODIES: Final = (
    r"allergic\s+to\s+.+|(?:an?\s+)?(?:vegan|vegetarian|pescatarian)|diabetic|colou?r-?\s?blind|dyslexic|deaf|blind|"
    r"left-handed|lactose[- ]intolerant|gluten[- ]intolerant|married(?:\s+to\s+.+)?|divorced|retired|intolerant\s+"
    r"to\s+.+|autistic"
)


def _is_told(text: str) -> bool:
    return not _POINTS.match(text)


def _is_kind(text: str) -> bool:
    return _is_told(text) and not _NO_KINDS.match(text) and len(text.split()) <= 7


def _is_state(text: str) -> bool:
    return not _STATES.match(text) and _is_told(text) and len(text.split()) <= 6


def _is_capital(text: str) -> bool:
    return _is_told(text) and text.removeprefix("the ")[:1].isupper()


def _is_written_name(text: str) -> bool:
    return is_name(text, capital=True)


def _is_age(text: str) -> bool:
    return text.isdigit() and 10 <= int(text) <= 120


def _is_liked(text: str) -> bool:
    return _is_told(text) and not _NEAR.match(text)


def _is_not_near(text: str) -> bool:
    return not _NEAR.match(text)


def _is_somewhere(text: str) -> bool:
    return _is_told(text) and not _NOWHERE.match(text)


def _is_dated(text: str) -> bool:
    return any(map(str.isdigit, text)) or text[:1].isupper()


def _is_used(text: str) -> bool:
    return _is_told(text) and not re.match(r"(?:the|to|for|a|an|some|my|our|all|every|only)\b", text, re.IGNORECASE)


def _is_long_enough(text: str) -> bool:
    return len(text.split()) >= 2


class Rule(NamedTuple):
    """One rule.

    Attributes:
        name: the reason of its facts.
        pattern: matches all of a clause without the sign at its end, in upper or lower case.
        text: the fact: `{S}` who speaks, `{x}`, `{y}` the parts in the third person, `{vx}` x
            with its verb conjugated, `{o}` x as it was said.
        slot: what it is about: `{s}` who speaks, `{kx}`, `{ky}` the parts as they are compared, `{jy}` y
            in one word; "" if open.
        category, importance: as of the memory.
        fits: whether x, as it was written, is what the rule is about.
        ends: slots of facts that it ends; those whose parts are missing are left out.
        trait: whether it is about how the assistant is to be.
        lasts: whether it holds whatever day it is said on: "today" is no objection.
        changes: whether the words themselves say that something is new.
    """

    name: str
    pattern: str
    text: str
    slot: str
    category: FactCategory
    importance: float
    fits: Callable[[str], bool] = _is_told
    ends: tuple[str, ...] = ()
    trait: bool = False
    lasts: bool = False
    changes: bool = False


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # A clause has one space between its words: `\s+` beside `.+` would be quadratic in a run of spaces.
    return re.compile(rf"(?:{pattern})\Z".replace(r"\s+", " "), re.IGNORECASE | re.DOTALL)


RULES: Final[tuple[Rule, ...]] = (
    Rule("name", rf"my\s+(?:full\s+|first\s+|real\s+)?name(?:\s+is|'s)\s+{_X}",
         "{S}'s name is {x}.", "{s}/name", "core", 0.9, is_name, lasts=True),
    Rule("name", rf"(?:(?:please\s+|just\s+|you\s+can\s+|from\s+now\s+on,?\s+)*call\s+me|(?:my\s+friends|people|"
         rf"everyone|everybody)\s+calls?\s+me|i\s+go\s+by|i'm\s+called|i\s+am\s+called)\s+{_X}",
         "{S} wants to be called {x}.", "{s}/called", "core", 0.9, is_name, lasts=True),
    Rule("home", rf"(?:{_I}(?:live|reside)|{_I_AM}(?:based|living|located))\s+(?:in|near)\s+{_X}",
         "{S} lives in {x}.", "{s}/home", "core", 0.8, _is_somewhere, ends=("{s}/past home/{kx}",)),
    Rule("home", rf"{_I_HAVE}(?:moved|relocated)\s+(?:back\s+)?to\s+(?P<x>(?:the\s+)?[\w'\-]+(?:,?\s+(?!from\b|"
         rf"last\b|in\b|"
         r"this\b|two\b|three\b|a\b|with\b|for\b|about\b|and\b|when\b)[\w'\-]+){0,3})(?:\s+from\s+"
         r"(?P<y>[\w' \-]+?))?(?:\s+(?:last|in|this|two|three|a|with|for|about|and|when)\s.*)?",
         "{S} lives in {x}.", "{s}/home", "core", 0.8, is_place, ends=("{s}/past home/{kx}",), lasts=True,
         changes=True),
    Rule("origin", rf"(?:{_I_AM}(?:originally\s+)?from|{_I}come\s+from|i\s+was\s+born\s+in|i\s+grew\s+up\s+in)\s+"
         rf"(?P<x>(?!.*\d).+)", "{S} is from {x}.", "{s}/origin", "core", 0.8, _is_capital, lasts=True),
    Rule("work", rf"(?:{_I}work|{_I_AM}(?:employed|working))\s+(?:at|for)\s+{_X}",
         "{S} works at {x}.", "{s}/employer", "core", 0.8, ends=("{s}/past employer/{kx}",)),
    Rule("work", rf"(?:{_I_HAVE}(?:joined|started(?:\s+working)?\s+at|got\s+a\s+job\s+at))\s+{_X}",
         "{S} works at {x}.", "{s}/employer", "core", 0.8, is_place, changes=True),
    Rule("work", rf"(?:{_I}work|{_I_AM}(?:employed|working))\s+as\s+{_X}", "{S} works as {x}.",
         "{s}/job", "core", 0.8, _is_kind),
    Rule("age", rf"{_I_AM}(?P<x>\d{{1,3}})(?:\s+years?\s+old)?", "{S} is {x} years old.",
         "{s}/age", "core", 0.7, _is_age),
    Rule("body", rf"{_I_AM}(?P<x>{_BODIES})", "{S} is {x}.", "{s}/is/{kx}", "core", 0.9, lasts=True),
    Rule("kind", rf"{_I_AM}(?P<x>an?\s+.+)", "{S} is {x}.", "{s}/is/{kx}", "core", 0.7, _is_kind),
    Rule("birthday",
         rf"(?:my\s+(?:birthday|date\s+of\s+birth|birth\s+date)\s+is|i\s+was\s+born)\s+(?:on\s+|in\s+)?{_X}",
         "{S}'s birthday is {x}.", "{s}/birthday", "core", 0.8, _is_dated, lasts=True),
    Rule("relation", rf"my\s+(?P<y>{_RELATIONS})(?:'s\s+name\s+is|\s+is\s+(?:called|named))\s+{_X}",
         "{S}'s {y} is called {x}.", "{s}/{ky}", "core", 0.8, is_name, lasts=True),
    Rule("relation", rf"my\s+(?P<y>{_RELATIONS})\s+is\s+{_X}", "{S}'s {y} is called {x}.",
         "{s}/{ky}", "core", 0.8, _is_written_name, lasts=True),
    Rule("relation", rf"my\s+(?P<y>{_KIN})(?:'s\s+name\s+is|\s+is\s+(?:called|named))\s+{_X}",
         "{S}'s {y} is called {x}.", "{s}/{ky}/{kx}", "core", 0.8, is_name, lasts=True),
    Rule("attribute", rf"my\s+(?P<y>time\s?zone|pronouns|nationality|native\s+language|mother\s+tongue|job\s+title|"
         rf"home\s?town|operating\s+system|os|editor|shell|job|profession|main\s+language)\s+(?:is|are)\s+(?:now\s+"
         rf")?{_X}", "{S}'s {y} is {x}.", "{s}/{jy}", "core", 0.8, _is_state, lasts=True),
    Rule("favourite",
         rf"my\s+(?:all-time\s+)?favou?rite\s+(?P<y>[\w\-]+(?:\s[\w\-]+){{0,2}})\s+(?:is|are)\s+(?:now\s+)?{_X}",
         "{S}'s favourite {y} is {x}.", "{s}/favourite/{ky}", "preferences", 0.6, lasts=True),
    Rule("language", rf"{_I}speak\s+(?:fluent\s+)?{_X}", "{S} speaks {x}.", "{s}/speaks/{kx}",
         "core", 0.7, _is_capital),
    Rule("family", rf"{_I}have\s+(?P<x>(?:an?|one|two|three|four|five|six|[1-9])\s+(?:[\w\-]+\s+){{0,2}}(?:dogs?|"
         rf"cats?|kids?|child(?:ren)?|sons?|daughters?|brothers?|sisters?|wife|husband|twins|horses?|rabbits?|"
         rf"grandchildren|allergy|allergies)\b.*)", "{S} has {x}.", "{s}/has/{kx}",
         "core", 0.7),
    Rule("body", rf"{_I}(?:have|suffer\s+from)\s+(?P<x>{_ILLS})", "{S} has {x}.",
         "{s}/has/{kx}", "core", 0.8, lasts=True),
    Rule("preference", rf"{_I}prefer\s+(?P<x>(?!to\s).+?)\s+(?:over|to|instead\s+of|rather\s+than)\s+{_Y}",
         "{S} prefers {x} over {y}.", "{s}/prefers/{kx}", "preferences", 0.6, ends=("{s}/prefers/{ky}",)),
    Rule("preference", rf"{_I}prefer\s+(?P<x>to\s.+?)\s+(?:over|instead\s+of|rather\s+than)\s+{_Y}",
         "{S} prefers {x} over {y}.", "{s}/prefers/{kx}", "preferences", 0.6, ends=("{s}/prefers/{ky}",)),
    Rule("preference", rf"{_I}prefer\s+{_X}", "{S} prefers {x}.", "{s}/prefers/{kx}",
         "preferences", 0.6),
    Rule("preference", rf"{_I}prefer\s+(?P<x>not\s+to\s+.+)", "{S} prefers {x}.",
         "{s}/prefers/{kx}", "preferences", 0.6, _is_not_near),
    Rule("dislike", rf"(?:{_I}(?:hate|dislike|can't\s+stand|cannot\s+stand|detest|loathe|(?:don't|do\s+not)\s+"
         rf"(?:really\s+)?(?:like|enjoy))|{_I_AM}(?:not\s+a\s+(?:big\s+|huge\s+)?fan\s+of))\s+{_X}",
         "{S} dislikes {x}.", "{s}/likes/{kx}", "preferences", 0.6, _is_liked),
    Rule("liking", rf"(?:{_I}(?:like|love|enjoy|adore)|{_I_AM}(?:a\s+(?:big\s+|huge\s+)?fan\s+of))\s+{_X}",
         "{S} likes {x}.", "{s}/likes/{kx}", "preferences", 0.5, _is_liked),
    Rule("habit", rf"i\s+(?:almost\s+)?(?P<y>always|never)\s+(?P<x>(?:{_HABITS})\b.*)",
         "{S} {y} {vx}.", "{s}/habit/{kx}", "preferences", 0.6, _is_long_enough),
    Rule("abstention", rf"i\s+(?:don't|do\s+not)\s+(?P<x>(?:eat|drink|own|smoke|watch)\s+(?!.*\b{_AT_LAST}).+)",
         "{S} doesn't {x}.", "{s}/habit/{kx}", "preferences", 0.6, _is_liked),
    Rule("change",
         rf"(?:{_NO_LONGER}\s+use|i(?:'ve|\s+have)?\s+(?:stopped|quit)\s+using)\s+(?P<x>.+?)(?:\s+{_AT_LAST})?",
         "{S} no longer uses {x}.", "{s}/uses/{kx}", "preferences", 0.6, changes=True),
    Rule("change", rf"{_NO_LONGER}\s+live\s+in\s+(?P<x>.+?)(?:\s+{_AT_LAST})?",
         "{S} no longer lives in {x}.", "{s}/past home/{kx}", "core", 0.7, ends=("{s}/home",), changes=True),
    Rule("change", rf"(?:{_NO_LONGER}\s+work|i(?:'ve|\s+have)?\s+stopped\s+working)\s+(?:at|for)\s+(?P<x>.+?)(?:\s+"
         rf"{_AT_LAST})?", "{S} no longer works at {x}.", "{s}/past employer/{kx}",
         "core", 0.7, ends=("{s}/employer",), changes=True),
    Rule("tool", rf"{_I_HAVE}(?:switched|migrated|changed|moved)\s+(?:over\s+)?from\s+(?P<y>.+?)\s+to\s+{_X}",
         "{S} uses {x}, no longer {y}.", "{s}/uses/{kx}", "preferences", 0.6,
         ends=("{s}/uses/{ky}", "{s}/prefers/{ky}"), changes=True),
    Rule("tool", rf"{_I}use\s+{_X}", "{S} uses {x}.", "{s}/uses/{kx}", "preferences", 0.5, _is_used),
    Rule("concern", rf"{_I_AM}(?P<x>(?:learning|studying|training\s+for|preparing\s+for|saving\s+for|recovering\s+"
         rf"from|struggling\s+with\s+my|worried\s+about\s+my|working\s+on\s+my|planning\s+(?:a|my|our))\s+(?!it\b|"
         rf"this\b|that\b|the\b|how\b|for\b|(?:a\s+)?(?:few|ton|lot|bit)\b|so\b|new\s+things\b|lots\b).+)",
         "{S} is {x}.", "{s}/concern/{kx}", "concerns", 0.6),
    Rule("goal",
         rf"my\s+(?:main\s+|long-term\s+|current\s+|biggest\s+)?goal(?:\s+this\s+year|\s+for\s+\d+)?\s+is\s+{_X}",
         "{S}'s goal is {x}.", "{s}/goal/{kx}", "concerns", 0.7),
    Rule("deadline", rf"(?:my|our|the)\s+deadline\s+is\s+(?:now\s+)?(?:on\s+)?{_X}",
         "The deadline is {x}.", "project/deadline", "concerns", 0.7, _is_dated),
    Rule("order", rf"(?:from\s+now\s+on|in\s+(?:the\s+)?future|going\s+forward),?\s+(?:please\s+|always\s+"
         rf")?(?:(?:answer|reply|respond|write|speak|talk)(?:\s+to\s+me)?\s+(?:only\s+)?in\s+){_X}",
         "Always answer in {x}.", "assistant/language", "preferences", 0.7, _is_capital, trait=True, lasts=True,
         changes=True),
    Rule("order",
         rf"(?:please\s+)?always\s+(?:answer|reply|respond|write|speak|talk)(?:\s+to\s+me)?\s+(?:only\s+)?in\s+{_X}",
         "Always answer in {x}.", "assistant/language", "preferences", 0.7, _is_capital, trait=True, lasts=True),
    Rule("order", rf"(?:please\s+)?(?P<y>always|never)\s+(?P<x>(?:{_ORDERS})\b.+)",
         "{Y} {o}.", "assistant/{kx}", "preferences", 0.7, trait=True, lasts=True),
    Rule("order", rf"(?:from\s+now\s+on|in\s+(?:the\s+)?future|going\s+forward),?\s+(?:please\s+"
         rf")?(?P<x>(?:{_ORDERS}|don't|do\s+not|never|always)\b.+)", "From now on: {o}.",
         "assistant/{kx}", "preferences", 0.7, trait=True, lasts=True, changes=True),
    Rule("order", rf"(?:please\s+)?(?:don't|do\s+not)\s+ever\s+(?P<x>(?:{_ORDERS})\b.+)",
         "Never {o}.", "assistant/{kx}", "preferences", 0.7, trait=True, lasts=True),
    Rule("own name", rf"(?:your\s+name\s+is|i(?:'ll|\s+will)\s+call\s+you|you\s+are\s+called)\s+(?:now\s+)?{_X}",
         "The assistant is called {x}.", "assistant/name", "preferences", 0.8, _is_written_name, trait=True,
         lasts=True),
    Rule("project",
         rf"{_WE}(?:have\s+|has\s+)?(?:switched|migrated|moved)\s+(?:over\s+)?from\s+(?P<y>.+?)\s+to\s+{_X}",
         "The project uses {x}, no longer {y}.", "project/uses/{kx}", "background", 0.6, ends=("project/uses/{ky}",),
         changes=True),
    Rule("project", rf"(?:{_WE}|we're\s+|we\s+are\s+)(?:uses?|using)\s+(?P<x>.+?)\s+(?:for|as)\s+{_Y}",
         "The project uses {x} for {y}.", "project/uses for/{ky}", "background", 0.5, _is_used),
    Rule("project", rf"(?:{_WE}|we're\s+|we\s+are\s+)(?:uses?|using)\s+{_X}", "The project uses {x}.",
         "project/uses/{kx}", "background", 0.5, _is_used),
    Rule("project", rf"(?:the|our)\s+(?P<y>(?:(?!{_SMALL}\b)[\w\-]+\s+){{0,3}}?(?:{_THINGS}))\s+is\s+(?:now\s+"
         rf")?(?:called\s+)?{_X}", "The {y} is {x}.", "project/{ky}", "background", 0.6, _is_state),
    Rule("project",
         rf"{_WE}(?P<x>(?:deploy|release|ship|host|publish|merge)\s+(?:to|on|from|with|every|via|by)\s+.+)",
         "The team {vx}.", "project/{kx}", "background", 0.5),
    Rule("decision", r"(?:we(?:'ve|\s+have)?\s+(?:now\s+)?(?:decided|agreed|settled)|the\s+decision\s+is)\s+"
         r"(?P<x>(?:to|on|that|against|not\s+to)\s+.+)", "Decided {x}.", "", "background", 0.7, _is_long_enough),
    Rule("decision", rf"let's\s+(?:go|stick)\s+with\s+{_X}", "Decided to go with {x}.",
         "", "background", 0.6, _is_used),
)  # fmt: skip


# The most facts of one message: a text with more was probably pasted.
MOST_FACTS = 12
MARKED_CHARS = 400
# A fact without its secret is kept if at least so many words are left.
_LEAST_WORDS = 6
# Conditions, questions and wishes.
_OPEN: Final = re.compile(
    r"\b(?:if|unless|whether|would|could|might|maybe|perhaps|probably|wish|hope|hopefully|guess|what if|assuming|"
    r"in case|for example|for instance|e\.g|such as if|used to|if only|as though|supposedly|apparently|i think|"
    r"i thought|not sure|should i|do you|the user|the user's|when i was|someday|one day)\b",
    re.IGNORECASE,
)
_REPORTED: Final = re.compile(
    r"\b(?:(?i:he|she|they|it|who|someone|somebody|everyone|people|you|friend|brother|sister|boss|colleague)|"
    r"[A-Z][a-z]+)\s+(?:just\s+|also\s+|once\s+|always\s+)?(?:said|says|say|wrote|writes|told|tells|claims?|claimed|"
    r"thinks?|thought|asked|asks|believes?|mentioned|replied|insists?)\b"
)
# A user's message that speaks of "the user" quotes somebody else.
_OTHERS: Final = re.compile(r"\bthe\s+user(?:'s)?\b|\bassistant\b", re.IGNORECASE)
_POLITE: Final = re.compile(r"(?:can|could)\s+you\b|please\b", re.IGNORECASE)
_TODAY: Final = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|right now|at the moment|this (?:time|morning|afternoon|evening|week|"
    r"weekend|month)|for now|temporarily|until|last (?:night|week)|in a (?:minute|moment|while)|for a (?:few|while|"
    r"week|bit))\b",
    re.IGNORECASE,
)
_CHANGES: Final = re.compile(
    r"\b(?:now|from now on|instead|any\s?more|these days|nowadays|switched|moved|changed my mind|no longer|actually)\b",
    re.IGNORECASE,
)
_LEAD: Final = re.compile(
    r"(?:(?:hi|hello|hey|well|so|also|and|but|oh|ok|okay|yes|yeah|yep|no|sure|thanks|actually|anyway|however|plus|"
    r"btw|fyi|by the way|for the record|for reference|for context|just so you know|you should know(?: that)?|just|"
    r"to be clear|as i said|as you know|as for me|as a reminder|(?:please )?note that|honestly|personally|fun fact|"
    r"first|second|sorry|hi there|hello there|there|squid|in general|generally|usually|nowadays|these days|now|"
    r"i(?:'ve| have)? changed my mind|from now on(?=,?\s+i\b)|correction)[\s,:!.\-]++|(?!))++",
    re.IGNORECASE,
)
# Of texts with one space between their words, as are the rules: `\s*` twice is quadratic in a run of spaces.
_CLAUSE: Final = re.compile(
    r" ?(?:,|;| -{1,2}|[\u2013\u2014])? (?:and|but|so|also) (?:also |that )?(?=(?:i|i'm|i've|my|we|we're|our|call|"
    r"please) )| ?(?:,| -{1,2}|[\u2013\u2014]) ?(?=(?:i'm|i am|i live|i work|i prefer|i use|i moved|my name|call me|"
    r"from now on|always|never|please) )",
    re.IGNORECASE,
)
_ASKED: Final = re.compile(
    r"(?:please\s+|can\s+you\s+|could\s+you\s+|you\s+should\s+|i\s+want\s+you\s+to\s+|i'd\s+like\s+you\s+to\s+"
    r"|(?!))*+(?:remember|don't\s+forget|do\s+not\s+forget|never\s+forget|keep\s+in\s+mind|bear\s+in\s+mind|make\s+a\s+"
    r"note|take\s+note|note\s+to\s+self|for\s+future\s+reference|memori[sz]e|save\s+this|remember\s+this)(?:\s+"
    r"this)?\s*(?P<how>,?\s*that\s+|:\s*|,\s*|\s+to\s+|\s+)(?P<x>.+)\Z",
    re.IGNORECASE | re.DOTALL,
)
_NOT_ASKED: Final = re.compile(
    r"(?:when|how|what|where|who|why|if|me|it|this|that|those|these|the|you|him|her|them|us|anything|everything|"
    r"nothing)\b(?!\s+(?:\w+\s+){0,6}(?:is|are|has|have|must|needs?|uses?|runs?|should|starts?|goes)\b)",
    re.IGNORECASE,
)
_YOU: Final = re.compile(r"\byou(?:r|rself)?\b", re.IGNORECASE)
_SAYS: Final = re.compile(r"\b(?:is|are|has|have|must|needs?|i|i'm|my|uses?|runs?|starts?)\b", re.IGNORECASE)
_FIRST_PERSON: Final = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|myself)\b", re.IGNORECASE)
_MARKED: Final[dict[str, tuple[FactCategory, float]]] = {"GOAL": ("concerns", 0.7), "DECISION": ("background", 0.7)}
_LEAST_ASKED = 2
_REDACTOR: Final = Redactor()


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
            draft = replace(_draft(message, f"marked [{line.marker}]"), text=sentence_of(line.said))
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
    spaced = " ".join(sentence.text.split())
    text = _LEAD.sub("", spaced, count=1) if _LEAD.match(spaced) else spaced
    asked = _ASKED.match(text) if message.role == "user" else None
    if asked and not _OTHERS.search(text) and (not sentence.asks or _POLITE.match(text)):
        yield from _asked_for(asked, message)
    elif not sentence.asks and not _OPEN.search(text) and not _REPORTED.search(text):
        yield from _of_clauses(text, message, spaced)


def _asked_for(asked: re.Match[str], message: Utterance) -> Iterator[FactCandidate]:
    """Yield the facts of a request to remember: by a rule if one matches, otherwise in the user's words."""
    what, how = trimmed(asked["x"]), asked["how"].strip().lower()
    known = [] if _OPEN.search(what) else list(_of_clauses(what, message, what))
    for fact in known:
        yield replace(fact, importance=max(0.8, fact.importance), reason=f"{fact.reason}; asked to remember")
    if known or not _is_plain(what, how):
        return
    draft = replace(_draft(message, "asked to remember"), importance=0.8)
    if how == "to":
        yield replace(draft, text=f"To do, as asked: {in_third_person(what)}.", category="concerns", importance=0.6)
    elif _FIRST_PERSON.search(what):
        speaker = message.speaker or "The user"
        yield replace(draft, text=f"{speaker} asked to remember: {sentence_of(what)}", category="core")
    else:
        yield replace(draft, text=sentence_of(what))


def _is_plain(what: str, how: str) -> bool:
    """Return whether a user plainly asks to remember words, and neither recalls something nor gives advice."""
    if len(what.split()) < _LEAST_ASKED or how == ",":
        return False
    if how == "to":
        return _YOU.search(what) is None
    return how.endswith(("that", ":")) or (_NOT_ASKED.match(what) is None and _SAYS.search(what) is not None)


def _of_clauses(text: str, message: Utterance, whole: str) -> Iterator[FactCandidate]:
    is_passing = _TODAY.search(text) is not None
    changes = _CHANGES.search(whole) is not None
    for piece in _CLAUSE.split(text):
        clause = first_thought(_LEAD.sub("", piece, count=1) if _LEAD.match(piece) else piece).strip()
        for rule in RULES:
            if message.role != "user" and rule.name != "decision":
                continue
            candidate = _by(rule, clause, message)
            if candidate is not None:
                if rule.lasts or not is_passing:
                    yield replace(candidate, changes=changes or candidate.changes, sentence=whole)
                break


def _by(rule: Rule, clause: str, message: Utterance) -> FactCandidate | None:
    """Return the fact that a rule finds in a clause; `None` if the clause is not about that."""
    match = _compiled(rule.pattern).match(clause)
    if match is None:
        return None
    given = {name: trimmed(value) for name, value in match.groupdict(default="").items()}
    x, y = given.get("x", ""), given.get("y", "")
    if not x or not rule.fits(x):
        return None
    third = in_third_person(x)
    parts = {
        "S": message.speaker or "The user", "s": message.speaker.casefold() or "user", "o": x, "x": third,
        "vx": conjugated(third), "y": in_third_person(y) if y.lower() != "os" else "OS", "Y": y.capitalize(),
        "kx": key_of(x), "ky": key_of(y), "jy": "".join(key_of(y).split()),
    }  # fmt: skip
    return replace(
        _draft(message, f"rule {rule.name!r}"),
        text=sentence_of(rule.text.format(**parts)),
        category=rule.category if message.role == "user" else "background",
        importance=rule.importance,
        slot=rule.slot.format(**parts),
        ends=tuple(end.format(**parts) for end in rule.ends if parts["ky"] or "{ky}" not in end),
        changes=rule.changes,
        trait=rule.trait,
    )


def _draft(message: Utterance, reason: str) -> FactCandidate:
    trust: Trust = "user" if message.role == "user" else "assistant"
    return FactCandidate(
        "", "background", trust, message.seq, message.seq, message.time, message.speaker, reason=reason
    )
