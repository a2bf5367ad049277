"""Which days a text speaks of, in ten languages: dates, and days that are told from another day.

In each language that a text has a word of dates of, it becomes a *tape*: one letter for each word, which says what that
word is in dates (a month, a number, "ago", ...). Forms of dates are short patterns over that tape, the same for all
languages. So a word of one language makes no date with a word of another.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

# The first dates of a text count.
MOST_DAYS = 16
# And its first words, or characters of Chinese and Japanese: no text that people write has its first dates behind.
MOST_WORDS = 20_000

HALF_A_YEAR_DAYS = 183
# A century at each end of the calendar is left out, for days that are relative to another.
_FIRST_DAY, _LAST_DAY = date(101, 1, 1).toordinal(), date(9899, 12, 31).toordinal()
# A day of a year that has all dates, for where it does not matter which days are meant.
_LEAP_DAY = date(2000, 1, 1).toordinal()
# "The other day" is from three days ago to one.
_OTHER_DAY = -3

Parts = dict[str, int]  # what a form has found, by its names


class Days(NamedTuple):
    """From one day to another, both included, each as days since the year 1."""

    first: int
    last: int


def day_of(time: float) -> int:
    """Return the day, in UTC, of a time in seconds since 1970; times beyond the calendar count as its ends."""
    try:
        ordinal = datetime.fromtimestamp(time, UTC).toordinal()
    except (OverflowError, OSError, ValueError):
        return _LAST_DAY if time > 0 else _FIRST_DAY
    return min(max(ordinal, _FIRST_DAY), _LAST_DAY)


def days(text: str, time: float | None) -> tuple[Days, ...]:
    """Return the days that a text speaks of, in its order; relative ones only if its own time is known.

    3/4/2024 is two days: most write the day first, Americans the month, and a search loses little by a day that was not
    meant, and all by one that is missing.
    """
    read = _read(text, None if time is None else day_of(time))
    return tuple(dict.fromkeys(each for *_, found in read for each in found))[:MOST_DAYS]


def without_days(text: str) -> str:
    """Return a text without the dates and days in it."""
    rest, at = [], 0
    for start, end, _ in _read(text, _LEAP_DAY):
        rest.append(text[at:start])
        at = end
    return " ".join((*rest, text[at:]))


# Words.

# What a row has, in this order: the letters on the tape, and the values, of the items of a field; the last ones are for
# all that follow.
_FIELDS: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("M", tuple(range(1, 13))),  # months; "~", and on the tape "k": also another word, so it needs a day and a year
    ("W", tuple(range(7))),  # weekdays; on the tape "w" if they need no word for "on", "v" if they name their week, too
    ("S", (3, 6, 9, 12)),  # spring, summer, autumn, winter: their first months, in the north
    ("duemyz", (1, 7, 3, 30, 365, 30)),  # day, week, weekend, month, year, what is behind a month's number: their days
    ("C", tuple(range(1, 32))),  # numbers; "a few" is three, "several" four
    ("T", (_OTHER_DAY, -2, -1, 0, 1, 2)),  # the other day, the day before yesterday, yesterday, ...
    ("Q", (-1, 0, 1, -2)),  # last, this, next year, and that before last, if it is one word
    # Last, this, next; last and next that also stand behind; on, or "*": each weekday names its week; on that is also
    # in; that before last, and after next.
    ("ltnpqoOln", (-1, 0, 1, -1, 1, -1, -1, -2, 2)),
    ("GAILai", (-1, -1, 1, 1, -1, 1)),  # ago, before its number and behind; in, likewise; such that need no number
    ("PfxE", (0, 0, 0, 1)),  # in (a month); of, the; what is no date; first
)
# A row is a language. A blank parts items, "|" words of one item, "_" words of a phrase, ";" fields; "0" is none.
# Endings follow a stem: "jan::uary" is "jan" and "january". The last field has endings of ordinal numbers.
_LANGUAGES = """
en; jan::uary feb::ruary ~mar::ch apr::il ~may jun::e jul::y aug::ust sep::t:tember oct::ober nov::ember dec::ember;
monday tuesday wednesday thursday friday saturday sunday; spring summer autumn|fall winter; day::s week::s weekend::s
month::s year::s; one|a|an two|couple|couple_of|a_couple|a_couple_of three|few|a_few four|several five six seven eight
nine ten; the_other_day day_before_yesterday yesterday|last_night today|tonight|this_morning|this_afternoon|this_evening
tomorrow day_after_tomorrow; 0; last|past|previous this next 0 0 on; 0 ago|back|earlier in from_now;
of|since|early|late|mid|during the 0 first; st nd rd th

