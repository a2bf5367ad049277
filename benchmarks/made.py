"""Conversations made here, of page-long turns about software and the people who make it, with what is asked of them.

Every text is invented, and the same in every run. In a page about one thing stand one or two sentences that answer a
question, among many that name the same things and answer none; questions often use other words than the answers.
Three in ten need two turns, of two sessions; some ask for what is so now, after it was changed.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.conversations import Conversation, Question
from squidbot.core.memories import Passage

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["made"]

SEED = 20_311
BEGIN = 1_900_000_000.0  # in March 2030; seconds since 1970
DAY, MINUTE = 86_400.0, 60.0
CONVERSATIONS, SESSIONS, EXCHANGES = 3, 6, 4
# Of each thing several pages speak, and one at most answers a question about it. So many exchanges answer something.
ABOUT, ANSWERING = 8, 20
# Sentences of a page beside those that answer something.
SENTENCES = (9, 16)
MULTI_HOP, CHANGES = 0.3, 0.1

# Each with what a question may call it that has forgotten its name.
THINGS = {
    "the importer": "the code that reads in what customers upload",
    "the billing export": "the sheet that accounting downloads",
    "the login page": "the screen where people sign in",
    "the search index": "what makes documents findable",
    "the nightly backup": "the copy made after midnight",
    "the mail queue": "the letters that wait to be sent",
    "the image resizer": "the part that shrinks pictures",
    "the public API": "what programs of others call",
    "the audit trail": "the record of who did what",
    "the rate limiter": "what slows down greedy callers",
    "the job scheduler": "the thing that starts tasks on time",
    "the settings screen": "where users change their preferences",
    "the installer": "what sets everything up on a new machine",
    "the PDF renderer": "the part that prints documents",
    "the chat widget": "the little window where visitors write to us",
    "the currency table": "the list of exchange rates",
    "the sync client": "what keeps two devices the same",
    "the report builder": "the tool that draws up monthly summaries",
    "the payment form": "where visitors type in their cards",
    "the address parser": "what takes street and town apart",
}
# How many questions call things so.
RENAMED = 0.35
PEOPLE = ("Ines", "Tarek", "Maud", "Olek", "Priya", "Sven", "Yuki", "Dario", "Wanda", "Kofi", "Lena", "Bruno")
CAUSES = (
    "a lock that two workers took in another order", "a date without its time zone", "an empty header nobody expected",
    "a counter that ran past its type", "a certificate that had run out", "a file that was read while it was written",
    "a retry that had no end", "a comma in a number from Denmark", "a pool with one connection too few",
)  # fmt: skip
TOOLS = (
    "Pelican",
    "Quartzite",
    "Lodestar",
    "Mooring",
    "Tidewater",
    "Halyard",
    "Saltbox",
    "Fathom",
    "Gannet",
    "Windlass",
)
ANIMALS = ("tortoise", "parrot", "greyhound", "goat", "ferret", "canary")
NAMES = ("Biscuit", "Orlando", "Pepper", "Marzipan", "Duke", "Clementine")
PLACES = ("Tromso", "Ghent", "Valparaiso", "Kyoto", "Leith", "Ronda", "Bergamo", "Tallinn")
HOBBIES = ("bell ringing", "beekeeping", "fencing", "bookbinding", "rowing", "pottery")

FILLERS = (
    "There is more than one way to look at {thing}, and each of them costs something.",
    "I would begin with a small test that fails, and only then touch {thing}.",
    "Nothing about {thing} has to be decided today; it can be changed later without much ado.",
    "Mind that {other} calls into it as well, so a change here is felt there.",
    "If you log every step of {thing} for a day, you will see where the time goes.",
    "Most of what is slow in {thing} is waiting, not computing.",
    "It helps to write down what {thing} promises before you move it.",
    "The names in {thing} have grown over the years, and some say the opposite of what they do.",
    "You could split {thing} in two, one part that reads and one that decides.",
    "I looked at the last ten changes, and half of them touched {thing} and {other} together.",
    "A page in the handbook would spare the next person an afternoon.",
    "Before you release it, let somebody who has never seen {thing} follow the steps.",
    "What {other} does with the result is another matter, and I would leave it alone for now.",
    "The tests of {thing} pass, but they assert little more than that nothing is raised.",
    "Keep the old path for a week, and count how often it is still used.",
    "Errors of {thing} should say what to do, and not only what went wrong.",
    "It is worth asking whether {thing} is needed at all, now that {other} has grown so much.",
    "When in doubt, measure {thing} on the slowest machine that you can find.",
    "A short function with a long comment is better than the other way round, there as elsewhere.",
    "I can draft the change to {thing} if you tell me which of these you prefer.",
)
OPENERS = (
    "Can you have a look at {thing}? I want to know where we stand.",
    "Back to {thing} for a moment, please.",
    "What should we do about {thing} next?",
    "{person} asked about {thing} again, so let us go through it.",
    "I have an hour for {thing}. What is open?",
)


class Kind(NamedTuple):
    """One kind of fact: how it is told, and how it is asked for; `category` as LoCoMo has them."""

    told: str
    asked: str
    category: str = "single-hop"


KINDS = (
    Kind("{Thing} listens on port {number} from now on.", "Which port did we give to {thing}?"),
    Kind("{Thing} gives up after {number} seconds, where it used to hang.", "How long does {thing} wait at most?"),
    Kind("{person} looks after {thing} while the others are busy.", "Who is responsible for {thing}?"),
    Kind("What brought {thing} down last week was {cause}.", "Why did {thing} crash?"),
    Kind("For {thing} we let go of {tool} and took {other_tool}.", "What did we replace {tool} with in {thing}?"),
    Kind("A page of {thing} has at most {number} rows, and that stays so.", "What is the page size of {thing}?"),
    Kind("{Thing} has to be with the customer on the {day} of {month}.", "When is {thing} due?", "temporal"),
    Kind("We moved {thing} to the machine called {tool}.", "On which host does {thing} run?"),
    Kind("By the way, {person} keeps a {animal} named {name} at home.", "What is {person}'s pet called?"),
    Kind("{person} will be in {place} all through {month}, so no review then.", "Where does {person} travel?"),
    Kind("After work {person} has taken up {hobby}, which explains the early evenings.", "What is {person}'s hobby?"),
)
# Told twice, and only the second one holds.
CHANGED = Kind("{Thing} keeps its data for {number} days.", "How long does {thing} store data now?", "temporal")
JOINED = Kind("{Thing} hands its output over to {other} each night.", "", "multi-hop")


def made(conversations: int = CONVERSATIONS) -> list[Conversation]:
    """Return so many conversations, each about other things by other chances."""
    return [_Talk(Random(SEED + number), f"made {number}").told() for number in range(1, conversations + 1)]  # noqa: S311  # repeatable


class _Talk:
    """One conversation while it is made."""

    def __init__(self, chance: Random, name: str) -> None:
        self._chance = chance
        self._name = name
        self._things = chance.sample([*THINGS], ABOUT)
        self._people = chance.sample(PEOPLE, len(PEOPLE))
        # What is told once only.
        self._had: set[tuple[str, str]] = set()
        # What is told in which exchange, counted over all sessions.
        self._told: dict[int, list[str]] = {}
        self._asked: list[tuple[str, str, tuple[int, ...]]] = []

    def told(self) -> Conversation:
        """Return it, with what is asked a day after its last word."""
        exchanges = SESSIONS * EXCHANGES
        places = self._chance.sample(range(exchanges), exchanges)
        about = {place: self._things[number % len(self._things)] for number, place in enumerate(places)}
        for number, place in enumerate(places[:ANSWERING]):
            self._tell(number, place, about)
        passages = list(self._passages(about))
        now = BEGIN + SESSIONS * 3 * DAY + DAY
        questions = [
            Question(text, frozenset(passages[2 * place + 1].key for place in where), category, now)
            for text, category, where in self._asked
        ]
        return Conversation(self._name, passages, questions, 0)

    def _tell(self, number: int, place: int, about: dict[int, str]) -> None:
        """Put a fact into an exchange, and what is asked of it down; of some a second one into a later exchange."""
        thing, drawn = about[place], self._chance.random()
        later = [other for other in about if other // EXCHANGES > place // EXCHANGES]
        second = self._chance.choice(later) if later else -1
        joins = second >= 0 and about[second] != thing
        if drawn < MULTI_HOP and joins and not self._had & {("joins", thing), ("read", about[second])}:
            self._join(place, second, about)
            return
        if drawn > 1 - CHANGES and later and ("kept", thing) not in self._had:
            self._had.add(("kept", thing))
            self._put(place, self._filled(CHANGED, thing)[0])
            told, asked = self._filled(CHANGED, thing)
            self._put(second, told.replace("keeps", "by contrast now keeps"))
            self._asked.append((asked, CHANGED.category, (second,)))
            return
        kind = KINDS[number % len(KINDS)]
        told, asked = self._filled(kind, thing)
        self._put(place, told)
        self._asked.append((asked, kind.category, (place,)))

    def _join(self, place: int, second: int, about: dict[int, str]) -> None:
        """Tell where a thing hands its output, and elsewhere who looks after that; ask for both at once."""
        thing, other = about[place], about[second]
        self._had |= {("joins", thing), ("read", other)}
        person = self._chance.choice(self._people)
        self._put(place, JOINED.told.format(Thing=_capital(thing), other=other))
        self._put(second, f"Whatever comes into {other}, {person} reads it first.")
        self._asked.append((f"Who is the first to read what {thing} delivers?", JOINED.category, (place, second)))

    def _filled(self, kind: Kind, thing: str) -> tuple[str, str]:
        """Return a fact as it is told, and as it is asked for; whom it is about nobody else is asked about so."""
        tool, other_tool = self._chance.sample(TOOLS, 2)
        person = self._people.pop() if "{person}'s" in kind.asked or "{person} travel" in kind.asked else ""
        values = {
            "thing": thing, "Thing": _capital(thing), "tool": tool, "other_tool": other_tool,
            "person": person or self._chance.choice(self._people), "number": str(self._chance.randrange(11, 9_000)),
            "cause": self._chance.choice(CAUSES), "animal": self._chance.choice(ANIMALS),
            "name": self._chance.choice(NAMES), "place": self._chance.choice(PLACES),
            "hobby": self._chance.choice(HOBBIES), "day": f"{self._chance.randrange(4, 28)}th",
            "month": self._chance.choice(("April", "May", "June", "July")),
        }  # fmt: skip
        called = THINGS[thing] if self._chance.random() < RENAMED else thing
        return kind.told.format(**values), kind.asked.format(**{**values, "thing": called})

    def _put(self, place: int, sentence: str) -> None:
        self._told.setdefault(place, []).append(sentence)

    def _passages(self, about: dict[int, str]) -> Iterator[Passage]:
        for place in range(SESSIONS * EXCHANGES):
            session, number = divmod(place, EXCHANGES)
            time = BEGIN + session * 3 * DAY + number * 20 * MINUTE
            group, position = f"session_{session + 1}", 2 * number
            key = f"D{session + 1}"
            opener = self._chance.choice(OPENERS).format(thing=about[place], person=self._chance.choice(PEOPLE))
            yield Passage(f"{key}:{position + 1}", opener, "Rosa", time, group, position)
            text = self._page(about[place], self._told.get(place, []))
            yield Passage(f"{key}:{position + 2}", text, "Assistant", time + MINUTE, group, position + 1)

    def _page(self, thing: str, told: list[str]) -> str:
        """Return a page about a thing, in paragraphs, in which somewhere stands what is told."""
        count = self._chance.randint(*SENTENCES)
        sentences = [
            each.format(thing=thing, other=self._chance.choice([*THINGS]))
            for each in self._chance.sample(FILLERS, count)
        ]
        for one in told:
            sentences.insert(self._chance.randrange(len(sentences) + 1), one)
        return "\n\n".join(" ".join(sentences[start : start + 4]) for start in range(0, len(sentences), 4))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
