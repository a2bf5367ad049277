"""Notes made by rule: what they say, that they fit, that they can be read, that more room only adds."""

import json
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.literals import literals_of
from squidbot.core.messages import Cost, Message, Role, ToolCall
from squidbot.core.notes.extract import NoteLine, NoteMaterial, Notes, NoteUnit, extract, render, words_in
from squidbot.core.ports import Certificate
from squidbot.core.tokens.counters import builtin_counter

CLASSES = builtin_counter("classes")
BYTES = builtin_counter("bytes")
LISTS = re.compile(r"; (?:wrote|with|uses|shows|defines|imports|names) ([^;]+)")


def said(role: Role, text: str, *calls: tuple[str, str, object], results: tuple[str, ...] = ()) -> Message:
    """Return a message; a call is (id, name, arguments)."""
    made = tuple(ToolCall(call_id, name, json.dumps(arguments)) for call_id, name, arguments in calls)
    return Message(role, text, "", "test", calls=made, results=results)


CART = """import { taxRate } from "./tax/rates.js";

export class ShopCart {
	cartTotal(items: CartItem[]): number {
		return sumOf(items) * taxRate;
	}
}
"""
MONEY = "export function roundCents(value: number): number {\n\treturn Math.round(value * 100) / 100;\n}\n"
CODING = [
    said("user", "Fix the tax rounding in src/cart.ts, please."),
    said("assistant", "Let me look at the cart first.", ("c1", "read", {"path": "/home/ann/shop/src/cart.ts"})),
    said("tool", CART, results=("c1",)),
    said(
        "assistant",
        "",
        (
            "c2",
            "edit",
            {
                "path": "/home/ann/shop/src/cart.ts",
                "oldText": "sumOf(items) * taxRate",
                "newText": "\n\troundCents(sumOf(items) * taxRate)",
            },
        ),
    ),
    said("tool", "Successfully replaced text in /home/ann/shop/src/cart.ts.", results=("c2",)),
    said("assistant", "", ("c3", "bash", {"command": "cd /home/ann/shop && npm test"})),
    said("tool", "src/cart.ts(4,10): error TS2304: Cannot find name 'roundCents'.\n", results=("c3",)),
    said("assistant", "", ("c4", "write", {"path": "/home/ann/shop/src/money.ts", "content": MONEY})),
    said("tool", "ok", results=("c4",)),
    said("assistant", "", ("c5", "bash", {"command": "cd /home/ann/shop && npm test"})),
    said("tool", "3 passed", results=("c5",)),
    said("assistant", "", ("c6", "bash", {"command": 'cd /home/ann/shop && git commit -am "Round tax to cents"'})),
    said("tool", "[main 9c41d0e] Round tax to cents", results=("c6",)),
    said(
        "assistant",
        "The root cause was that `taxRate` has four digits. [DECISION] Prices stay net - LOCKED. All tests pass now.",
    ),
]
USER = {
    "name": {"first_name": "Mia", "last_name": "Li"},
    "payment_methods": [{"id": "credit_card_4421486", "last_four": "7447"}],
    "bookings": ["NO6JO3", "AIXC49"],
}
CHANGE = {"booking_id": "NO6JO3", "date": "2024-05-24", "payment_id": "credit_card_4421486"}
SERVICE = [
    said("user", "Hi, I want to move my booking."),
    said("assistant", "Could you give me your user id?"),
    said("user", "mia_li_3668"),
    said("assistant", "", ("s1", "get_user", {"user_id": "mia_li_3668"})),
    said("tool", json.dumps(USER), results=("s1",)),
    said("assistant", "", ("s2", "update_booking", CHANGE)),
    said("tool", "Error: flight HAT069 is full on that day", results=("s2",)),
    said("assistant", "I am sorry, HAT069 is full on 2024-05-24. Flight HAT083 leaves at 11:00 and costs $51 more."),
]
CHAT = [
    said("user", "I start at the clinic on Monday."),
    said("assistant", "How nice! My sister Vera works at Saint Luke in Geneva since 2019. She never has weekends."),
    said("user", "Really?"),
    said("assistant", "Yes! She moved there from Lyon."),
]


