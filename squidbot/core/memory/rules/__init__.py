"""What can be learned of a sentence, and the rules of each language that find it: tables, which `extract` applies.

A line of a language's rules is a topic, a bar, and the pattern of a clause; a line that begins with a space belongs to
the one before. The first that matches counts. One is no topic: a clause that has a `doubt` is no fact: a condition, a
guess, a wish, a report, a day that soon means nothing, or a word that refers to something near. Patterns match in upper
and lower case, with one space between words; a name in capitals stands for its pattern in the lines below, as `<NAME>`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from squidbot.core.memories import FactCategory

# What holds in any language: how a clause begins that `asks`, that a question takes as `given`, or that asks to remember
# the rest (`asked`); the `lead` before a statement and the `tail` behind it, which are left out; what says that
# something is new (`changed`); where to `split`; and words that are no name of a person, or of a place: "I moved to
# Rust".
ANY: Final = r"""
LINKS | and|but|so|also|because|since|as|while|(?:al)?though|yet|plus|then|especially|considering|given(?: that)?|that|even|now that|und|aber|weil|
 denn|doch|da|obwohl|damit|también|pero|porque|ya que|aunque|et|mais|car|parce que|donc|и|а|но|потому что|поэтому|так как|хотя
BEGINS | you|he|she|it|they|this|there|please|let's|thanks?|call|always|never|maybe|not|right|okay|if|from now on|rather than|moved|having|making|
 being|thinking|hoping|i|my|we|our|also|ich|mein\w*|wir|unser\w*|bitte|er|sie|es|d(?:er|ie|as|en)|y|que|me|mi|yo|soy|vivo|trabajo|tengo|prefiero|je|
 j'\w+|mon|ma|nous|elle|il|c'est|merci|котор\w+|я|мне|мой|моя|мы|наш\w*|у меня|он|она|это
asks | (?:(?:how|what|when|where|why|who|whose|which|can|could|would|should|shall|will|do|does|did|is|are|am|was|were|has|had|any|may|i(?:'m| am|
  was)? (?:just |also |kinda |still |a bit )*(?:wonder|wondering|curious|not sure|unsure)|help me|let me know|wie|wo|wann|warum|wer|welche\w*|
 könn\w+|kannst|soll\w*|hast|weißt|gibt|ist|sind|darf|magst|hilf|ich (?:frage mich|weiß nicht|bin (?:mir )?(?:nicht sicher|unsicher))|puedes|
 podrías|qué|cómo|dónde|cuándo|cuál|quién|no sé|me pregunto|ayúdame|dime|peux|pourrais|pouvez|pourriez|comment|où|quand|quel\w*|qui|quoi|pourquoi|
 est-ce|as-tu|dois-je|je me demande|je ne sais pas|можешь|можете|как|что|где|когда|почему|зачем|кто|как(?:ой|ая|ие|ую)|сколько|стоит|подскажи\w*|
 помоги\w*|не знаю|интересно)\b|¿|qu'|[你您]|能不能|可以|请问|怎么|什么|为什么|哪|有没有|是不是|该|如何|请告诉|帮)
given | (?:and |especially |particularly )*(?:considering|given(?: that)?|since|now that|because)\b
lead | \A(?:(?:<LINKS>|hi|hello|hey|well|oh|okay?|ok|ye(?:s|ah|p)|no(?=[,.!])|sure|thanks|actually|anyway|however|btw|fyi|by the way|
 for (?:the record|reference|context)|just|to be clear|as i said|as you know|as for me|(?:please )?note that|honestly|personally|first|second|sorry|
 there|squid|in general|generally|usually|nowadays|these days|now|please|i(?:'ve| have)? changed my mind|from now on(?=,? i\b)|recently|lately|wow|
 haha|hmm|for me|hallo|ja|nein|danke|übrigens|bitte|außerdem|hola|y|gracias|por (?:cierto|favor)|además|bonjour|salut|oui|non|merci|au fait|
 s'il (?:te|vous) plaît|привет|ну|да|нет|спасибо|кстати|пожалуйста|вообще)[ ,:!.\-]++|(?:你好|您好|嗨|嗯|好的|是的|其实|另外|而且|因为|但是|不过|所以|对了|请|然后|还有|同时|最近|平时|
 现在|目前|确实)[呀啊吧呢了]?[ ，、！：]*+|(?!))++
tail | (?:(?<![ ,，])[ ,，]+(?:too|also|as well|by the way|btw|tho(?:ugh)?|anyway|thanks|thank you|please|lol|haha|:\)|you know|and|or|but|so|with|to|
 for|because|right|actually|in general|a lot|(?:so|very) much|now|currently|übrigens|danke|bitte|gracias|por favor|merci|s'il te plaît|спасибо|
 пожалуйста))+\Z|(?:而已|[吧啦呀哦啊呢])\Z
asked | (?:please |can you |could you |you should |i want you to |i'd like you to |bitte |por favor,? |(?!))*+(?:remember|(?:don't|do not|
 never) forget|keep in mind|bear in mind|make a note|take note|note to self|for future reference|memori[sz]e|save this|merke? dir|vergiss nicht|
 denke? daran|recuerda|no olvides|ten en cuenta|souviens-toi|n'oublie pas|retiens|запомни|не забудь|имей в виду|请?记住|别忘了)(?: this|
  bitte)?(?P<that>(?:,? (?:that|dass|что)|:| que?)? (?=(?:i|i'm|my|our|we|the|ich|mein\w*|wir|unser\w*|d(?:er|ie|as)|yo|mi|el|la|je|j'\w+|mon|ma|le|
 les|я|мо[йяеё]|наш\w*|у меня)\b)|[：，]? ?(?=我))?(?:,? (?:that|dass|что|que?)\b)?[,:]? ?(?P<x>.+)\Z
