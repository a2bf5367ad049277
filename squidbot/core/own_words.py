"""The author's own words in a message: without code, quotes, pasted texts, transcripts and made-up scenes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


# What stands for a quotation: no fact has it.
QUOTED: Final = "\ufffc"
MOST_CHARS = 20_000
# Nobody writes a paragraph like this about himself, and who sends so much text has pasted most of it.
PARAGRAPH_CHARS, MESSAGE_CHARS = 800, 3_000
SENTENCE_CHARS = 600
# Beside a line with a marker stands no more than a remark.
REMARK_CHARS = 400
# A message that is one sentence: a standing order takes no more.
ALONE_CHARS = 240
_COURTESY: Final = re.compile(
    r"(?:(?:hi|hello|hey|good (?:morning|evening|afternoon|day)|thanks|thank you|thx|okay|ok|great|perfect|nice|"
    r"cool|fine|sure|yes|no|sorry|please|well|so|one more thing|very|much|a lot|again|all|there|everyone|squid)"
    r"[\s,!]*+|(?!))*+\Z",
    re.IGNORECASE,
)

_FENCED: Final = re.compile(r"^[ \t>]*(`{3,}|~{3,}).*?(?:^[ \t>]*\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_TAG: Final = re.compile(r"<([A-Za-z][\w\-]*)\b[^<>]*>")
_QUOTES: Final = re.compile(
    r'"[^"\n]*"|\u201c[^\u201c\u201d\n]*\u201d|\u00ab[^\u00ab\u00bb\n]*\u00bb|(?<!\w)\'[^\'\n]+\'(?!\w)'
)
# Up to so many words in quotes are a name.
_NAME_WORDS = 3
# Lines of a quotation, a table, indented code, a log.
_FOREIGN_LINE: Final = re.compile(
    r"[ \t]*[>|]|[ \t]{4,}|\t|\s*\[?(?:\d{4}-\d\d-\d\d|\d\d:\d\d(?::\d\d)?)|\s*\[(?:info|warn(?:ing)?|error|debug)\]|"
    r"\s*(?:\$|#!|>>>|at )\s?\S+[(/\\.]",
    re.IGNORECASE,
)
# "Bob: hello" is a transcript, "From: ..." a mail: others speak from here on.
_LABEL: Final = re.compile(r"\s*[*_#\[(<]{0,3}([A-Za-z][\w .\-]{0,30})[\])>]{0,2}:[*_]{0,2}(?:\s|\Z)")
_OWN_LABELS: Final = frozenset(
    ("note", "ps", "p.s.", "p.s", "fyi", "btw", "remember", "correction", "update", "edit", "decision", "reminder",
     "important", "also", "goal", "next", "about me", "my name", "preferences", "i changed my mind")
)  # fmt: skip
# What these say belongs to what follows.
_KEPT_LABELS: Final = frozenset(("remember", "i changed my mind"))
# Words for a text that somebody has before him, or makes up.
_TEXTS: Final = (
    r"(?:e-?mails?|messages?|letters?|texts?|articles?|logs?|output|documents?|docs?|transcripts?|paste|quotes?|"
    r"quotations?|passages?|paragraphs?|sentences?|pages?|readme|files?|websites?|web ?sites?|sites?|blogs?|posts?|"
    r"tweets?|comments?|essays?|reports?|reviews?|speech(?:es)?|lyrics|resume|cv|biography|bio|dialogues?|"
    r"conversations?|notes?|tickets?|contracts?|prompts?|drafts?|translations?|summar(?:y|ies)|snippets?|excerpts?|"
    r"abstracts?|captions?|subtitles?|flyers?|leaflets?|adverts?|ads?|sms|dms?|voicemails?|instructions?|clauses?|"
    r"recipes?|scripts?)"
)
_FICTIONS: Final = (
    r"(?:story|stories|tale|novel|novella|poem|poetry|song|screenplay|play|scene|sketch|fanfic|fiction|plot|hero|"
    r"heroine|"
    r"character|protagonist|villain|narrator|knight|wizard|robot|dream|joke|riddle|saga|comic|chapter|film|movie)"
)
# What somebody asks to be done with a text, at the beginning of a clause: not where he tells what he does.
_WORK: Final = (
    r"(?:translate|summari[sz]e|sum up|rewrite|rephrase|reword|paraphrase|proof-?read|spell-?check|correct|edit|fix|"
    r"improve|polish|shorten|condense|simplify|expand|continue|complete|finish|classify|categori[sz]e|parse|extract|"
    r"analy[sz]e|transcribe|review|critique|comment|grade|rate|evaluate|assess|check|explain|interpret|reply|respond|"
    r"answer|react|read|quote|format|reformat|convert|turn|transform|clean|tidy|revise|refine|adapt|draft|compose|"
    r"write|make|look|go|have a look|take a look|see|tell|find|identify|list|highlight|count|compare|describe|label|"
    r"decode|debug|help|judge|consider|process|handle|use|put|give|show|note|consult|inspect|verify|detect|guess|"
    r"repeat|copy|type|print|say)"
)
_ASKING: Final = (
    r"(?:\A|[.!?:;,\n)\u2026\u2014\u2013-]\s?|\b(?:please|kindly|just|then|and|now|help me(?: to)?|(?:can|could|"
    r"would|will|should) you|(?:want|need|like|ask|trust) you to|let's|let us|i need to|i want to|i have to|i must|"
    r"how (?:do|can|should|would) (?:i|we))\s)(?:(?:please|kindly|just|then|also|quickly|briefly|now)\s){0,2}"
)
_POINTING: Final = r"(?:this|that|these|those|it|its|them|following|below|above|attached|here|him|her|their|his)"
_SPEAKS: Final = (
    r"(?:says?|said|tells?|told|wrote|writes?|texted|texts|e-?mailed|messaged|posted|claims?|claimed|asks|asked|"
    r"replied|whispers?|shouts?|screams?|screamed|thinks|thought|insists?|announced?|reads|goes|states?|stated|"
    r"sent me|gave me)"
)
# An instruction about text, in one place of a message: nothing in it is taken for what its author says of himself.
_WORKED_ON: Final = re.compile(
    rf"{_ASKING}{_WORK}\b[^\n.!?]{{0,60}}?\b(?:{_POINTING}|(?:the|my|our|an?|his|her|some|any|"
    rf"all)\s(?:[\w'-]+\s){{0,3}}{_TEXTS})\b|\bhelp(?:\s(?:me|us))?\s(?:with|on)\s{_POINTING}\b|"
    rf"{_ASKING}(?:translate|summari[sz]e|proof-?read|paraphrase|rephrase|reword|rewrite|spell-?check|transcribe|"
    rf"tl;?dr)\b|"
    # "That was the letter from ...", "This is what I got", "Here's my colleague's text".
    rf"\b(?:this|that|these|those|it|here|following|below|above|attached)(?:'s|\s(?:is|was|are|were|comes?|"
    rf"came))\b[^\n.!?]{{0,60}}\b(?:{_TEXTS}|{_FICTIONS}|what|from)\b|\b(?:the|this|these|that|those)\s(?:following|"
    rf"above|below|attached|pasted|quoted)\b|\b(?:as|see|listed|quoted|pasted|copied)\s(?:above|below)\b|"
    rf"\b(?:following|attached)\s{_TEXTS}\b|\b{_TEXTS}\s(?:above|below|attached)\b|\b(?:this|that|these|"
    rf"those)\s(?:[\w'-]+\s){{0,2}}(?:{_TEXTS}|{_FICTIONS})\b|(?:\A|\n)(?:an?|the|my|"
    rf"another)\s(?:[\w'-]+\s)?(?:{_TEXTS}|{_FICTIONS})[.:\n]|\bi\s(?:just\s)?(?:got|received|found|saw|copied|"
    rf"pasted|forwarded|was sent|came across)\b[^\n.!?]{{0,60}}\b(?:{_TEXTS}|this|that|from|online)\b|"
    # Somebody else speaks.
    rf"\b(?:he|she|they|who|someone|somebody|everyone|it|which|{_TEXTS}|{_FICTIONS}|landlord|boss|friend|brother|"
    rf"sister|colleague|manager|neighbou?r|wife|husband|mother|father|mom|mum|dad|teacher|client|customer|tenant|"
    rf"stranger|bot|page|tool|command)\s(?:(?:just|also|once|always|then|has|had)\s)?{_SPEAKS}\b|\b(?:printed|"
    rf"returned|pasted|quoted|quoting|verbatim|sincerely|(?:kind|best|warm)?\s?regards|yours (?:truly|faithfully))\b|"
    # Questions about a text.
    rf"\bwhat (?:do|does|did|would|is|are|was) (?:you (?:think|make|say)|{_POINTING}|he|she|they|the (?:tone|meaning|"
    rf"gist|point|author|sender))\b|\b(?:is|was|are|does|do|should|can|could|would|did)\s(?:this|that|it|these|those|"
    rf"he|she|they)\b[^\n.!]{{0,120}}\?|\b(?:thoughts|feedback|opinions?|comments|ideas|suggestions)\s?\?|\b(?:any|"
    rf"your)\s(?:thoughts|feedback|opinion|comments|suggestions)\b|\bhow (?:should|would|do|can|could|shall) (?:i|we|"
    rf"you) (?:reply|respond|answer|react|translate|say|word|phrase|put)\b|\bwho (?:wrote|said|is (?:the )?(?:author|"
    rf"sender|speaker))\b|\bwhich language\b|\btl;?dr\b|\b(?:grammar|spelling|typos?|phishing|spam|scam|sentiment|"
    rf"plagiari\w+|wording|proofreading|translation|summary of)\b|\b(?:in|for)\s(?:my|the|a|an|our|this|"
    rf"that)\s(?:[\w'-]+\s)?{_FICTIONS}\b|\b(?:hero|heroine|protagonist|narrator|once upon a time)\b",
    re.IGNORECASE,
)
# The same in other languages, by stems: an instruction need not be in the language of its text.
_WORKED_ON_ABROAD: Final = re.compile(
    r"\b(?:\u00fcbersetz|korrigier|verbesser|lektorier|formulier|erkl\u00e4r|antworte|beantwort|pr\u00fcf|schreib|"
    r"lies|fass(?:e|en|t)?\b|zusammenfass|k\u00fcrz|tradui[stz]|corrig|r\u00e9sum|reformul|am\u00e9lior|r\u00e9pond|"
    r"expliqu|relis|traduc|traduz|resum(?:a|e (?:el|la|este|esto|lo|o|a)|ir)\b|mejor[ae]|melhor[ae]|respond[ae]\b|"
    r"expl[i\u00ed]c|revis[ae]\b|riassum|corregg|miglior|rispond|spieg|vertaal|corrigeer|verbeter|samenvat|"
    r"beantwoord|przet\u0142umacz|popraw|stre\u015b\u0107|\u00e7evir|\u00f6zetle|d\u00fczelt|"
    r"\u043f\u0435\u0440\u0435\u0432\u0435|\u0438\u0441\u043f\u0440\u0430\u0432|\u0441\u043e\u043a\u0440\u0430\u0442|"
    r"\u043f\u0435\u0440\u0435\u0441\u043a\u0430\u0436|\u043e\u0442\u0432\u0435\u0442|"
    r"\u0440\u0435\u0437\u044e\u043c\u0438\u0440|\u043f\u0440\u043e\u0432\u0435\u0440|"
    r"\u043e\u0431\u044a\u044f\u0441\u043d)|\u7ffb\u8bd1|\u7ffb\u8b6f|\u603b\u7ed3|\u7e3d\u7d50|\u6982\u62ec|"
    r"\u4fee\u6539|\u6da6\u8272|\u6539\u5199|\u56de\u590d|\u89e3\u91ca|\u7ffb\u8a33|\u8981\u7d04|\u6dfb\u524a|"
    r"\u6821\u6b63|\u8fd4\u4fe1|\u8aac\u660e|\ubc88\uc5ed|\uc694\uc57d|\uad50\uc815|\u062a\u0631\u062c\u0645|"
    r"\u0644\u062e\u0635",
    re.IGNORECASE,
)
# A standing order says how texts are to be worked on from now on, and is no instruction about one of them.
_STANDING: Final = re.compile(
    r"(?:^|[.!?]\s)(?:please\s|and\s)?(?:always|never|from now on|in (?:the )?future|going forward|(?:don't|"
    r"do not) ever)\b[^\n.!?]*|"
    # In other languages only where it is the whole message.
    r"\A(?:\w+,?\s){0,4}(?:immer|stets|nie|niemals|ab jetzt|k\u00fcnftig|siempre|nunca|a partir de ahora|toujours|"
    r"jamais|d\u00e9sormais|\u0432\u0441\u0435\u0433\u0434\u0430|\u043d\u0438\u043a\u043e\u0433\u0434\u0430|"
    r"\u0432\u043f\u0440\u0435\u0434\u044c)\b[^\n.!?:]*[.!?]?\Z|\A\u8bf7?(?:\u603b\u662f|\u6c38\u8fdc|\u59cb\u7ec8|\u4ee5\u540e|\u4ece\u73b0\u5728\u8d77)"
    r"[^\n\u3002\uff01\uff1f\uff1a:]*\u3002?\Z",
    re.IGNORECASE | re.MULTILINE,
)
# Who says of himself what he needs help with, in one sentence, has nobody else's text in it.
_OWN_NEED: Final = re.compile(
    r",? (?:so |and |but |- ?)?(?:can|could) you (?:please )?help me (?!translate|summari|proof|re(?:write|word|phrase|"
    r"ply|spond)|paraphrase|correct|edit|fix|answer|read|with (?:this|the|it)\b)",
    re.IGNORECASE,
)
_OWN_BEGINNING: Final = re.compile(
    r"(?:\w+,? )?i(?:'\w+)? (?!got|received|found|saw|have a (?:letter|text|message))", re.IGNORECASE
)
_SENTENCE_END: Final = re.compile(r"[.!?:\n](?:\s|\Z)")
# A scene that somebody makes up: nothing in the message is a fact.
_SCENE: Final = re.compile(
    r"\b(?:pretend|role-?play|imagine|make[- ]believe|act as|in character|let's say|suppose|supposing|"
    r"hypothetical(?:ly)?|for the sake of argument|write (?:me )?(?:a|an|the) (?:story|poem|song|novel|dialogue|"
    r"scene|script|letter|speech|monologue|joke|bio\w*|cover letter|e-?mail)|just kidding|just joking|i'm joking|"
    r"i was joking|fictional|my character|as if i|(?:example|sample|test) (?:sentence|text|data|message|input))\b",
    re.IGNORECASE,
)
# A quotation of several lines: in marks from its first character, or as Markdown quotes, to the end of its paragraph.
_QUOTED_LINES: Final = re.compile(
    r"^[ \t]?[\"\u201c\u00ab][^\"\u201c\u201d\u00ab\u00bb]*[\"\u201d\u00bb]|^[ \t]{0,3}>[^\n]*+(?:\n[^\n]++|(?!))*+",
    re.MULTILINE,
)
_COLON: Final = re.compile(r":(?=\s)")
_GAP: Final = re.compile(r"\s+")
_MARKED: Final = re.compile(r"[ \t#*+\-\u2022_0-9.)]{0,24}\[(?:GOAL|DECISION|ARTIFACT|NEXT|CHECKPOINT)\]")
# Of a page: a title by signs or underlined.
_HEADING: Final = re.compile(r"^ {0,3}#{1,6}\s|^ {0,3}(?:={3,}|-{3,})[ \t]*$", re.MULTILINE)
_BREAK: Final = re.compile(r"\n[^\S\n]*+\n")
# Behind these the same words mean the contrary.
_DENIES: Final = frozenset(("no", "not", "never", "without", "avoid", "stop", "don", "doesn", "won", "t", "nor"))
_WORD: Final = re.compile(r"\w+")
_BULLET: Final = re.compile(r"\A\s*(?:[-*\u2022+]|\d{1,2}[.)])\s+")
# Not behind the day of a German date.
_ENDS: Final = re.compile(
    r"(?<=[.!?\u2026])[\"')\]]*\s+(?!(?<=\d\.\s)(?:Jan|Feb|M\u00e4r|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez))|(?:(?<!\s)\s++)?;\s+|"
    r"(?<=[\u3002\uff01\uff1f])(?!\Z)"
)
_ABBREVIATED: Final = re.compile(
    r"\b(?:e\.g|i\.e|etc|vs|dr|mr|mrs|ms|prof|st|no|approx|inc|ltd|jr|sr)\.\Z", re.IGNORECASE
)


class Sentence(NamedTuple):
    """One sentence as its author wrote it, without the sign at its end; and whether that asks."""

    text: str
    asks: bool


def own_lines(text: str) -> list[str]:
    """Return the author's own lines in a text, as they were written; none if they may be somebody else's.

    They may be if the author makes up a scene, or asks for work on a text, which may stand beside that. Set-off text
    never counts: code, the inside of tags, lists, tables, and lines of their own behind a colon.
    """
    bare = text[:MOST_CHARS].replace("\u2019", "'").replace("\r\n", "\n")
    bare = _QUOTED_LINES.sub("\n", "\n".join(_untagged(_FENCED.sub("\n", bare))))
    others = _STANDING.sub(" ", _GAP.sub(_narrow, text[:MOST_CHARS].replace("\u2019", "'")))
    need = _OWN_NEED.search(others) if len(others) <= SENTENCE_CHARS and _OWN_BEGINNING.match(others) else None
    if need and not _SENTENCE_END.search(others.strip()[:-1]):
        others = others[: need.start()]
    if _SCENE.search(others) or _WORKED_ON.search(others) or _WORKED_ON_ABROAD.search(others):
        return []
    return list(_own_lines(_unannounced(bare)))


def _narrow(gap: re.Match[str]) -> str:
    return "\n" if "\n" in gap[0] else " "


def _unannounced(text: str) -> str:
    """Return a text up to the line whose colon announces lines of their own, or several paragraphs."""
    lines = text.split("\n")
    breaks = [number for number, line in enumerate(lines) if not line.strip()]
    last = max((number for number, line in enumerate(lines) if line.strip()), default=0)
    for number, line in enumerate(lines):
        if _MARKED.match(line) or not _COLON.search(f"{line} "):
            continue
        is_parted = any(number < place < last for place in breaks[-1:])
        if (line.rstrip().endswith(":") and number < last) or is_parted:
            return "\n".join(lines[:number])
    return text


def own_words(text: str) -> str:
    """Return the author's own words in a text; "" for none (`own_lines`). Quotations become `QUOTED`."""
    words = (line for line in own_lines(text) if not _BULLET.match(line))
    return _own_paragraphs(_QUOTES.sub(_quoted, "\n".join(words)))