def notes(
    messages: list[Message], limit_tokens: int, *, users_verbatim: bool = True, known: frozenset[str] = frozenset()
) -> Notes:
    """Return notes by the default counter, on messages from seq 7."""
    return extract(
        messages, limit_tokens=limit_tokens, counter=CLASSES, known=known, users_verbatim=users_verbatim, first_seq=7
    )


def test_extract_tells_a_coding_session_by_files_commands_and_decisions() -> None:
    """What was done on which file, which names were touched, how the tests ended, what was found and decided."""
    assert notes(CODING, 1000).text.splitlines() == [
        "Notes on messages 7-20 (6 tool calls), by rule, in order:",
        (
            "- read, edit /home/ann/shop/src/cart.ts; imports ./tax/rates.js; defines ShopCart cartTotal; uses "
            "CartItem; wrote sumOf, roundCents, `\\troundCents(sumOf(items) * taxRate)`; with oldText newText"
        ),
        "- write /home/ann/shop/src/money.ts",
        (
            "- bash: cd /home/ann/shop && npm test x2 -> ok at last, before: src/cart.ts(4,10): error TS2304: Cannot "
            "find name 'roundCents'.; gave 3 passed"
        ),
        '- bash: cd /home/ann/shop && git commit -am "Round tax to cents"; gave [main 9c41d0e] Round tax to cents',
        "- said: [DECISION] Prices stay net - LOCKED. The root cause was that `taxRate` has four digits.",
    ]


def test_extract_keeps_files_and_decisions_when_room_is_short() -> None:
    """A tenth of the room: the trail of files and the decision stand, the rest goes first."""
    assert notes(CODING, 120).text.splitlines() == [
        "Notes on messages 7-20 (6 tool calls), by rule, in order:",
        (
            "- read, edit /home/ann/shop/src/cart.ts; defines ShopCart cartTotal; wrote sumOf roundCents; "
            "with oldText newText"
        ),
        "- write /home/ann/shop/src/money.ts",
        "- said: [DECISION] Prices stay net - LOCKED. The root cause was that `taxRate` has four digits.",
    ]


def test_extract_tells_a_service_call_by_ids_with_their_words() -> None:
    """Who it was about, which id is what, what was refused and why, what was offered."""
    assert notes(SERVICE, 1000).text.splitlines() == [
        "Notes on messages 7-14 (2 tool calls), by rule, in order:",
        "- get_user(user_id: mia_li_3668); first_name: Mia; last_name: Li; last_four: 7447; bookings: NO6JO3 AIXC49",
        (
            "- update_booking(booking_id: NO6JO3, date: 2024-05-24, payment_id: credit_card_4421486) -> "
            "Error: flight HAT069 is full on that day"
        ),
        "- said: I am sorry, HAT069 is full on 2024-05-24. Flight HAT083 leaves at 11:00 and costs $51 more.",
    ]


def test_extract_tells_a_chat_by_the_sentences_that_carry_facts() -> None:
    """No tools, no identifiers: names, places, dates and rules stay, courtesies go."""
    assert notes(CHAT, 1000).text.splitlines() == [
        "Notes on messages 7-10 (0 tool calls), by rule, in order:",
        "- said: My sister Vera works at Saint Luke in Geneva since 2019. She never has weekends.",
        "- said: She moved there from Lyon.",
    ]


def test_extract_tells_what_was_asked_where_users_are_not_sent() -> None:
    """C2: the notes always see what users said; they say it where nothing else does."""
    assert "- asked: Fix the tax rounding in src/cart.ts, please." in notes(CODING, 1000, users_verbatim=False).text
    assert "asked" not in notes(CODING, 1000).text


