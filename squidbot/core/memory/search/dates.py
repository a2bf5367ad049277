"""What days a text speaks of: dates, months, seasons, years, and days that are told from the one it was said on."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Days", "day_of", "days", "without_days"]

_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}  # their first months, in the north
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "couple": 2, "three": 3, "few": 3, "four": 4, "five": 5, "six": 6,
            "seven": 7, "eight": 8, "nine": 9, "ten": 10, "several": 4}  # fmt: skip
_UNIT_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}

_MONTH = (
    r"(?P<month>Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?"
    r"|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\b\.?"
)
_YEAR = r"(?P<year>(?:19|20)\d\d)\b"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?\b"
_WEEKDAY = r"(?P<weekday>(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)\b"
_COUNT = r"an?|one|two|three|four|five|six|seven|eight|nine|ten|several|(?:a )?few|(?:a )?couple(?: of)?"
_FORMS = tuple(
    re.compile(form)
    for form in (
        r"\b(?P<year>(?:19|20)\d\d)-(?P<number>[01]\d)-(?P<day>[0-3]\d)\b",
        rf"\b{_DAY}(?:\s+of)?\s+{_MONTH}(?:,?\s+{_YEAR})?",
        rf"\b{_MONTH}\s+(?:the\s+)?{_DAY}(?:,?\s+{_YEAR})?",
        rf"\b{_MONTH},?\s+(?:of\s+)?{_YEAR}",
        r"\b(?P<season>[Ss]pring|[Ss]ummer|[Aa]utumn|[Ff]all|[Ww]inter)\s+(?:of\s+)?" + _YEAR,
        rf"\b(?:[Ii]n|[Oo]f|[Ss]ince|[Ll]ast|[Tt]his|[Nn]ext|[Ee]arly|[Ll]ate|[Mm]id|[Dd]uring)[\s-]{_MONTH}",
        rf"\b{_YEAR}",
    )
)
_TOLD = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"\b(?P<word>today|tonight|this (?:morning|afternoon|evening)|yesterday|last night|tomorrow|the other day)\b",
        r"\b(?P<which>last|past|this|next|previous)\s+(?P<unit>week|weekend|month|year|summer|spring|fall|autumn|winter)\b",
        rf"\b(?:(?P<which>last|this|next|past|on)\s+){_WEEKDAY}",
        rf"\b(?P<count>\d{{1,2}}|{_COUNT})\s+(?P<unit>day|week|month|year)s?\s+(?:ago|back|earlier)\b",
    )
)
# Most texts speak of no day, and to look for all forms in one takes longer than all else that is looked at. Nothing of
# `_FORMS` is without the first, of `_TOLD` without one of the others.
_DATED = re.compile(r"(?:19|20)\d\d|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec")
_TELLING = ("day", "night", "morning", "noon", "evening", "tomorrow", "week", "month", "year", "summer", "spring",
            "fall", "autumn", "winter")  # fmt: skip
# Letters that match these whatever their case, and are not among those that words are looked up by.
_ODD = str.maketrans({"\u0130": "I", "\u0131": "i", "\u017f": "s", "\u212a": "K"})
_WORD_DAYS = {"yesterday": -1, "last night": -1, "tomorrow": 1, "the other day": -1}
# Of a longer text the first dates count.
MOST_DAYS = 16


HALF_A_YEAR_DAYS = 183
# A century at each end of the calendar is left out: what is told from a day may be beyond it.
_FIRST_DAY, _LAST_DAY = date(101, 1, 1).toordinal(), date(9899, 12, 31).toordinal()

Parts = dict[str, str | None]  # what a form has found, by its names


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


def days(text: str, told: float | None) -> tuple[Days, ...]:
    """Return the days that a text speaks of, in no order; those told from its own time only where that is known."""
    base = None if told is None else day_of(told)
    found: list[Days] = []
    rest = text
    for form in _FORMS if _DATED.search(text) else ():
        for match in form.finditer(rest):
            found += _dated(match.groupdict(), base)
        rest = form.sub(" ", rest) if found else rest
    if base is not None and _may_tell(plain := text.translate(_ODD)):
        for form in _TOLD:
            for match in form.finditer(plain):
                found.append(_told(match.groupdict(), date.fromordinal(base)))
    return tuple(dict.fromkeys(found))[:MOST_DAYS]


def _may_tell(text: str) -> bool:
    lower = text.lower()
    return any([word in lower for word in _TELLING])  # noqa: C419  # a generator takes twice as long


def without_days(text: str) -> str:
    """Return a text without the dates and days in it."""
    for form in (*_FORMS, *_TOLD):
        text = form.sub(" ", text)
    return text


def _dated(parts: Parts, base: int | None) -> Iterator[Days]:
    """Yield the days of a date; one without a year is the last one, or less than half a year ahead."""
    month = _month(parts)
    year = _year(parts, month, base)
    if not year:
        return
    if season := parts.get("season"):
        yield _months(year, _SEASONS[season.lower()], 3)
    elif not month:
        yield _months(year, 1, 12)
    elif not (day := int(parts.get("day") or 0)):
        yield _months(year, month, 1)
    elif day <= monthrange(year, month)[1]:
        yield _one(date(year, month, day).toordinal())


def _year(parts: Parts, month: int, base: int | None) -> int:
    """Return the year of a date, 0 where that is unknown."""
    if written := parts.get("year"):
        return int(written)
    if base is None or not month:
        return 0
    year = date.fromordinal(base).year
    return year - 1 if date(year, month, 1).toordinal() > base + HALF_A_YEAR_DAYS else year


def _month(parts: Parts) -> int:
    if number := parts.get("number"):
        return int(number) if 1 <= int(number) <= 12 else 1
    name = parts.get("month")
    return _MONTH_NAMES.index(name[:3].lower()) + 1 if name else 0


def _months(year: int, month: int, count: int) -> Days:
    first = date(year, month, 1).toordinal()
    end = year * 12 + month - 1 + count
    return Days(first, date(end // 12, end % 12 + 1, 1).toordinal() - 1)


def _told(parts: Parts, base: date) -> Days:
    """Return the days that are told from one."""
    today, which = base.toordinal(), (parts.get("which") or "").lower()
    if word := (parts.get("word") or "").lower():
        ordinal = today + _WORD_DAYS.get(word, 0)
        return Days(ordinal - 2, ordinal) if word == "the other day" else _one(ordinal)
    if weekday := parts.get("weekday"):
        return _one(_weekday(weekday, base, ahead=which in {"this", "next"}))
    unit = (parts["unit"] or "").lower()
    if count := parts.get("count"):
        word = count.lower().removeprefix("a ").removesuffix(" of")
        amount = int(word) if word.isdigit() else _NUMBERS.get(word, 1)
        middle, about = today - amount * _UNIT_DAYS[unit], _UNIT_DAYS[unit] // 4
        return Days(middle - about, middle + about)
    return _unit(unit, {"this": 0, "next": 1}.get(which, -1), base)


def _weekday(name: str, base: date, *, ahead: bool) -> int:
    """Return the next day of that name, the day itself included, or the one before it."""
    back = (base.weekday() - _WEEKDAYS.index(name[:3].lower())) % 7
    return base.toordinal() + (-back % 7 if ahead else -(back or 7))


def _one(day: int) -> Days:
    return Days(day, day)


def _unit(unit: str, steps: int, base: date) -> Days:
    """Return the week, weekend, month, season or year so many steps from a day's own."""
    monday = base.toordinal() - base.weekday() + 7 * steps
    if unit == "week":
        return Days(monday, monday + 6)
    if unit == "weekend":
        return Days(monday + 4, monday + 6)
    if unit == "month":
        at = base.year * 12 + base.month - 1 + steps
        return _months(at // 12, at % 12 + 1, 1)
    year = base.year + steps
    if unit == "year":
        return _months(year, 1, 12)
    return _months(year if steps or base.month >= _SEASONS[unit] else year - 1, _SEASONS[unit], 3)