def own_marks(text: str) -> list[str]:
    """Return the lines of a text that may hold marked lines of its author.

    None if more than one short paragraph stands beside the marked lines: then it is a page. Lines of a list count only
    if the text is nothing but a list and marked lines.
    """
    if len(text) > MESSAGE_CHARS or not _is_message(text):
        return []
    lines = [line for line in own_lines(text) if line.strip()]
    every = (line for line in text.split("\n") if line.strip())
    is_list = all(_BULLET.match(line) or _MARKED.match(line) for line in every)
    return [line for line in lines if is_list or not _BULLET.match(line)]


def _is_message(text: str) -> bool:
    """Return whether no more than one short paragraph without a heading stands beside the marked lines of a text."""
    beside = "\n".join("" if _MARKED.match(line) else line for line in text.replace("\r\n", "\n").split("\n"))
    paragraphs = [paragraph.strip() for paragraph in _BREAK.split(beside) if paragraph.strip()]
    return (
        all(len(paragraph) <= REMARK_CHARS and not _HEADING.search(paragraph) for paragraph in paragraphs)
        and len(paragraphs) <= 1
    )


def stands_alone(text: str) -> bool:
    """Return whether a message is short and one sentence, courtesies aside: then all of it is its author's."""
    bare = text.strip()
    if len(bare) > ALONE_CHARS or "\n" in bare:
        return False
    return sum(not _COURTESY.match(sentence.text) for sentence in sentences(bare)) == 1