@pytest.mark.parametrize(
    ("question", "answer", "kept"),
    [
        ("税率", "我们决定从 2024-05-20 起使用 tax_rate_v2。旧的税率表已经删除。", "tax_rate_v2"),
        ("Wie hoch ist die Steuer?", "Die Steuer liegt seit dem 1. Mai 2024 bei 7,7 Prozent.", "Mai 2024"),
        ("税率は?", "税率は src/tax.ts の TAX_RATE にあります。次に修正します。", "TAX_RATE"),
    ],
)
def test_extract_works_in_other_languages(question: str, answer: str, kept: str) -> None:
    """Identifiers, dates and long words are told without knowing the language."""
    assert kept in notes([said("user", question), said("assistant", answer)], 400).text


def test_extract_lists_nothing_for_the_sake_of_what_is_known() -> None:
    """A chain of notes names each identifier once: what stands elsewhere is not listed again."""
    known = frozenset().union(*(literals_of(message.rendered) for message in CODING))
    text = notes(CODING, 2000, known=known).text
    listed = {word for part in LISTS.findall(text) for word in part.split(", ")}
    assert not listed & known


def test_extract_names_a_known_file_by_its_last_part() -> None:
    """Its last action is worth a line, the long path is not."""
    text = notes(CODING, 1000, known=frozenset({"/home/ann/shop/src/cart.ts"})).text
    assert "- read, edit cart.ts;" in text
    assert "/home/ann/shop/src/cart.ts" not in text


def test_extract_writes_a_long_directory_once() -> None:
    """The first command names it in full, the others by its last part."""
    calls = [
        said("assistant", "", (str(at), "bash", {"command": f"cd /home/ann/projects/shop && git push origin v{at}"}))
        for at in range(4)
    ]
    text = notes(calls, 1000).text
    assert text.count("/home/ann/projects/shop") == 1
    assert text.count("cd …/shop && git push") == 3


def test_extract_gives_an_empty_text_when_there_is_no_room() -> None:
    """Better nothing than more than the limit."""
    assert notes(CODING, 1) == Notes("", Cost(0, 0))


def test_extract_says_what_it_stands_for_when_nothing_is_worth_a_line() -> None:
    """The shortest honest line: how many messages, how many calls."""
    assert notes([said("assistant", "Ok.")], 100).text == "Notes on messages 7-7 (0 tool calls), by rule, in order:"
    assert notes([], 100).text == "Notes on messages 7-7 (0 tool calls), by rule, in order:"


def test_render_puts_the_words_worth_most_for_their_tokens_first() -> None:
    """A name written often stands before one seen once; a label is paid for once."""
    line = NoteLine("edit a/b.py", 1.0)
    line.add([NoteUnit("seen_once", "uses"), NoteUnit("written_often", "wrote")])
    reading = NoteMaterial({"file a/b.py": line}, written={"written_often": 5.0}, shown={"seen_once": 1.0})
    full = render(reading, header="Notes:", limit_tokens=100, counter=CLASSES)
    less = render(reading, header="Notes:", limit_tokens=full.cost.bound - 1, counter=CLASSES)
    assert full.text == "Notes:\n- edit a/b.py; uses seen_once; wrote written_often"
    assert less.text == "Notes:\n- edit a/b.py; wrote written_often"


class Sparse:
    """A counter that counts far less than any tokenizer: one token for forty characters."""

    name = "sparse"
    certificate: Certificate = "none"

    def count(self, text: str) -> int:
        """Return the estimate."""
        return len(text) // 40

    def upper_bound(self, text: str) -> int:
        """Return the same."""
        return len(text) // 40


def test_render_goes_on_where_a_counter_counts_less_than_the_rough_count() -> None:
    """The rough count only ranks: what fits by the counter is written."""
    line = NoteLine("edit a/b.py", 1.0)
    line.add(NoteUnit(f"tax_rate_{at}", "uses") for at in range(200))
    made = render(NoteMaterial({"file a/b.py": line}), header="Notes:", limit_tokens=100, counter=Sparse())
    assert made.text.count("tax_rate_") == 200