de; jan::uar|jänner feb::ruar mär::z|mrz apr::il mai jun::i jul::i aug::ust sep::t:tember okt::ober nov::ember
dez::ember; montag dienstag mittwoch donnerstag freitag samstag|sonnabend sonntag; frühling|frühjahr sommer herbst
winter; tag::e:en woche::n wochenende::n monat::e:en jahr::e:en; ein::e:em:er:en zwei drei|paar|ein_paar|einige::n
vier|mehreren fünf sechs sieben acht neun zehn; neulich vorgestern gestern|gestern_morgen|letzte_nacht
heute|heute_morgen morgen übermorgen; 0; letzte::n:r:s:m|vorige::n:r:s|vergangene::n:r:s diese::n:r:s:m
nächste::n:r:s:m|kommende::n:r:s 0 0 am 0 vorletzte::n:r:s übernächste::n:r:s; vor 0 in 0; im|seit|anfang|mitte|ende
der|den|des|dem guten_morgen|am_morgen|jeden_morgen|der_morgen|den_morgen ersten|erste; .

fr; janv::ier févr::ier|fév mars avr::il mai juin juil::let août|aout septembre oct::obre nov::embre déc::embre; lundi
mardi mercredi jeudi vendredi samedi dimanche; printemps été automne hiver; jour::s semaine::s week-end::s|weekend::s
mois an::s|année::s; un::e deux trois|quelques quatre|plusieurs cinq six sept huit neuf dix; l'autre_jour avant-hier
hier aujourd'hui|ce_matin|ce_soir|cet_après-midi demain après-demain; 0; 0 ce::t:tte 0 dernier|dernière|passé::e
prochain::e 0; il_y_a|y_a 0 dans 0; en|depuis|début|fin|mi|au_mois_de|dès le|la|les|du|de|d|l a_été|ont_été|avait_été
premier; er e

es; ene::ro feb::rero ~mar|marzo abr::il ~may|mayo jun::io jul::io ~ago|agosto sep::t:tiembre|setiembre oct::ubre
nov::iembre dic::iembre; lunes martes miércoles jueves viernes sábado domingo; primavera verano otoño invierno; día::s
semana::s fin_de_semana|fines_de_semana mes::es año::s; un::o:a dos|un_par_de tres|unos|unas cuatro|varios|varias cinco
seis siete ocho nueve diez; el_otro_día anteayer|antes_de_ayer|antier ayer|anoche hoy|esta_mañana|esta_tarde|esta_noche
mañana pasado_mañana; 0; 0 est:e:a 0 últim:o:a|pasad:o:a próxim:o:a|que_viene el; hace atrás dentro_de|en 0;
desde|durante|hasta|principios_de|mediados_de|finales_de de|del|la|los|las|del_año por_la_mañana|la_mañana|de_la_mañana
primero; º ro er

it; ~gen|gennaio feb::braio ~mar|marzo apr::ile ~mag|maggio giu::gno lug::lio ~ago|agosto ~set|settembre ott::obre
nov::embre dic::embre; lunedì martedì mercoledì giovedì venerdì sabato domenica; primavera estate autunno inverno;
giorn:o:i settiman:a:e fine_settimana|weekend mes:e:i ann:o:i; un::o:a due|un_paio_di tre|qualche|pochi|poche
quattro|diversi cinque sei sette otto nove dieci; l'altro_giorno l'altro_ieri|ieri_l'altro ieri
oggi|stamattina|stasera|questa_mattina domani dopodomani; 0; 0 quest::o:a 0 scors:o:a|passat:o:a|ultim:o:a prossim:o:a
0; 0 fa fra|tra 0; in|a|ad|da|durante|inizio|fine|metà di|del|dell|dello|della|il|lo|la|l|le|° real_estate primo; º