def says(text: str, words: str) -> bool:
    """Return whether the author of a message says these words, as one sentence or a part of one, and not denied.

    A request for work on a text counts if it is the whole message; quotations, and text behind a colon, do not.
    """
    wanted = _WORD.findall(words.casefold())
    own = [sentence.text for sentence in sentences(own_words(text))]
    if stands_alone(text):
        own.append(_QUOTES.sub(QUOTED, _COLON.split(text.strip(), maxsplit=1)[0]))
    return bool(wanted) and any(
        _has(_WORD.findall(sentence.casefold().replace("\u2019", "'")), wanted) for sentence in own
    )


def _has(words: list[str], wanted: list[str]) -> bool:
    places = (at for at in range(len(words)) if words[at : at + len(wanted)] == wanted)
    return any(_DENIES.isdisjoint(words[:at]) for at in places)


def sentences(words: str) -> Iterator[Sentence]:
    """Yield the sentences of own words, line by line; those that are too long to be about one thing are left out."""
    for line in words.split("\n"):
        begun = ""
        for piece in _ENDS.split(_BULLET.sub("", line, count=1).strip()):
            begun = f"{begun} {piece}".strip() if begun else piece
            if _ABBREVIATED.search(begun):
                continue
            if begun and len(begun) <= SENTENCE_CHARS:
                yield _sentence(begun)
            begun = ""
        if begun and len(begun) <= SENTENCE_CHARS:
            yield _sentence(begun)