NAMES = st.sampled_from(
    ["tax_rate", "cartTotal", "src/cart.ts", "/home/ann/shop/src/tax.ts", "9c41d0e", "NO6JO3", "word"]
)
TEXTS = st.one_of(
    st.text(max_size=60),
    st.lists(NAMES, max_size=12).map(" ".join),
    st.lists(NAMES, max_size=6).map(lambda names: "".join(f"def {name}():\n\t{name}(1)\n" for name in names)),
    st.dictionaries(NAMES, NAMES, max_size=4).map(json.dumps),
    st.sampled_from(["", "\x00\x01", "\ud800", "😀" * 40, "x" * 3000, "Error: no such file", "税率が違います。" * 9]),
)
FILES = st.sampled_from(["src/cart.ts", "/home/ann/shop/src/tax.ts", "README.md", "a/b/c.py"])
CALLS = st.one_of(
    st.builds(lambda path, text: ("read", {"path": path, "text": text}), FILES, TEXTS),
    st.builds(lambda text: ("bash", {"command": text}), TEXTS),
    st.builds(lambda text: ("other", text), TEXTS),
)
MESSAGES = st.lists(
    st.builds(
        lambda role, text, calls, results: said(
            role, text, *((str(at), *made) for at, made in enumerate(calls)), results=tuple(results)
        ),
        st.sampled_from(["system", "user", "assistant", "tool"]),
        TEXTS,
        st.lists(CALLS, max_size=3),
        st.lists(st.sampled_from("012"), max_size=1),
    ),
    max_size=10,
)
LIMITS = st.integers(min_value=0, max_value=600)