pt; jan::eiro fev::ereiro ~mar|março abr::il ~mai|maio jun::ho jul::ho ~ago|agosto ~set|setembro ~out|outubro nov::embro
dezembro; segunda-feira terça::-feira quarta-feira quinta-feira sexta::-feira sábado domingo; primavera verão outono
inverno; dia::s semana::s fim_de_semana|fins_de_semana m:ês:eses ano::s; um::a d:ois:uas três|alguns|algumas
quatro|vári:os:as cinco seis sete oito nove dez; outro_dia anteontem|antes_de_ontem ontem
hoje|esta_manhã|esta_tarde|esta_noite amanhã depois_de_amanhã; 0; 0 est:e:a|nest:e:a 0 últim:o:a|passad:o:a
próxim:o:a|que_vem no|na; há|faz atrás em|daqui_a|dentro_de 0; desde|durante|até|início_de|meados_de|fim_de
de|do|da|o|a|os|as|do_ano_de 0 primeiro; º

nl; jan::uari feb::ruari mrt|maart apr::il mei jun::i jul::i aug::ustus sep::t:tember okt::ober nov::ember dec::ember;
maandag dinsdag woensdag donderdag vrijdag zaterdag zondag; lente|voorjaar zomer herfst|najaar winter; dag::en
w:eek:eken weekend::s maand::en ja:ar:ren; een|één twee drie|paar|een_paar|enkele vier|meerdere vijf zes zeven acht
negen tien; onlangs eergisteren gisteren|gisteravond|vannacht vandaag|vanochtend|vanmorgen|vanmiddag|vanavond
morgen|morgenavond overmorgen; 0; vorig::e|afgelopen|laatste deze|dit volgend::e|komend::e|aanstaande 0 0 op; 0
geleden|terug over 0; in|sinds|begin|eind|tijdens de|van|het goede_morgen|de_morgen|elke_morgen eerste; e ste de

ru; янв::арь:аря:аре фев::раль:раля:рале мар::т:та:те апр::ель:еля:еле ма:й:я:е июн::ь:я:е июл::ь:я:е авг::уст:уста:усте
сен::тябрь:тября:тябре окт::ябрь:ября:ябре ноя::брь:бря:бре дек::абрь:абря:абре; понедельник вторник сред:а:у четверг
пятниц:а:у суббот:а:у воскресенье; весн:а:ой:у:ы лет:о:ом:а осен:ь:ью:и зим:а:ой:у:ы; д:ень:ня:ней недел:я:ю:и:ь:е
выходны:е:х месяц::а:ев:е г::од:ода:оду|лет; один|одну дв:а:е|пару тр:и:ёх|несколько четыре пять шесть семь восемь
девять десять; на_днях позавчера вчера сегодня завтра послезавтра; 0; прошл:ый:ая:ое:ую:ой:ом:ым:ые
эт:от:а:о:у:ой:ом:им:и следующ:ий:ая:ее:ую:ей:ем:им:ие|будущ:ий:ем:ую:ей 0 0 0 в|во; 0 0 0 0 назад через;
с|до|начале|конце|середине го 0 первого; го е

zh; 0; 周一|星期一|礼拜一|週一 周二|星期二|礼拜二|週二 周三|星期三|礼拜三|週三 周四|星期四|礼拜四|週四
周五|星期五|礼拜五|週五 周六|星期六|礼拜六|週六 周日|周天|星期日|星期天|礼拜天|週日; 春::天:季 夏::天:季 秋::天:季
冬::天:季; 天|日|号|號 周|週|星期|礼拜 周末|週末 个月|個月 年 月; HAN; 前几天|前幾天|前些天 前天 昨:天:日:晚
今:天:日:早:晚 明:天:日:早:晚 后天|後天; 去年 今年 明年 前年; 上::个:個 这::个|這::個|本 下::个:個 0 0 * 0 上上::个:個
下下::个:個; 0 前|以前|之前 0 后|後|以后|之后|以後|之後; 0 的|个|個|间 以上|以下|大前天|晚上|早上|月球|月亮|周围|
回来|出来|过来|起来|未来|以来|后来; 0