changed | \b(?:now|from now on|instead|any ?more|these days|nowadays|switched|moved|changed my mind|no longer|actually|jetzt|nicht mehr|ahora|ya no|
 maintenant|désormais|теперь|больше не)\b|现在|不再
split |  ?[,;–—] ?(?!and(?! (?:i|my|we|our|it|he|she|they|you|that|what|how|can|could|please|never|always|then|also|now|so|after|
 before)\b))(?=(?:<LINKS>|<BEGINS>)\b|which(?! (?:\w+ )?(?:has|have|is|was|were|had)(?: \w+){1,4} (?:to|at) [$\d])|(?!which|who)<asks>|(?:the|
 particularly|like) (?!\d))| - | ?\(|[，；：]| (?=(?:and|but|so|because|since|although|though|while|whereas) (?:also |now |then |that )?(?:i(?! (?:are|
 were))|(?:my|our) (?=\w+(?: \w+)? (?:is|are|was|has)\b)|we|it|he|she|they|you|can|could|what|how|please|call|am|have|was)\b)| (?=(?:because|
 so that|in case|just so)\b)| (?=(?:und|aber|denn|y|pero|porque|et|mais|car|и|а|но) (?:ich|mein\w*|wir|yo|me|mi|vivo|trabajo|soy|no|je|j'\w+|mon|ma|
 nous|я|мне|мой|моя|мы|у)\b)
no name | (?:not|on|in|at|the|a|an|is|also|just|so|here|there|too|unknown|secret|private|listed|missing|wrong|back|later|when|if|tomorrow|maybe|
 today|now|up|out|crazy|stupid|old|happy|sad|sorry|home|away|fine|ready|busy|tired|none|your|my|what|anything|by|with|from|to|it|this|that)\Z
no place | (?:python|rust|go|golang|java|kotlin|swift|typescript|javascript|ruby|php|linux|ubuntu|debian|fedora|arch|mac|macos|windows|android|ios|
 iphone|vim|neovim|emacs|vscode|docker|kubernetes|postgres|postgresql|mysql|mongodb|redis|sqlite|aws|azure|gcp|github|gitlab|slack|teams|discord|
 notion|jira|firefox|chrome|claude|gpt|gemini|react|vue|django|flask|fastapi|plan|option|phase|step|version|monday|friday)\b
"""


class Topic(NamedTuple):
    """What facts are about; its name is their reason.

    Attributes:
        category, importance: as of the memory.
        slot: what a fact is about: `{s}` who speaks, `{x}`, `{y}` the parts of its pattern as they are compared, `{j}`
            y in one word; "" if open.
        fits: what x has to be: "name", "capital", "place"; "" for anything.
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
    "name": Topic("core", 0.9, "{s}/name", "name", lasts=True), "called": Topic("core", 0.9, "{s}/called", "name", lasts=True),
    "home": Topic("core", 0.8, "{s}/home", "capital", ("{s}/past home/{x}",)),
    "moved": Topic("core", 0.8, "{s}/home", "place", ("{s}/past home/{x}",), changes=True, lasts=True),
    "past home": Topic("core", 0.7, "{s}/past home/{x}", "", ("{s}/home={x}",), changes=True),
    "employer": Topic("core", 0.8, "{s}/employer", "", ("{s}/past employer/{x}",)),
    "joined": Topic("core", 0.8, "{s}/employer", "place", ("{s}/past employer/{x}",), changes=True),
    "past employer": Topic("core", 0.7, "{s}/past employer/{x}", "", ("{s}/employer={x}",), changes=True),
    "age": Topic("core", 0.7, "{s}/age"), "about": Topic("core", 0.8), "kin": Topic("core", 0.8, "{s}/{y}/{x}", "capital"),
    "attribute": Topic("core", 0.8, "{s}/{j}", lasts=True),
    "preference": Topic("preferences", 0.6, "{s}/prefers/{x}", "", ("{s}/prefers/{y}",)),
    "liking": Topic("preferences", 0.5, "{s}/likes/{x}"), "habit": Topic("preferences", 0.6, "{s}/habit/{x}"),
    "tool": Topic("preferences", 0.5, "{s}/uses/{x}"),
    "change": Topic("preferences", 0.6, "{s}/uses/{x}", "", ("{s}/uses/{y}", "{s}/prefers/{y}"), changes=True),
    "concern": Topic("concerns", 0.6), "detail": Topic("concerns", 0.5),
    "language": Topic("preferences", 0.7, "assistant/language", trait=True), "order": Topic("preferences", 0.7, "assistant/{x}", trait=True),
    "own name": Topic("preferences", 0.8, "assistant/name", "capital", trait=True),
    "project": Topic("background", 0.5, "project/uses/{x}", "", ("project/uses/{y}",)),
    "role": Topic("background", 0.5, "project/uses for/{y}"), "thing": Topic("background", 0.6, "project/{y}"),
    "decision": Topic("background", 0.7),
}  # fmt: skip