LANGUAGES = {
    "English": (
        "I look at the next file.",
        "The rounding error comes from splitting discounts before taxes are added.",
    ),
    "Russian": (
        "Смотрю следующий файл.",
        "Ошибка округления возникает, потому что скидки делятся до начисления налогов.",
    ),
    "German": (
        "Ich lese die nächste Datei.",
        "Der Rundungsfehler entsteht, weil Rabatte vor der Steuer aufgeteilt werden.",
    ),
    "Spanish": (
        "Miro el siguiente archivo.",
        "El error de redondeo aparece porque los descuentos se reparten antes del impuesto.",
    ),
    "Chinese": ("看下一个文件。", "舍入误差的原因是折扣在加税之前就已经按行拆分了。"),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_was_found_is_told_in_any_language(language: str) -> None:
    """A finding without a name in it, among many remarks before calls: by what it tells, not by English words."""
    remark, finding = LANGUAGES[language]
    messages: list[Message] = []
    for at in range(30):
        text = f"{remark} {finding}" if at == 12 else remark
        messages += [
            said("assistant", text, (str(at), "read", {"path": f"src/part_{at}.ts"})),
            said("tool", f"export function useOfPart{at}() {{\n", results=(str(at),)),
        ]
    made = notes(messages, 150)
    assert finding in made.text
    assert made.text.count(remark.rstrip(".。")) <= 1


@given(messages=MESSAGES, limit=LIMITS, counter=st.sampled_from([CLASSES, BYTES]), users=st.booleans())
def test_extract_never_passes_its_limit_on_any_messages(
    messages: list[Message],
    limit: int,
    counter: object,
    users: bool,  # noqa: FBT001 - a property
) -> None:
    """Hostile or empty: nothing raises, the bound is kept, the cost is that of the text, no character is unsendable."""
    count = BYTES if counter is BYTES else CLASSES
    made = extract(messages, limit_tokens=limit, counter=count, users_verbatim=users)
    assert made.cost.bound <= limit
    assert made.cost.bound == count.upper_bound(made.text)
    made.text.encode("utf-8")
    assert "\x00" not in made.text


@given(messages=MESSAGES, limit=LIMITS)
def test_extract_gives_the_same_text_for_the_same_input(messages: list[Message], limit: int) -> None:
    """I6: same inputs, same bytes."""
    assert notes(messages, limit) == notes(list(messages), limit)


@given(messages=MESSAGES, limit=LIMITS, more=st.integers(min_value=1, max_value=300))
def test_extract_with_more_room_never_loses_a_listed_file(messages: list[Message], limit: int, more: int) -> None:
    """I8: a larger target keeps what a smaller one kept."""

    def files(text: str) -> set[str]:
        heads = [line.split(";")[0] for line in text.splitlines() if line.startswith("- read")]
        return {name.rpartition("/")[2] for head in heads for name in literals_of(head)}

    small = extract(messages, limit_tokens=limit, counter=BYTES).text
    large = extract(messages, limit_tokens=limit + more, counter=BYTES).text
    assert files(small) <= files(large)


@given(messages=MESSAGES, limit=LIMITS, users=st.booleans())
def test_extract_gives_every_list_a_subject(messages: list[Message], limit: int, users: bool) -> None:  # noqa: FBT001
    """Structured notes, never a bare list: a header, then lines that open with a tool, a speaker or a result."""
    text = extract(messages, limit_tokens=limit, counter=CLASSES, users_verbatim=users).text
    rows = text.split("\n")
    assert not text or rows[0].startswith("Notes on messages ")
    subject = re.compile(r"- (?:(?:read|bash|other)\b|asked: |said: |tool result: )")
    assert all(subject.match(row) for row in rows[1:])


@given(messages=MESSAGES)
def test_extract_lists_no_word_twice_in_one_line(messages: list[Message]) -> None:
    """Room is dear: what a sentence or a head names is not listed behind it."""
    for row in notes(messages, 600).text.splitlines()[1:]:
        words = [word for part in LISTS.findall(row) for word in part.split(", ")]
        assert len(words) == len(set(words)), row


@pytest.mark.parametrize("pattern", ["x", "a/", "\\n\\t", "aB", "😀", '"', "1. ", "```\n", "Error: ", "{"])
def test_extract_reads_a_huge_message_in_little_time(pattern: str) -> None:
    """A single line of 16 MB, as text, result or argument: both ends are read, the limit is kept."""
    huge = pattern * (16_000_000 // len(pattern))
    made = Message("assistant", huge, "", "test", calls=(ToolCall("1", "run", huge),))
    start = time.process_time()
    text = extract([made, Message("tool", huge, "", "test", results=("1",))], limit_tokens=300, counter=CLASSES)
    assert text.cost.bound <= 300
    assert time.process_time() - start < 5


def test_extract_takes_time_in_proportion_to_the_messages() -> None:
    """Four thousand tokens in well under a second, ten times as many in no more than about ten times that."""

    def seconds(count: int) -> float:
        messages = [
            said(
                "assistant",
                f"Step {at} of the plan.",
                (str(at), "edit", {"path": f"src/file_{at}.ts", "new": CART * 3}),
            )
            for at in range(count)
        ]
        start = time.process_time()
        notes(messages, 1000)
        return time.process_time() - start

    seconds(20)
    assert seconds(200) < 40 * max(0.004, seconds(20))


def test_words_are_those_of_six_letters_and_pairs_where_nothing_parts_them() -> None:
    """In lower case, each once, in order."""
    assert words_in("The cache of Prices, prices and the Pr\u00fcfung") == ("prices", "pr\u00fcfung")
    assert words_in("\u7f13\u5b58\u4ef7\u683c cached") == ("cached", "\u7f13\u5b58", "\u4ef7\u683c")


def test_neither_names_nor_talk_starve_the_other() -> None:
    """A tool that lists a thousand names leaves room for what was found, and long talk for the names."""
    names = " ".join(f"module_{at}_name" for at in range(400))
    found = " ".join(f"The {word} overflowed because nobody emptied it." for word in ("cistern", "gutter", "reservoir"))
    listing = Message("tool", names, "", "test", results=("1",))
    call = Message("assistant", "", "", "test", calls=(ToolCall("1", "list", '{"path": "src"}'),))
    text = extract([call, listing, Message("assistant", found, "", "test")], limit_tokens=400, counter=CLASSES).text
    assert "cistern" in text
    assert "module_0_name" in text
    talk = [Message("assistant", f"{found} {at}.", "", "test") for at in range(60)]
    told = extract([call, listing, *talk], limit_tokens=400, counter=CLASSES).text
    assert len(re.findall(r"module_\d+_name", told)) > 10