ja; 0; 月曜::日 火曜::日 水曜::日 木曜::日 金曜::日 土曜::日 日曜::日; 春 夏 秋 冬; 日::間 週::間 週末
か月|ヶ月|カ月|ヵ月|ケ月|箇月 年::間 月; HAN; 先日|この前|この間 一昨日|おととい 昨日|きのう|昨夜|昨晩
今日|きょう|今朝|今晩|今夜 明日|あした 明後日|あさって; 去年|昨年 今年 来年 一昨年; 先 今|この 来|次の|今度の 0 0 0 0
先々 再来; 0 前 0 後; 0 の べんきょう|きょうだい|とうきょう; 0
"""
# Chinese and Japanese numbers, to 31.
_HAN = [tens + one for tens in ("", "十", "二十", "三十") for one in ("", *"一二三四五六七八九")][1:32]
_HAN[1], _HAN[2] = "二|两|兩", "三|几|幾|数"

# Words, signs, and one by one the characters of writings that part no words. An hour may follow a day: "14T10:00".
_EASTERN = "\u3040-\u9fff"
_TOKEN = re.compile(rf"[{_EASTERN}]|\d\d(?=t\d\d)|[^\W{_EASTERN}]++|[^\w\s]")
# Letters that match others without regard to case, but not after `lower`; an apostrophe; wide digits.
_ODD = tuple(zip("\u0130\u0131\u017f\u2019" + "".join(map(chr, range(0xFF10, 0xFF1A))), "Iis'0123456789", strict=True))
# It parts words of ASCII faster than a pattern does.
_BLANK_SIGNS = "".join(char if char.isalnum() else " " for char in map(chr, range(128)))
# What is the same in all languages: signs (of a date in numbers, how many readings count), numbers, and years.
_COMMON = dict(zip(",.-/'", ((",", 0), (";", 1), ("-", 2), ("/", 2), ("f", 0)), strict=True))
_COMMON |= {f"{number:0{digits}}": ("DN"[number > 31], number) for number in range(1, 100) for digits in (1, 2)}
_YEARS = {str(year): ("Y", year) for year in range(1900, 2100)}
# Signs that say little of whether a text has a date; and those of Japanese, which make a text no Chinese.
_OFTEN = frozenset("个個上下前今この" + _HAN[9].join(_HAN[:9]))
_KANA = frozenset(map(chr, range(0x3041, 0x3100)))
_ENGLISH, _CHINESE = 0, 8
# The languages that may have a date with a word, by their numbers: of a phrase, with its rarest.
_ANCHORS: dict[str, set[int]] = {year: {_ENGLISH} for year in _YEARS}
_BESIDE_YEARS: dict[str, set[int]] = {}

# For each word or phrase its letter and value; for the first word of phrases, how many words the longest has.
_Language = tuple[dict[str, tuple[str, int]], dict[str, int]]


def _spelled(item: str) -> Iterator[list[str]]:
    """Yield the words of each way to spell an item."""
    for word in item.split("|"):
        stem, *endings = word.replace("_", " ").split(":")
        for ending in endings or ("",):
            yield _TOKEN.findall(stem + ending)


def _language(number: int, row: str) -> _Language:
    """Return a language, and add what it has dates with to `_ANCHORS`."""
    _code, *fields, ordinals = (field.split() for field in row.split(";"))
    meanings, longest = _COMMON | _YEARS, dict[str, int]()
    meanings |= {f"{day}{ending}": ("E", day) for ending in ordinals if ending != "0" for day in range(1, 32)}
    meanings |= {".": (".", 1)} if "." in ordinals else {}
    for (kinds, values), items in zip(_FIELDS, fields, strict=True):
        for at, item in enumerate(items):
            kind, value = kinds[min(at, len(kinds) - 1)], values[min(at, len(values) - 1)]
            if kind == "W":
                kind = {"0": "w", "*": "v"}.get(fields[7][5], kind)
            for mark, *others in _spelled(item) if item != "0" else ():
                is_weak, words = mark == "~", others if mark == "~" else [mark, *others]
                meanings[" ".join(words)] = ("k" if is_weak else kind, value)
                if others and not is_weak:
                    longest[mark] = max(len(words), longest.get(mark, 0))
                if kind in "MWwvSduemyzTQ":
                    rarest = max(words, key=lambda word: (len(word), word not in _OFTEN))
                    anchors = _BESIDE_YEARS if is_weak and number != _ENGLISH else _ANCHORS
                    anchors.setdefault(rarest, set()).add(number)
    return meanings, longest


_ROWS = [
    _language(*row) for row in enumerate(_LANGUAGES.replace("|\n", "|").replace("HAN", " ".join(_HAN)).split("\n\n"))
]


# Forms, in the order in which they are tried, each behind letters of which it has one. Signs stand for themselves, but
# "'" is an "f", and a point is ";" unless it makes ordinal numbers, as in German.

_BESIDE = "(?:[Wwv][,f]{0,2})?"  # a weekday beside a date
_WHAT = "(?:(?P<weekday>[Ww])|(?P<season>S)|(?P<unit>[uemzy]))"
_FORMS = tuple(
    (needed, re.compile(form))
    for needed, form in (
        ("x", r"x"),
        ("Y", rf"(?<![DNY][-.;/]){_BESIDE}(?P<year>Y)(?P<sign>[-.;/])(?P<month>D)(?P=sign)(?P<day>D)"),
        ("Y", rf"(?<![DNY][-.;/]){_BESIDE}(?P<first>D)(?P<sign>[-.;/])(?P<second>D)(?P=sign)(?P<year>Y)"),
        ("Mk", rf"{_BESIDE}(?P<day>[DE])[-./fP]{{0,3}}(?P<month>[Mk])(?:[-./;,fP]{{0,3}}(?P<year>Y)y?)?"),
        ("Mk", rf"{_BESIDE}(?P<english>(?P<month>[Mk]));?f?(?P<day>[DE])(?:,?(?P<year>Y))?"),
        ("z", r"(?:(?P<year>Y)y|(?P<which>Q)f?)?(?P<month>[CD])z(?:(?P<day>[CD])d[wv]?)?"),
        ("Mk", r"(?P<month>[Mk])[-./;,fP]{0,3}(?P<year>Y)y?"),
        ("S", r"(?P<season>S)[fP]{0,2}(?P<year>Y)y?"),
        ("S", r"(?P<year>Y)yf?(?P<season>S)"),
        ("Mk", r"[PIOltnpq][-f]{0,2}(?P<month>[Mk])"),
        ("pq", r"(?P<month>[Mk])[pq]"),
        ("Y", r"(?P<year>Y)y?"),
        ("T", r"(?P<offset>T)"),
        ("Wwv", r"(?P<which>[ltn])(?:uf?(?=[Ww])|(?=v))(?P<own>[Wwv])"),
        ("ltnpq", rf"(?P<which>[ltnpq])f{{0,2}}{_WHAT}"),
        ("pq", rf"{_WHAT}(?P<which>[pq])"),
        ("Q", r"(?P<which>Q)(?:f?(?P<season>S))?"),
        ("Wwv", r"(?:(?P<which>[oO])(?=W)|(?=[wv]))(?P<weekday>[Wwv])"),
        ("AaL", r"(?:(?P<count>[CDN])f{0,2}|(?=[dumy]a))(?P<unit>[dumy])f?(?P<way>[AaL])"),
        ("GIi", r"(?P<way>[GIi])(?:f{0,2}(?P<count>[CDN])f?|(?<=i))(?P<unit>[dumy])"),
    )
)


# No date has such within.
_LOOSE = re.compile(r"\s[-/]|[-/]\s")


def _spoken(words: Collection[str]) -> set[int]:
    """Return the languages that these words may make a date in: most texts have no such word, and are done."""
    if _ANCHORS.keys().isdisjoint(words):
        return set()
    anchors = (_ANCHORS,) if _YEARS.keys().isdisjoint(words) else (_ANCHORS, _BESIDE_YEARS)
    found = set().union(*(each[word] for each in anchors for word in words if word in each))
    return found if _KANA.isdisjoint(words) else found - {_CHINESE}


def _read(text: str, base: int | None) -> list[tuple[int, int, list[Days]]]:
    """Return where a text speaks of which days, (start, end, days): by the first forms, of each the longest first."""
    plain = text
    for odd, char in () if text.isascii() else _ODD:
        plain = plain.replace(odd, char)
    lower = plain.lower()
    languages = _spoken(lower.translate(_BLANK_SIGNS).split() if lower.isascii() else _TOKEN.findall(lower))
    if not languages:
        return []
    tokens, taken, read = list(islice(_TOKEN.finditer(lower), MOST_WORDS)), bytearray(len(text)), []
    matches = (each for language in languages for each in _matches(text, tokens, language))
    for _, _, start, end, parts in sorted(matches, key=itemgetter(0, 1, 2)):
        if 1 not in taken[start:end] and ((found := list(_days_of(parts, base))) or not parts):
            taken[start:end] = b"\1" * (end - start)
            read += [(start, end, found)] if found else []
    return sorted(read)


def _matches(text: str, tokens: list[re.Match[str]], language: int) -> Iterator[tuple[int, int, int, int, Parts]]:
    """Yield (number of the form, less for longer ones, start, end, parts) of what may be a date in a language."""
    tape, values, places = _tape(_ROWS[language], [token[0] for token in tokens])
    has = set(tape)
    for rank, (needed, form) in enumerate(_FORMS):
        for match in () if has.isdisjoint(needed) else form.finditer(tape):
            parts = {name: values[match.start(name)] for name, kind in match.groupdict().items() if kind}
            start, end = tokens[places[match.start()]].start(), tokens[places[match.end()] - 1].end()
            is_told = (language == _ENGLISH or "english" not in parts) and not _LOOSE.search(text, start, end)
            if "month" in parts and not parts.keys() >= {"day", "year"} and tape[match.start("month")] == "k":
                is_told &= language == _ENGLISH and text[tokens[places[match.start("month")]].start()].isupper()
            if is_told:
                yield rank, start - end, start, end, parts


def _tape(language: _Language, words: list[str]) -> tuple[str, list[int], list[int]]:
    """Return the letters of a text's words and phrases, their values, and which word each begins with."""
    meanings, longest = language
    tape, values, places, place = list[str](), list[int](), [0], 0
    while place < len(words):
        word, size = words[place], 1
        kind, value = meanings.get(word, (" ", 0))
        if word in longest:
            for more in range(min(longest[word], len(words) - place), 1, -1):
                if phrase := meanings.get(" ".join(words[place : place + more])):
                    (kind, value), size = phrase, more
                    break
        place += size
        tape.append(kind)
        values.append(value)
        places.append(place)
    return "".join(tape), values, places


