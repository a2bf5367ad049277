"""The days that a text speaks of, in each of ten languages; what is written is read back."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from squidbot.core.memory import days as days_module
from squidbot.core.memory.days import MOST_DAYS, MOST_WORDS, Days, day_of, days, without_days

from .talk import at

# A Tuesday.
SAID = at("2031-05-20")
TODAY = date(2031, 5, 20)

# For each language: a text, and the days it speaks of; "2030-12-01/28" is from the first to the 28th.
CASES = {
    "en": """
    23 January 2024 | 2024-01-23
    January 23rd, 2024 | 2024-01-23
    on the 1st of May 2024 | 2024-05-01
    3-May-2024 | 2024-05-03
    Friday, May 16th, 2031 | 2031-05-16
    dated 2024-01-23T10:15:00Z | 2024-01-23
    23/01/2024 | 2024-01-23
    04/13/2030 | 2030-04-13
    in january | 2031-01-01/2031-01-31
    Sept. 2029 | 2029-09-01/2029-09-30
    5 may 2024 | 2024-05-05
    fall 2029 | 2029-09-01/2029-11-30
    the day before yesterday | 2031-05-18
    the day after tomorrow | 2031-05-22
    last night | 2031-05-19
    in 3 days | 2031-05-23
    in two weeks | 2031-06-02/2031-06-04
    3 days ago | 2031-05-17
    last weekend | 2031-05-16/2031-05-18
    on Friday | 2031-05-16
    Today’s lunch | 2031-05-20
    """,
    "de": """
    am 23. Januar 2024 | 2024-01-23
    am 23.01.2024 um 8 | 2024-01-23
    Freitag, 23.01.2024 | 2024-01-23
    der 3. März | 2031-03-03
    im Mai 2030 | 2030-05-01/2030-05-31
    im Dezember | 2030-12-01/2030-12-31
    Sommer 2029 | 2029-06-01/2029-08-31
    Anfang Mai | 2031-05-01/2031-05-31
    der Erste Mai | 2031-05-01
    vorgestern | 2031-05-18
    gestern Abend | 2031-05-19
    heute Morgen | 2031-05-20
    übermorgen | 2031-05-22
    vor drei Tagen | 2031-05-17
    vor einer Woche | 2031-05-12/2031-05-14
    vor 2 Monaten | 2031-03-14/2031-03-28
    in zwei Tagen | 2031-05-22
    letzte Woche | 2031-05-12/2031-05-18
    nächsten Montag | 2031-05-26
    am Freitag | 2031-05-16
    letztes Jahr | 2030-01-01/2030-12-31
    vorletzte Woche | 2031-05-05/2031-05-11
    letzten Sommer | 2030-06-01/2030-08-31
    dieses Wochenende | 2031-05-23/2031-05-25
    """,
    "fr": """
    le 1er mai | 2031-05-01
    le 23 janvier 2024 | 2024-01-23
    le 14 février | 2031-02-14
    le 3 déc. 2029 | 2029-12-03
    23/01/2024 | 2024-01-23
    en août 2030 | 2030-08-01/2030-08-31
    au mois d'août 2030 | 2030-08-01/2030-08-31
    en mars | 2031-03-01/2031-03-31
    l'été 2029 | 2029-06-01/2029-08-31
    l’été dernier | 2030-06-01/2030-08-31
    avant-hier | 2031-05-18
    hier soir | 2031-05-19
    aujourd’hui | 2031-05-20
    après-demain | 2031-05-22
    il y a 3 jours | 2031-05-17
    il y a sept jours | 2031-05-13
    dans deux semaines | 2031-06-02/2031-06-04
    la semaine dernière | 2031-05-12/2031-05-18
    le mois prochain | 2031-06-01/2031-06-30
    cette année | 2031-01-01/2031-12-31
    l'année dernière | 2030-01-01/2030-12-31
    vendredi dernier | 2031-05-16
    lundi prochain | 2031-05-26
    ce week-end | 2031-05-23/2031-05-25
    """,
    "es": """
    23 de enero de 2024 | 2024-01-23
    el 5 de mayo | 2031-05-05
    5 mayo 2024 | 2024-05-05
    el 1º de octubre de 2029 | 2029-10-01
    el primero de mayo | 2031-05-01
    23/01/2024 | 2024-01-23
    en mayo de 2030 | 2030-05-01/2030-05-31
    en septiembre | 2031-09-01/2031-09-30
    verano de 2029 | 2029-06-01/2029-08-31
    el verano pasado | 2030-06-01/2030-08-31
    anteayer | 2031-05-18
    ayer por la tarde | 2031-05-19
    hoy | 2031-05-20
    mañana por la mañana | 2031-05-21
    pasado mañana | 2031-05-22
    hace dos semanas | 2031-05-05/2031-05-07
    hace un mes | 2031-04-13/2031-04-27
    dentro de 3 días | 2031-05-23
    la semana pasada | 2031-05-12/2031-05-18
    la semana que viene | 2031-05-26/2031-06-01
    el próximo mes | 2031-06-01/2031-06-30
    este fin de semana | 2031-05-23/2031-05-25
    el viernes | 2031-05-16
    el lunes que viene | 2031-05-26
    """,
    "it": """
    23 gennaio 2024 | 2024-01-23
    il 5 maggio | 2031-05-05
    il 1° aprile 2030 | 2030-04-01
    il primo maggio | 2031-05-01
    12 set 2029 | 2029-09-12
    23/01/2024 | 2024-01-23
    nel maggio del 2030 | 2030-05-01/2030-05-31
    a dicembre | 2030-12-01/2030-12-31
    estate 2029 | 2029-06-01/2029-08-31
    l'estate scorsa | 2030-06-01/2030-08-31
    l'altro ieri | 2031-05-18
    ieri sera | 2031-05-19
    oggi | 2031-05-20
    dopodomani | 2031-05-22
    tre giorni fa | 2031-05-17
    qualche giorno fa | 2031-05-17
    tra due settimane | 2031-06-02/2031-06-04
    la settimana scorsa | 2031-05-12/2031-05-18
    il mese prossimo | 2031-06-01/2031-06-30
    quest'anno | 2031-01-01/2031-12-31
    lo scorso fine settimana | 2031-05-16/2031-05-18
    venerdì scorso | 2031-05-16
    lunedì prossimo | 2031-05-26
    """,
    "pt": """
    23 de janeiro de 2024 | 2024-01-23
    em 5 de maio | 2031-05-05
    1º de maio de 2029 | 2029-05-01
    7 de out. de 2029 | 2029-10-07
    23/01/2024 | 2024-01-23
    março de 2030 | 2030-03-01/2030-03-31
    em dezembro | 2030-12-01/2030-12-31
    verão de 2029 | 2029-06-01/2029-08-31
    no verão passado | 2030-06-01/2030-08-31
    anteontem | 2031-05-18
    ontem | 2031-05-19
    hoje | 2031-05-20
    amanhã de manhã | 2031-05-21
    depois de amanhã | 2031-05-22
    há três dias | 2031-05-17
    duas semanas atrás | 2031-05-05/2031-05-07
    daqui a 3 dias | 2031-05-23
    na semana passada | 2031-05-12/2031-05-18
    no próximo mês | 2031-06-01/2031-06-30
    este ano | 2031-01-01/2031-12-31
    no fim de semana passado | 2031-05-16/2031-05-18
    na sexta-feira | 2031-05-16
    na próxima segunda-feira | 2031-05-26
    """,
    "nl": """
    23 januari 2024 | 2024-01-23
    op 5 mei | 2031-05-05
    1 maart 2030 | 2030-03-01
    de 3e december 2029 | 2029-12-03
    23-01-2024 | 2024-01-23
    mei 2030 | 2030-05-01/2030-05-31
    in december | 2030-12-01/2030-12-31
    zomer 2029 | 2029-06-01/2029-08-31
    in de herfst van 2029 | 2029-09-01/2029-11-30
    afgelopen zomer | 2030-06-01/2030-08-31
    eergisteren | 2031-05-18
    gisteren | 2031-05-19
    vandaag | 2031-05-20
    overmorgen | 2031-05-22
    drie dagen geleden | 2031-05-17
    een paar dagen geleden | 2031-05-17
    over twee weken | 2031-06-02/2031-06-04
    vorige week | 2031-05-12/2031-05-18
    volgende maand | 2031-06-01/2031-06-30
    dit jaar | 2031-01-01/2031-12-31
    dit weekend | 2031-05-23/2031-05-25
    afgelopen vrijdag | 2031-05-16
    op maandag | 2031-05-19
    """,
    "ru": """
    5 мая 2024 года | 2024-05-05
    23.01.2024 г. | 2024-01-23
    23 января | 2031-01-23
    5-го мая | 2031-05-05
    в мае 2030 года | 2030-05-01/2030-05-31
    в декабре | 2030-12-01/2030-12-31
    летом 2029 года | 2029-06-01/2029-08-31
    прошлым летом | 2030-06-01/2030-08-31
    в 2019 году | 2019-01-01/2019-12-31
    позавчера | 2031-05-18
    вчера | 2031-05-19
    сегодня | 2031-05-20
    послезавтра | 2031-05-22
    три дня назад | 2031-05-17
    неделю назад | 2031-05-12/2031-05-14
    пять лет назад | 2026-02-19/2026-08-20
    через два дня | 2031-05-22
    через неделю | 2031-05-26/2031-05-28
    на прошлой неделе | 2031-05-12/2031-05-18
    в следующем месяце | 2031-06-01/2031-06-30
    в этом году | 2031-01-01/2031-12-31
    в пятницу | 2031-05-16
    в следующий понедельник | 2031-05-26
    """,
    "zh": """
    我2024年5月2日去了北京 | 2024-05-02
    5月2号 | 2031-05-02
    五月二十三日 | 2031-05-23
    2024年5月 | 2024-05-01/2024-05-31
    ２０２４年 | 2024-01-01/2024-12-31
    2024-05-02 | 2024-05-02
    2029年夏天 | 2029-06-01/2029-08-31
    去年冬天 | 2030-12-01/2031-02-28
    前天 | 2031-05-18
    我昨天很忙 | 2031-05-19
    今天 | 2031-05-20
    后天 | 2031-05-22
    三天前 | 2031-05-17
    10天前 | 2031-05-10
    2024年10月20日 | 2024-10-20
    两周前 | 2031-05-05/2031-05-07
    3个月前 | 2031-02-12/2031-02-26
    两个星期前 | 2031-05-05/2031-05-07
    3天后 | 2031-05-23
    上周 | 2031-05-12/2031-05-18
    上个月 | 2031-04-01/2031-04-30
    下个星期 | 2031-05-26/2031-06-01
    去年 | 2030-01-01/2030-12-31
    上周三 | 2031-05-14
    去年5月2日 | 2030-05-02
    今年三月 | 2031-03-01/2031-03-31
    下星期五 | 2031-05-30
    这周末 | 2031-05-23/2031-05-25
    星期五见了面 | 2031-05-16
    """,
    "ja": """
    2024年5月2日 | 2024-05-02
    5月2日に会いました | 2031-05-02
    十二月二十四日 | 2030-12-24
    2024年5月 | 2024-05-01/2024-05-31
    2024/05/02 | 2024-05-02
    2029年の夏 | 2029-06-01/2029-08-31
    去年の夏 | 2030-06-01/2030-08-31
    一昨日 | 2031-05-18
    おととい | 2031-05-18
    昨日は雨でした | 2031-05-19
    今日 | 2031-05-20
    明後日 | 2031-05-22
    3日前 | 2031-05-17
    10日前 | 2031-05-10
    2024年10月30日 | 2024-10-30
    二週間前 | 2031-05-05/2031-05-07
    3か月前 | 2031-02-12/2031-02-26
    3日後 | 2031-05-23
    先週 | 2031-05-12/2031-05-18
    来月 | 2031-06-01/2031-06-30
    今年 | 2031-01-01/2031-12-31
    昨年 | 2030-01-01/2030-12-31
    先週の金曜日 | 2031-05-16
    去年の5月 | 2030-05-01/2030-05-31
    一昨年 | 2029-01-01/2029-12-31
    再来週 | 2031-06-02/2031-06-08
    次の月曜日 | 2031-05-26
    金曜日に見た | 2031-05-16
    今週末 | 2031-05-23/2031-05-25
    """,
}
ROWS = [
    (language, *(part.strip() for part in row.split(" | ")))
    for language, rows in CASES.items()
    for row in rows.strip().splitlines()
]


def dates(text: str, told: float | None = SAID) -> list[str]:
    """Return the days that a text speaks of, as in `CASES`."""
    ends = [[date.fromordinal(end).isoformat() for end in each] for each in days(text, told)]
    return [first if first == last else f"{first}/{last}" for first, last in ends]


@pytest.mark.parametrize(("language", "text", "expected"), ROWS)
def test_days_are_read_in_each_language(language: str, text: str, expected: str) -> None:
    """And nothing else in the same text."""
    assert dates(text) == [expected], language


def test_languages_have_many_cases_each() -> None:
    """Of dates, and of days that are told from another."""
    counts = {language: len(rows.strip().splitlines()) for language, rows in CASES.items()}
    assert len(counts) == 10
    assert min(counts.values()) >= 15, counts


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("on 4/5/2024", ["2024-05-04", "2024-04-05"]),
        ("12-05-2024", ["2024-05-12", "2024-12-05"]),
        ("5/5/2024", ["2024-05-05"]),
        ("13/5/2024", ["2024-05-13"]),
        ("5/13/2024", ["2024-05-13"]),
        ("04.05.2024", ["2024-05-04"]),
        ("31/02/2024", ["2024-01-01/2024-12-31"]),
        ("13/14/2024", ["2024-01-01/2024-12-31"]),
        ("10.0.4.2024", ["2024-01-01/2024-12-31"]),
    ],
)
def test_date_in_numbers_that_may_be_two_is_both(written: str, read: list[str]) -> None:
    """Slashes and dashes are written by those who put the month first, too; points are not."""
    assert sorted(dates(written)) == sorted(read)


def test_ends_of_a_span_are_a_date_each() -> None:
    """A dash between blanks parts dates, and is in none."""
    assert dates("May 1 - May 15, 2030") == ["2031-05-01", "2030-05-15"]
    assert dates("1. Mai 2030 - 3. Juni 2030") == ["2030-05-01", "2030-06-03"]


@pytest.mark.parametrize(
    "text",
    [
        "may 5 people come", "march 5 miles", "we set 3 set menus", "3 out of 5", "Top 3 Out of Africa", "in mayo",
        "mei", "mayo", "3 mar", "ago 5", "the fall of Rome", "sept personnes", "sechs Tage lang",
        "Guten Morgen", "am Morgen",
        "j'ai été malade", "elle a été la dernière", "se mai 5 persone", "non ci vado mai", "por la mañana",
        "na segunda parte", "the day this happened", "the week this happened", "days earlier", "it took 3 days",
        "a week", "every Friday", "3 gen Intel", "es mag 5 sein", "1/2 cup", "version 1.2.3, 10.0.0.1",
        "5 лет", "весной",
        "登上月球", "三年级", "每天", "3日間", "来日", "きょうだい", "日本", "tous les lundis", "hace mucho",
        "x2024", "2024x", "12024", "may_2024", "3 vor 5", "in the first week of it", "the 2nd day ago",
        "5 - May", "due set", "auf dem Set", "l'été", "dez anos", "on and on",
    ],
)  # fmt: skip
def test_words_that_are_dates_elsewhere_are_none(text: str) -> None:
    """In another language, or beside other words."""
    assert dates(text) == []


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("Wer kam am 23. Januar 2024 oder letzte Woche?", "Wer kam am oder ?"),
        ("Que s'est-il passé lundi 5 mai ?", "Que s'est-il passé ?"),
        ("¿Quién vino hace dos semanas?", "¿Quién vino ?"),
        ("Chi è venuto tre giorni fa?", "Chi è venuto ?"),
        ("Quem veio na sexta-feira?", "Quem veio ?"),
        ("Wie kwam er op 5 mei 2030 langs?", "Wie kwam er op langs?"),
        ("Кто пришёл 5 мая 2024 года?", "Кто пришёл ?"),
        ("谁2024年5月2日来了？", "谁 来了？"),
        ("先週だれが来ましたか？", "だれが来ましたか？"),
        ("On Friday, 5 May 2034?", "On ?"),
        ("29 February", ""),
    ],
)
def test_question_without_its_days_keeps_the_rest_in_each_language(text: str, rest: str) -> None:
    """With the words that only a date has, such as those for "ago" and "year"."""
    assert " ".join(without_days(text).split()) == rest


# How each language writes a date, a month, a day that many days ago or ahead, and the last weekday of a name.
MONTHS = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december",
    "ru": "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
    "zh": "1 2 3 4 5 6 7 8 9 10 11 12",
    "ja": "1 2 3 4 5 6 7 8 9 10 11 12",
}
WRITTEN = {
    "en": ("{day} {month} {year}", "{month} {day}, {year}", "the {day} of {month} {year}", "{day}-{month}-{year}"),
    "de": ("{day}. {month} {year}", "{day}.{number}.{year}", "{day:02}.{number:02}.{year}"),
    "fr": ("le {day} {month} {year}", "{day}/{number}/{year}"),
    "es": ("{day} de {month} de {year}", "el {day} de {month} del año {year}", "{day:02}/{number:02}/{year}"),
    "it": ("il {day} {month} {year}", "{day} {month} del {year}", "{day}/{number}/{year}"),
    "pt": ("{day} de {month} de {year}", "{day}º de {month} de {year}", "{day:02}/{number:02}/{year}"),
    "nl": ("{day} {month} {year}", "{day}e {month} {year}", "{day}-{number}-{year}"),
    "ru": ("{day} {month} {year} года", "{day} {month} {year} г.", "{day:02}.{number:02}.{year}"),
    "zh": ("{year}年{number}月{day}日", "{year}年{number}月{day}号", "{year}/{number}/{day}"),
    "ja": ("{year}年{number}月{day}日", "{year}年{number:02}月{day:02}日", "{year}.{number:02}.{day:02}"),
}
AGO = {
    "en": ("{} days ago", "in {} days"), "de": ("vor {} Tagen", "in {} Tagen"), "fr": ("il y a {} jours",
    "dans {} jours"),
    "es": ("hace {} días", "dentro de {} días"), "it": ("{} giorni fa", "fra {} giorni"),
    "pt": ("há {} dias", "daqui a {} dias"), "nl": ("{} dagen geleden", "over {} dagen"),
    "ru": ("{} дней назад", "через {} дней"), "zh": ("{}天前", "{}天后"), "ja": ("{}日前", "{}日後"),
}  # fmt: skip
LANGUAGES = st.sampled_from(sorted(CASES))
# Around what is read: nothing of it is part of a date.
AROUND = st.sampled_from(["", "(", "—", "「", "\n", ": "])


@given(LANGUAGES, st.dates(date(1900, 1, 1), date(2099, 12, 31)), st.data(), AROUND, AROUND)
def test_date_is_read_back_as_it_was_written(
    language: str, day: date, data: st.DataObject, before: str, after: str
) -> None:
    """In each form of each language; one in numbers may be another day, too."""
    form = data.draw(st.sampled_from((*WRITTEN[language], "{year}-{number:02}-{day:02}")))
    month = MONTHS[language].split()[day.month - 1]
    written = form.format(day=day.day, month=month, number=day.month, year=day.year)
    found = dates(f"{before}{written}{after}", None)
    assert day.isoformat() in found, written
    assert len(found) == 1 or ("/" in form or "-" in form), written
    assert not any(char.isdigit() for char in without_days(written)), written


@given(LANGUAGES, st.dates(date(1990, 1, 1), date(2080, 12, 31)), st.integers(1, 99), st.booleans())
def test_days_ago_and_ahead_are_counted_from_any_day(language: str, said: date, many: int, ahead: bool) -> None:  # noqa: FBT001
    """In each language."""
    told = datetime(said.year, said.month, said.day, 12, tzinfo=UTC).timestamp()
    written = AGO[language][ahead].format(many)
    expected = said + timedelta(many if ahead else -many)
    assert dates(written, told) == [expected.isoformat()], written
    assert dates(written, None) == []
    assert without_days(written).strip() == "", written


# The same days in each language, in the same order.
SAME = {
    "en": "yesterday; tomorrow; the day before yesterday; the day after tomorrow; last week; next week; "
    "last month; this year; last year; last summer; last weekend; three weeks ago; in two months; "
    "2 years ago; last Friday",
    "de": "gestern; morgen; vorgestern; übermorgen; letzte Woche; nächste Woche; letzten Monat; dieses Jahr; "
    "voriges Jahr; letzten Sommer; letztes Wochenende; vor drei Wochen; in zwei Monaten; vor 2 Jahren; "
    "letzten Freitag",
    "fr": "hier; demain; avant-hier; après-demain; la semaine dernière; la semaine prochaine; le mois dernier; "
    "cette année; l'an dernier; l'été dernier; le week-end dernier; il y a trois semaines; dans deux mois; "
    "il y a 2 ans; vendredi dernier",
    "es": "ayer; mañana; anteayer; pasado mañana; la semana pasada; la próxima semana; el mes pasado; este año; "
    "el año pasado; el verano pasado; el fin de semana pasado; hace tres semanas; dentro de dos meses; "
    "hace 2 años; el viernes pasado",
    "it": "ieri; domani; l'altro ieri; dopodomani; la scorsa settimana; la settimana prossima; il mese scorso; "
    "quest'anno; l'anno scorso; l'estate scorsa; lo scorso weekend; tre settimane fa; tra due mesi; "
    "2 anni fa; venerdì scorso",
    "pt": "ontem; amanhã; anteontem; depois de amanhã; a semana passada; a semana que vem; o mês passado; "
    "este ano; o ano passado; o verão passado; o fim de semana passado; há três semanas; "
    "daqui a dois meses; há 2 anos; sexta passada",
    "nl": "gisteren; morgen; eergisteren; overmorgen; vorige week; volgende week; vorige maand; dit jaar; "
    "vorig jaar; vorige zomer; afgelopen weekend; drie weken geleden; over twee maanden; 2 jaar geleden; "
    "afgelopen vrijdag",
    "ru": "вчера; завтра; позавчера; послезавтра; на прошлой неделе; на следующей неделе; в прошлом месяце; "
    "в этом году; в прошлом году; прошлым летом; в прошлые выходные; три недели назад; через два месяца; "
    "2 года назад; в прошлую пятницу",
    "zh": "昨天; 明天; 前天; 后天; 上周; 下周; 上个月; 今年; 去年; 去年夏天; 上周末; 三周前; 两个月后; 2年前",
    "ja": "昨日; 明日; 一昨日; 明後日; 先週; 来週; 先月; 今年; 昨年; 去年の夏; 先週末; 三週間前; 二か月後; 2年前",
}


@given(LANGUAGES, st.dates(date(1990, 1, 1), date(2080, 12, 31)))
def test_relative_days_are_the_same_in_each_language(language: str, said: date) -> None:
    """From any day: a year ends, a month has 28 days, a winter is two years."""
    told = datetime(said.year, said.month, said.day, 12, tzinfo=UTC).timestamp()
    for english, written in zip(SAME["en"].split("; "), SAME[language].split("; "), strict=False):
        assert days(written, told) == days(english, told) != (), written
        assert not any(map(str.isdigit, without_days(written))), written


@given(LANGUAGES, st.integers(1, 12), st.integers(1900, 2099))
def test_months_are_read_back_as_they_were_written(language: str, month: int, year: int) -> None:
    """With their year."""
    name = MONTHS[language].split()[month - 1]
    written = f"{year}年{name}月" if language in {"zh", "ja"} else f"{name} {year}"
    (found,) = days(written, None)
    assert date.fromordinal(found.first) == date(year, month, 1)
    assert date.fromordinal(found.last + 1).day == 1
    assert 28 <= found.last - found.first + 1 <= 31


@given(st.sampled_from(ROWS), st.sampled_from(ROWS))
def test_days_of_two_texts_are_those_of_each(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    """Whatever their languages are: none disturbs another, but the signs of Japanese make a text no Chinese."""
    assume({one[0], other[0]} != {"zh", "ja"})
    assert set(dates(f"{one[1]}.\n— … {other[1]}")) == {one[2], other[2]}


# Words of all languages but Japanese: what has its signs is not tried as Chinese.
WORDS = sorted({word for language, text, _ in ROWS if language != "ja" for word in text.split()})


@given(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join))
def test_days_are_found_in_any_language_whatever_is_looked_at_first(text: str) -> None:
    """No language that a text has a date in is passed over by the first look at it."""
    found = days(text, SAID)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(days_module, "_spoken", lambda _words: set(range(len(days_module._ROWS))))
        assert days(text, SAID) == found


@given(st.text(), st.floats())
def test_any_text_is_read_to_its_end(text: str, told: float) -> None:
    """In its order, and without its days nothing of it is left that speaks of days in one word."""
    found = days(text, told)
    assert all(isinstance(each, Days) and each.first <= each.last for each in found)
    assert len(found) <= MOST_DAYS
    assert len(without_days(text)) <= len(text) + 1
    assert day_of(told)


def test_first_words_of_a_text_are_read() -> None:
    """As many as a person would write; and of these the first days."""
    assert len(days("yesterday " + "word " * (MOST_WORDS - 2) + "tomorrow tomorrow", SAID)) == 2
    assert len(days("word " * MOST_WORDS + "tomorrow", SAID)) == 0
    many = " and ".join(f"{year}" for year in range(1950, 2000))
    assert [each.first for each in days(many, SAID)] == [date(1950 + at, 1, 1).toordinal() for at in range(MOST_DAYS)]


HOSTILE = (
    *(
        "2024",
        "2024-",
        "1.",
        "1/",
        "5 ",
        "5 May ",
        "may ",
        "in ",
        "a couple of ",
        "il y a ",
        "l'",
        "the other ",
        "年",
        "5月",
    ),
    *("上", "二十", "おと", "а", "назад ", "5" + " " * 500 + "May", " ", "\n", ".", "1", "last week ", "2024年5月2日"),
)


@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_texts_are_read_in_linear_time(unit: str) -> None:
    """Four times as much takes four times as long, and what a passage may have takes less than a second."""

    def took(chars: int) -> float:
        text = (unit * chars)[:chars] + " 2024 yesterday 年"
        best = float("inf")
        for _ in range(3):
            start = time.thread_time()
            days(text, SAID)
            best = min(best, time.thread_time() - start)
        return best

    long = took(100_000)
    assert long < 3
    assert long < max(0.05, 8 * took(25_000)), unit