def _sentence(text: str) -> Sentence:
    bare = text.rstrip(" .!\u2026:)(*_\u3002\uff01")
    return Sentence(bare.rstrip("? \uff1f").strip("*_ "), bare.endswith(("?", "\uff1f")))


def _untagged(text: str) -> Iterator[str]:
    """Yield the text outside of tags; a tag at the beginning of a line that is never closed reaches to the end."""
    at = 0
    unclosed: set[str] = set()
    for tag in _TAG.finditer(text):
        if tag.start() < at or tag[1] in unclosed:
            continue
        closing = text.find(f"</{tag[1]}", tag.end())
        if closing >= 0:
            yield text[at : tag.start()]
            at = text.find(">", closing) + 1 or len(text)
        elif not text[: tag.start()].rpartition("\n")[2].strip():
            yield text[at : tag.start()]
            return
        else:
            unclosed.add(tag[1])
    yield text[at:]


def _own_lines(text: str) -> Iterator[str]:
    """Yield the lines up to where others speak, without those of quotations, tables, code and logs."""
    for line in text.split("\n"):
        if _MARKED.match(line):
            yield line
            continue
        label = _LABEL.match(line)
        if label and " ".join(label[1].lower().split()) not in _OWN_LABELS and "http" not in label[1].lower():
            return
        if not _FOREIGN_LINE.match(line):
            yield line[label.end() :] if label and label[1].lower() not in _KEPT_LABELS else line


def _own_paragraphs(text: str) -> str:
    paragraphs = [paragraph for paragraph in re.split(r"\n\s*\n", text) if len(paragraph) <= PARAGRAPH_CHARS]
    if len(text) > MESSAGE_CHARS:
        paragraphs = [*paragraphs[:1], *paragraphs[1:][-1:]]
    return "\n".join(paragraphs)


def _quoted(found: re.Match[str]) -> str:
    inside = found[0][1:-1]
    return inside if len(inside.split()) <= _NAME_WORDS else QUOTED