def _days_of(parts: Parts, base: int | None) -> Iterator[Days]:
    """Yield the days of a form's parts: both of a date in numbers that can be read in two ways."""
    if first := parts.get("first"):
        second = parts["second"]
        readings = [(day, month) for day, month in ((first, second), (second, first)) if month <= 12]
        for day, month in readings[: parts["sign"]]:
            yield from _dated(day, month, parts, base)
    elif not parts.keys().isdisjoint(("month", "year")):
        yield from _dated(parts.get("day", 0), parts.get("month", 0), parts, base)
    elif base is not None and parts:
        yield _told(parts, date.fromordinal(base))


def _dated(day: int, month: int, parts: Parts, base: int | None) -> Iterator[Days]:
    """Yield the days of a date; without a year it is past, or less than half a year ahead."""
    year = parts.get("year", 0)
    if month > 12 or not (year or base):
        return
    if base and not year:
        year = date.fromordinal(base).year
        year += parts.get("which", -(date(year, month, 1).toordinal() > base + HALF_A_YEAR_DAYS))
    if not month:
        yield _months(year, parts.get("season", 1), 3 if "season" in parts else 12)
        return
    first, last = _months(year, month, 1)
    if first + day - 1 <= last:
        yield Days(first + day - 1, first + day - 1) if day else Days(first, last)


