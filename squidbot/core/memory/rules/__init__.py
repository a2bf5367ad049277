"""What can be learned of a sentence, and the rules of each language that find it: tables, which `extract` applies.

A line of a language's rules is a topic, a bar, and the pattern of a clause; a line that begins with a space belongs to the
one before. The first that matches counts. Two are no topics: a clause that begins as `asks` asks, and ends what is stated;
one that has a `doubt` is no fact: a condition, a guess, a wish, a report, a day that soon means nothing, or a word that
refers to something near. Patterns match in upper and lower case, with one space between words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from squidbot.core.memories import FactCategory

# What stands before a statement, and behind it, in any language; both are left out; and a request
# to remember the rest.
LEAD: Final = (
    r"(?:(?:hi|hello|hey|well|so|also|and|but|oh|okay?|ok|ye(?:s|ah|p)|no(?=[,.!])|nope|sure|thanks|actually|anyway|however|plus|"
    r"btw|fyi|by the way|for (?:the record|reference|context)|just so you know|you should know(?: that)?|just|to be clear|as i "
    r"said|as you know|as for me|as a reminder|(?:please )?note that|honestly|personally|fun fact|first|second|sorry|there|squid|"
    r"in general|generally|usually|nowadays|these days|now(?: that)?|please|because|since|as|while|(?:al)?though|especially|even|"
    r"considering|given(?: that)?|i(?:'ve| have)? changed my mind|from now on(?=,? i\b)|correction|speaking of which|besides|"
    r"recently|lately|wow|haha|hmm|for me|hallo|und|aber|ja|nein|danke|übrigens|bitte|weil|denn|doch|außerdem|wie gesagt|hola|y|"
    r"pero|gracias|por (?:cierto|favor)|porque|además|la verdad|bonjour|salut|et|mais|oui|non|merci|au fait|car|parce que|s'il (?:te|"
    r"vous) plaît|d'ailleurs|привет|здравствуйте|ну|и|а|но|да|нет|спасибо|кстати|пожалуйста|потому что|так как|вообще)[ ,:!.\-]++|"
    r"(?:你好|您好|嗨|嗯|好的|是的|其实|另外|而且|因为|但是|不过|所以|对了|请|然后|还有|同时|最近|平时|现在|目前|确实)[呀啊吧呢了]?[ ，、！：]*+|(?!))++"
)
TAIL: Final = (
    r"(?:(?<![ ,，])[ ,，]+(?:too|also|as well|by the way|btw|tho(?:ugh)?|anyway|thanks|thank you|please|lol|haha|:\)|you know|and|or|but|so|with|"
    r"to|for|because|right|actually|in general|a lot|(?:so|very) much|now|currently|übrigens|danke|bitte|gracias|por favor|merci|"
    r"s'il te plaît|спасибо|пожалуйста)|(?:吧|啦|呀|哦|啊|呢|而已))+\Z"
)
ASKED: Final = (
    r"(?:please |can you |could you |you should |i want you to |i'd like you to |bitte |por favor,? |(?!))*+(?:remember|(?:don't|do not|"
    r"never) forget|keep in mind|bear in mind|make a note|take note|note to self|for future reference|memori[sz]e|save this|merke? dir|"
    r"vergiss nicht|denke? daran|recuerda|no olvides|ten en cuenta|souviens-toi|n'oublie pas|retiens|запомни|не забудь|имей в виду|"
    r"请?记住|别忘了)(?: this| bitte)?(?P<that>,? (?:that|dass|что) | que? | qu'|: ?|[：，]? ?(?=我)| (?=(?:i|i'm|my|our|we)\b))?,? ?(?P<x>.+)\Z"
)
# What says that something is new.
CHANGED: Final = (
    r"\b(?:now|from now on|instead|any ?more|these days|nowadays|switched|moved|changed my mind|no longer|actually|jetzt|nicht mehr|"
    r"ahora|ya no|maintenant|désormais|теперь|больше не)\b|现在|不再"
)
# Where one clause ends and another begins: before what begins one, in any language.
SPLIT: Final = (
    r" ?[,;–—] ?(?=(?:and(?= (?:i|my|we|our|it|he|she|they|you|that|what|how|can|could|please|never|always|then|also|now|so)\b)|but|so|because|since|as|while|(?:al)?though|yet|plus|then|especially|considering|given|that|not|even|you|he|she|"
    r"it|they|this|there|what|how|why|when|where|who|can|could|would|should|do|does|did|is|are|any|please|let's|thanks?|call|always|never|"
    r"maybe|right|okay|if|from now on|rather than|moved|having|making|being|thinking|hoping|i|my|we|our|und|aber|denn|weil|da|obwohl|damit|"
    r"doch|also|ich|mein\w*|wir|unser\w*|kannst|könn\w+|was|wie|wo|warum|bitte|er|sie|es|d(?:er|ie|as|en)|y|pero|porque|ya que|aunque|"
    r"que|me|mi|yo|soy|vivo|trabajo|tengo|prefiero|puedes|podrías|qué|cómo|¿|et|mais|car|parce que|donc|qui|je|j'\w+|mon|ma|nous|peux|"
    r"comment|où|quand|est-ce|elle|il|c'est|merci|и|а|но|потому|поэтому|котор\w+|я|мне|мой|моя|мы|наш\w*|можешь|как|что|где|почему|он|она|"
    r"это|хотя|подскажи\w*)\b|which(?! (?:\w+ )?(?:has|have|is|was|were|had)(?: \w+){1,4} (?:to|at) [$\d])|(?:the|particularly|like) (?!\d))|"
    r" - | (?=(?:and|but|so|because|since|although|though|while|whereas) (?:also |now |then |that )?(?:i(?! (?:are|were))|my|we|our|it|he|she|"
    r"they|you|can|could|what|how|please|call|am|have|was)\b)| (?=(?:because|so that|in case|just so)\b)|(?<!,) (?=which\b)| ?\(|[，；：]| (?=(?:und|aber|"
    r"denn|y|pero|porque|et|mais|car|и|а|но) (?:ich|mein\w*|wir|yo|me|mi|vivo|trabajo|soy|no|je|j'\w+|mon|ma|nous|я|мне|мой|моя|мы|у)\b)"
)


class Topic(NamedTuple):
    """What facts are about; its name is their reason.

    Attributes:
        category, importance: as of the memory.
        slot: what a fact is about: `{s}` who speaks, `{x}`, `{y}` the parts of its pattern as they are compared, `{j}`
            y in one word; "" if open.
        fits: what x has to be: "name", "capital", "place", "dated"; "" for anything.
        ends: slots of facts that it ends, behind `=` the words that these must have.
        changes: whether the words themselves say that something is new.
        lasts: whether it holds whatever else its clause says: only x is looked at for doubts.
        trait: whether it is about how the assistant is to be.
    """

    category: FactCategory
    importance: float
    slot: str = ""
    fits: str = ""
    ends: tuple[str, ...] = ()
    changes: bool = False
    lasts: bool = False
    trait: bool = False


TOPICS: Final[Mapping[str, Topic]] = {
    "name": Topic("core", 0.9, "{s}/name", "name", lasts=True),
    "called": Topic("core", 0.9, "{s}/called", "name", lasts=True),
    "home": Topic("core", 0.8, "{s}/home", "capital", ("{s}/past home/{x}",)),
    "moved": Topic("core", 0.8, "{s}/home", "place", ("{s}/past home/{x}",), changes=True, lasts=True),
    "past home": Topic("core", 0.7, "{s}/past home/{x}", "", ("{s}/home={x}",), changes=True),
    "employer": Topic("core", 0.8, "{s}/employer", "", ("{s}/past employer/{x}",)),
    "joined": Topic("core", 0.8, "{s}/employer", "place", ("{s}/past employer/{x}",), changes=True),
    "past employer": Topic("core", 0.7, "{s}/past employer/{x}", "", ("{s}/employer={x}",), changes=True),
    "age": Topic("core", 0.7, "{s}/age"), "about": Topic("core", 0.8, "{s}/is/{x}"),
    "being": Topic("core", 0.7, "{s}/is/{x}", "capital"), "birthday": Topic("core", 0.8, "{s}/birthday", "dated"),
    "relation": Topic("core", 0.8, "{s}/{y}", "capital"), "kin": Topic("core", 0.8, "{s}/{y}/{x}", "capital"),
    "attribute": Topic("core", 0.8, "{s}/{j}", lasts=True),
    "preference": Topic("preferences", 0.6, "{s}/prefers/{x}", "", ("{s}/prefers/{y}",)),
    "liking": Topic("preferences", 0.5, "{s}/likes/{x}"), "habit": Topic("preferences", 0.6, "{s}/habit/{x}"),
    "tool": Topic("preferences", 0.5, "{s}/uses/{x}"),
    "change": Topic("preferences", 0.6, "{s}/uses/{x}", "", ("{s}/uses/{y}", "{s}/prefers/{y}"), changes=True),
    "concern": Topic("concerns", 0.6, "{s}/concern/{x}"), "detail": Topic("concerns", 0.5),
    "language": Topic("preferences", 0.7, "assistant/language", trait=True),
    "order": Topic("preferences", 0.7, "assistant/{x}", trait=True),
    "own name": Topic("preferences", 0.8, "assistant/name", "capital", trait=True),
    "project": Topic("background", 0.5, "project/uses/{x}", "", ("project/uses/{y}",)),
    "role": Topic("background", 0.5, "project/uses for/{y}"), "thing": Topic("background", 0.6, "project/{y}"),
    "team": Topic("background", 0.5, "project/{x}"), "decision": Topic("background", 0.7),
}  # fmt: skip