def _months(year: int, month: int, count: int) -> Days:
    first = date(year, month, 1).toordinal()
    end = year * 12 + month - 1 + count
    return Days(first, date(end // 12, end % 12 + 1, 1).toordinal() - 1)


def _told(parts: Parts, base: date) -> Days:
    """Return the days of an expression relative to a day."""
    today, steps, unit_days = base.toordinal(), parts.get("which", -1), parts.get("unit", 365)
    first = last = monday = today - base.weekday() + 7 * steps
    if "offset" in parts:
        first = today + parts["offset"]
        last = first + 2 if parts["offset"] == _OTHER_DAY else first
    elif "way" in parts:
        middle = today + parts["way"] * parts.get("count", 1) * unit_days
        first, last = middle - unit_days // 4, middle + unit_days // 4
    elif "own" in parts:
        first = last = monday + parts["own"]
    elif "weekday" in parts:
        back = (base.weekday() - parts["weekday"]) % 7
        first = last = today + (-back % 7 if steps >= 0 else -(back or 7))
    elif season := parts.get("season"):
        return _months(base.year + steps - (not steps and base.month < season), season, 3)
    elif unit_days > 30:
        return _months(base.year + steps, 1, 12)
    elif unit_days > 7:
        at = base.year * 12 + base.month - 1 + steps
        return _months(at // 12, at % 12 + 1, 1)
    else:
        first, last = monday + 7 - unit_days, monday + 6
    return Days(first, last)
