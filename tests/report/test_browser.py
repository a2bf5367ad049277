"""The page of a report in Chromium: what it shows, how it is used, and what no text of a session can make it do."""

from __future__ import annotations

import json
import random
import re
import shutil
import time
from contextlib import contextmanager
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import pytest

import squidbot
from squidbot.report.data import ReportData, without_text
from squidbot.report.page import page_around, page_of, write_page
from tests.report.made import Made
from tests.report.test_recorded import data_of, imported, talked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
try:
    from playwright.sync_api import sync_playwright
except ImportError:
    sync_playwright = None

WHY = "needs Playwright (uv run --group browser) and an installed Chromium"
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(sync_playwright is None or CHROMIUM is None, reason=WHY),
    # One browser for the file, so one process.
    pytest.mark.xdist_group("browser"),
]
VIEWS = ("overview", "map", "call", "message", "tables")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start the installed Chromium once."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def data() -> ReportData:
    """Return a session with compactions, an undo, branches, and what was recalled and forgotten."""
    return Made().data()


Opened = Any  # a page of Playwright, which is not installed where types are checked


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Opened]]:  # noqa: ANN401
    """Return a function that writes a report and opens it; no error, and no request but the file, may come of it."""
    contexts, bad = [], list[str]()

    def dismissed(dialog: Any) -> None:  # noqa: ANN401
        bad.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def open_page(report: ReportData, place: str = "", **settings: Any) -> Opened:  # noqa: ANN401
        path = tmp_path / "report.html"
        write_page(report, path)
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}} | settings)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: bad.append(f"error: {error}"))
        page.on("console", lambda message: bad.append(message.text) if message.type in {"error", "warning"} else None)
        page.on("dialog", dismissed)
        page.on("request", lambda one: None if one.url.startswith(path.as_uri()) else bad.append(f"asks {one.url}"))
        page.goto(f"{path.as_uri()}{place}")
        page.wait_for_selector("#tabs [aria-selected=true]")
        page.wait_for_timeout(60)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert bad == []


def figure(value: float) -> str:
    """Return a number as the page writes it."""
    return f"{round(value):,}"


def settle(page: Opened) -> None:
    """Wait until the page has drawn what was asked for."""
    page.evaluate("new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(go, 0))))")


def place_of(page: Opened) -> str:
    """Return where the page is, as its address says."""
    page.wait_for_timeout(150)  # it is kept once a wheel has stopped
    return str(page.evaluate("location.hash"))


# -- what it shows ---------------------------------------------------------------------------------------------------


def test_overview_says_the_figures_of_the_data(opened: Callable[..., Opened], data: ReportData) -> None:
    """Totals in their boxes, a bar for each call, and an answer to each of ten questions."""
    page, all_ = opened(data), data.values["totals"]
    text = page.inner_text("#totals")
    for value in (
        all_["calls"],
        all_["messages"],
        all_["said_tokens"],
        all_["price"],
        all_["everything_price"],
        all_["output_price"],
    ):
        assert figure(value) in text
    assert f"{all_['rebuilt']} of {all_['calls']}" in text
    assert page.locator("#questions dt").count() == 10
    assert "made does not fit" in page.inner_text("#questions")
    page.locator("#chart-tokens svg[tabindex]").focus()
    page.keyboard.press("Home")
    for call in data.values["calls"][:12]:
        shown = page.inner_text("#chart-tokens .readout")
        assert f"Call {call['call']}" in shown
        assert figure(call["tokens"]) in shown
        for tokens in call["by"].values():
            assert figure(tokens) in shown
        page.keyboard.press("ArrowRight")


def test_messages_that_a_recording_shows_and_the_agent_left_out(opened: Callable[..., Opened], tmp_path: Path) -> None:
    """The provider reported far less than all of them: the page says so, and that it does not know which."""
    talk = talked(tmp_path / "talk")
    talk.usage = {"input_tokens": 20, "output_tokens": 5}
    talk.say("So be it " * 200)
    talk.answer("Yes.")
    with squidbot.load({"summary": {"scheduler": "none"}}) as engine:
        said = opened(data_of(imported(engine, talk))).inner_text("#totals")
    assert "In 1 call, the provider reported far fewer than these messages have" in said
    assert "In 3 calls, the provider reported more tokens" in said


@pytest.mark.parametrize("is_reported", [True, False])
def test_an_imported_session_says_what_its_recording_tells(
    opened: Callable[..., Opened], tmp_path: Path, *, is_reported: bool
) -> None:
    """Whose it is, its calls and compactions; nothing of a limit that was kept, or of requests that were verified."""
    talk = talked(tmp_path / "talk")
    if not is_reported:
        talk.path.write_text(talk.path.read_text().replace('"usage"', '"unused"'))
    with squidbot.load({"summary": {"scheduler": "none"}}) as engine:
        page = opened(data_of(imported(engine, talk)))
    said = page.inner_text("#totals")
    assert "imported from Claude Code (project /work/app): the model was called 3 times" in said
    assert "The agent compacted 1 time" in said
    assert ("In 3 calls, the provider reported more tokens" in said) == is_reported
    assert ("tokens and prices are estimated" in said) == (not is_reported)
    assert page.locator("#questions dt").count() == 10
    assert page.locator("#chart-tokens .limit, #chart-tokens .bound").count() == 0
    assert not page.is_visible("#chart-sum")
    told = ""
    for place in ("overview", "map", "call&call=2", "message&message=1", "tables"):
        page.evaluate(f"location.hash = '#view={place}'")
        settle(page)
        told += page.inner_text("main")
    assert "The agent's compaction:" in told
    assert "What the agent can have sent: 2 messages" in told
    assert "Sent word for word until call 1; left out from call 2 on." in told
    never = (
        "squidbot kept",
        "Verified",
        "verified",
        "byte for byte",
        "everything",
        "bound",
        "NaN",
        "undefined",
        "null",
    )
    assert [words for words in never if words in told] == []


def test_readout_lies_beside_the_cursor(opened: Callable[..., Opened], data: ReportData) -> None:
    """With all that it says inside of its frame."""
    page = opened(data)
    box = page.locator("#chart-tokens svg[tabindex]").bounding_box()
    for share in (0.3, 0.8):
        page.mouse.move(box["x"] + box["width"] * share, box["y"] + 120)
        settle(page)
        frame = page.locator("#chart-tokens .readout").bounding_box()
        rows = [one.bounding_box() for one in page.locator("#chart-tokens .readout li b").all()]
        assert rows
        assert all(row["x"] + row["width"] <= frame["x"] + frame["width"] for row in rows)
        assert box["x"] <= frame["x"] < frame["x"] + frame["width"] <= box["x"] + box["width"]


def test_bars_are_as_high_as_their_tokens(opened: Callable[..., Opened], data: ReportData) -> None:
    """Together, the layers of a column are as high as the call has tokens, on the scale of the axis."""
    page = opened(data)
    tops = page.evaluate(
        """() => {
          const boxes = new Map();
          for (const path of document.querySelectorAll('#chart-tokens [data-layer]'))
            for (const part of path.getAttribute('d').split('M').slice(1)) {
              const [, x, y, low] = /^([\\d.]+) ([\\d.]+)h.*?V([\\d.]+)/.exec(part).map(Number);
              const [lowest, highest, sum] = boxes.get(x) ?? [0, Infinity, 0];
              boxes.set(x, [Math.max(lowest, low), Math.min(highest, y), sum + low - y]);
            }
          return [...boxes].sort((one, other) => one[0] - other[0]).map((one) => one[1]);
        }"""
    )
    tokens = [call["tokens"] for call in data.values["calls"]]
    assert len(tops) == len(tokens)
    scale = tops[-1][2] / tokens[-1]
    assert all(abs(top[2] - scale * count) < 1.5 for top, count in zip(tops, tokens, strict=True))
    assert all(abs(low - high - height) < 1.5 for low, high, height in tops), "layers lie on each other"


def test_money_is_the_price_of_a_million_tokens(opened: Callable[..., Opened], data: ReportData) -> None:
    """The switch is there only where the price is known."""
    page = opened(data)
    page.check("#money")
    settle(page)
    assert f"{data.values['totals']['everything_price'] * 3 / 1e6:.2f}" in page.inner_text("#totals")
    free = ReportData(data.values | {"prices": data.values["prices"] | {"per_million": None}}, data.texts)
    assert not opened(free).is_visible("#money")


def test_call_shows_its_parts_and_what_changed(opened: Callable[..., Opened], data: ReportData) -> None:
    """A compaction's call says which messages went into which note."""
    values = data.values
    page = opened(data, "#view=call&call=10")
    call = values["calls"][10]
    text = page.inner_text("#call")
    assert f"{figure(call['tokens'])} of 6,000" in text
    assert f"Compaction (high-water): {figure(values['compactions'][0]['before'])}" in text
    page.wait_for_selector("#call .parts li")
    assert page.locator("#call .parts li").count() == len(call["add"])
    notes = [values["parts"][number]["summary"] for number in call["add"] if values["parts"][number]["how"] == "note"]
    assert notes
    assert all(note in page.inner_text("#call .diff") for note in notes)
    assert data.texts[values["messages"][20]["text"]] in page.inner_text("#call .parts")
    page.click("#call .diff button >> nth=0")
    settle(page)
    assert data.texts[0] in page.inner_text("#call .diff pre.text >> nth=0")
    page.evaluate("(values) => window.squidbotReport.update(values)", values)
    settle(page)
    assert data.texts[0] in page.inner_text("#call .diff pre.text >> nth=0"), "newer data fold nothing in"
    page.keyboard.press("n")
    settle(page)
    assert "Undo" in page.inner_text("#call")
    page.keyboard.press("k")
    settle(page)
    assert "call=19" in place_of(page)


def test_message_tells_its_story(opened: Callable[..., Opened], data: ReportData) -> None:
    """From word for word to the note that stands for it, with the copy that was recalled between them."""
    page = opened(data, "#view=message&message=1")
    story = page.inner_text("#message .card p")
    assert "Sent word for word until call 9; from call 10 on in note s0-" in story
    assert "recalled at call 17 (copy m34) until call" in story
    assert data.texts[1] in page.inner_text("#message pre.text >> nth=0")
    assert "made.txt" in page.inner_text("#message .card")


def test_texts_are_searched_and_hits_open_their_message(opened: Callable[..., Opened]) -> None:
    """Chunk by chunk: the hit lies in the last one."""
    report = Made(words="{} " + "x" * 9000).data()
    report.texts[61] = f"{'y' * 70_000} The Needle is here"
    page = opened(report, "#view=message")
    page.keyboard.press("/")
    settle(page)
    settle(page)
    page.keyboard.type("the needle")
    page.keyboard.press("Enter")
    page.wait_for_selector("#message .hits li")
    page.wait_for_selector("#message progress[hidden]", state="attached")
    assert page.inner_text("#message .hits").startswith("m61 assistant")
    page.click("#message .hits a")
    page.wait_for_selector("#message-body mark")
    assert page.inner_text("#message-body mark") == "The Needle"


@pytest.mark.parametrize(
    "name", ["compactions", "heaviest", "tools", "recalled", "missing", "errors", "lines", "policies"]
)
def test_table_has_a_row_for_each_of_the_data(opened: Callable[..., Opened], data: ReportData, name: str) -> None:
    """A row leads to its call or message, and a table sorts by its columns."""
    page = opened(data, f"#view=tables&table={name}")
    rows = page.locator(f"#table-{name} tbody tr")
    assert rows.count() == len(data.values[name]) + (name == "policies")
    assert page.locator(f"#table-{name} caption").count() == 1
    assert page.locator(f"#table-{name} thead th[scope=col]").count() > 1
    before = rows.all_inner_texts()
    page.locator(f"#table-{name} thead button").first.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert page.get_attribute(f"#table-{name} thead th >> nth=0", "aria-sort") == "descending"
    assert sorted(rows.all_inner_texts()) == sorted(before)
    rows.first.locator("td").last.click()
    settle(page)
    assert name in {"policies", "tools"} or re.search("view=(call|message)", place_of(page))


def test_map_says_of_each_place_what_follows_from_the_parts(opened: Callable[..., Opened], data: ReportData) -> None:
    """Against a plain reading of the data, where states change, and for places drawn at random."""
    page, drawn = opened(data, "#view=map"), random.Random(7)  # noqa: S311
    messages, calls = len(data.values["messages"]), len(data.values["calls"])
    places = [(message, call) for message in (1, 4, 6, 34, 70) for call in (9, 18, 20, 37)]
    places += [(drawn.randrange(messages), drawn.randrange(calls)) for _ in range(40)]
    wrong = []
    for message, call in places:
        page.evaluate(f"location.hash = '#view=map&message={message}&call={call}'")
        settle(page)
        said = page.inner_text("#map-readout p >> nth=0")
        if expected(data.values, message, call) not in said:
            wrong.append((message, call, expected(data.values, message, call), said))
    assert wrong == []


def expected(values: dict[str, Any], message: int, call: int) -> str:
    """Return how a message stands at a call, read from the parts of that call alone."""
    stack = list[int]()
    for one in values["calls"][: call + 1]:
        stack[one["keep"] :] = one["add"]
    parts, at = [values["parts"][number] for number in stack], values["calls"][call]
    own = [
        part["how"]
        for part in parts
        if part["first"] == part["last"] == message and part["how"] not in {"note", "absent"}
    ]
    covers = [part for part in parts if part["how"] in {"note", "absent"} and part["first"] <= message <= part["last"]]
    words = {
        "raw": "word for word",
        "truncated": "on its arrival",
        "recalled": "recalled copy",
        "forgotten": "was forgotten",
    }
    runs = next(line["runs"] for line in values["lines"] if line["number"] == at["line"])
    copies = [part for part in parts if part["how"] == "recalled" and 1 <= message <= 2]
    if message >= at["answer"]:
        return "was not said yet"
    if own:
        return words[own[0]]
    if not any(first <= message <= last for first, last in runs):
        return "is on another branch"
    if copies:
        return "recalled copy"
    if "forgotten" in values["messages"][message]["flags"]:
        return "was forgotten"
    return f"stands in a {covers[0]['level']} note" if covers and covers[0]["how"] == "note" else "is left out"


def test_without_texts_everything_else_is_there(opened: Callable[..., Opened], data: ReportData) -> None:
    """The form for showing to others."""
    page = opened(without_text(data))
    for view in VIEWS:
        page.click(f"#tab-{view}")
        settle(page)
        assert len(page.inner_text(f"#{view}")) > 50
    page.click("#tab-message")
    settle(page)
    assert "(left out)" in page.inner_text("#message")
    assert "a session" in page.title()


def test_call_that_can_not_be_rebuilt_says_why(opened: Callable[..., Opened], data: ReportData) -> None:
    """A session of a store, whose message is gone: the map says that it is unknown."""
    values = deepcopy(data.values) | {"source": "store", "missing": []}
    whole = list[int]()
    for call in values["calls"][:14]:
        whole[call["keep"] :] = call["add"]
    values["calls"][12] |= {"keep": 0, "add": [], "problem": "message 3 is not stored", "is_same": False}
    values["calls"][13] |= {"keep": 0, "add": whole}
    page = opened(ReportData(values, data.texts), "#view=call&call=12")
    assert "message 3 is not stored" in page.inner_text("#call")
    page.evaluate("location.hash = '#view=map&message=22&call=12'")
    settle(page)
    assert "unknown" in page.inner_text("#map-readout")


def test_session_without_a_call_says_why(opened: Callable[..., Opened], data: ReportData) -> None:
    """A live page may begin before the first one, and a first prompt may be too long."""
    bare: dict[str, Any] = {
        name: [] for name in ("calls", "parts", "compactions", "missing", "heaviest", "tools", "recalled")
    }
    everything = {"name": "send everything", "ours": False, "is_this": False, "tokens": [], "cached": [], "price": []}
    values = data.values | bare | {"messages": data.values["messages"][:1], "policies": [everything]}
    values |= {"totals": dict.fromkeys(data.values["totals"], 0) | {"messages": 1}}
    for count in (1, 0):
        page = opened(ReportData(values | {"messages": values["messages"][:count]}, data.texts))
        for view in VIEWS:
            page.click(f"#tab-{view}")
            settle(page)
            assert page.inner_text(f"#{view}")
            page.mouse.move(500, 500)
            page.keyboard.press("n")
            page.keyboard.press("j")
        page.click("#tab-overview")
        settle(page)
        assert "made does not fit" in page.inner_text("#questions")


# What people ask, where they click, and what the page then says. docs/report.md tells them the same.
QUESTIONS = {
    "died of a prompt that was too long": (["#questions a[href*='errors']"], "#table-errors", "made does not fit"),
    "what compaction took out": (["#questions a[href*='call=20']"], "#call .diff", "in place of"),
    "where the words are": (["#questions a[href*='call=20']", ".diff button >> nth=1"], "#call .diff pre", "made"),
    "a smaller prompt cost more": (["#questions dd >> nth=2 >> a"], "#call", "written again"),
    "a tool result without its call": (["#questions dd >> nth=3 >> a"], "#message", "the result of the call in m15"),
    "what fills the window": (["#questions a[href*='heaviest']"], "#table-heaviest", "m1"),
    "the model does not know a file": (["#questions a[href*='missing']"], "#table-missing", "made.txt"),
    "another policy": (["#questions a[href*='policies']"], "#table-policies", "send everything"),
    "how sure the count is": (["#questions dd >> nth=7 >> a"], "#call", "Provider's report"),
    "what was recalled": (["#questions a[href*='recalled']"], "#table-recalled", "m1\u2013m2"),
    "what was sent at a call": (["#questions form button"], "#call", "The whole request"),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_question_is_answered_after_two_clicks(opened: Callable[..., Opened], data: ReportData, question: str) -> None:
    """At most, from the page as it opens."""
    page, (clicks, where, answer) = opened(data), QUESTIONS[question]
    assert len(clicks) <= 2
    for click in clicks:
        page.locator(click).first.click()
        settle(page)
    assert answer in page.locator(where).first.inner_text()


# -- how it is used --------------------------------------------------------------------------------------------------


def test_pointer_says_figures_and_opens_a_call(opened: Callable[..., Opened], data: ReportData) -> None:
    """And the way back leads to where it came from."""
    page = opened(data)
    box = page.locator("#chart-tokens svg[tabindex]").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 150)
    found = re.search(r"Call (\d+)", page.inner_text("#chart-tokens .readout"))
    assert found
    page.mouse.down()
    page.mouse.up()
    settle(page)
    assert f"Call {found[1]} of 40" in page.inner_text("#call")
    page.go_back()
    settle(page)
    assert page.is_visible("#overview")
    assert not page.is_visible("#call")


def test_views_are_tabs_for_mouse_and_keys(opened: Callable[..., Opened], data: ReportData) -> None:
    """Arrows go from tab to tab, and figures open views from anywhere."""
    page = opened(data)
    for at, view in enumerate(VIEWS):
        page.keyboard.press(str(at + 1))
        settle(page)
        assert page.get_attribute(f"#tab-{view}", "aria-selected") == "true"
        assert [one for one in VIEWS if page.is_visible(f"#{one}")] == [view]
    page.focus("#tab-tables")
    page.keyboard.press("ArrowRight")
    settle(page)
    assert page.is_visible("#overview")
    assert page.evaluate("document.activeElement.id") == "tab-overview"
    page.keyboard.press("?")
    assert page.is_visible("#keys")
    page.click("#keys button")
    assert not page.is_visible("#keys")
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_zoom_is_shared_and_kept_in_the_address(opened: Callable[..., Opened]) -> None:
    """By keys, wheel and brush, in charts and map."""
    page = opened(Made(calls=90).data())
    page.focus("#chart-tokens svg[tabindex]")
    page.keyboard.press("+")
    settle(page)
    first = re.search(r"calls=(\d+)-(\d+)", place_of(page))
    assert first
    page.keyboard.press("0")
    settle(page)
    assert "calls=" not in place_of(page)
    box = page.locator("#chart-tokens svg[tabindex]").bounding_box()
    page.mouse.move(box["x"] + 300, box["y"] + 100)
    page.mouse.wheel(0, -200)
    settle(page)
    wheeled = re.search(r"calls=(\d+)-(\d+)", place_of(page))
    assert wheeled
    page.mouse.down()
    page.mouse.move(box["x"] + 500, box["y"] + 110, steps=4)
    page.mouse.up()
    settle(page)
    brushed = re.search(r"calls=(\d+)-(\d+)", place_of(page))
    assert brushed
    assert int(wheeled[1]) <= int(brushed[1]) < int(brushed[2]) <= int(wheeled[2])
    page.click("#tab-map")
    settle(page)
    assert brushed[0] in place_of(page)
    page.focus("#map canvas")
    page.keyboard.press("+")
    settle(page)
    assert re.search(r"messages=\d+-\d+", place_of(page))


def test_map_is_used_by_pointer_and_keys(opened: Callable[..., Opened], data: ReportData) -> None:
    """A click chooses a place; its message has a table that says the same in words."""
    page = opened(data, "#view=map")
    box = page.locator("#map canvas").bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.8, box["y"] + box["height"] * 0.3)
    settle(page)
    chosen = re.search(r"message=(\d+)", place_of(page))
    assert chosen
    assert f"m{chosen[1]}, run by run" in page.inner_text("#map table caption")
    page.focus("#map canvas")
    page.keyboard.press("ArrowUp")
    settle(page)
    assert f"message={int(chosen[1]) - 1}" in place_of(page)
    assert f"m{int(chosen[1]) - 1}" in page.inner_text("#map-readout")
    page.keyboard.press("Enter")
    settle(page)
    assert f"Message m{int(chosen[1]) - 1}" in page.inner_text("#message")


def test_themes_follow_the_system_and_the_button(opened: Callable[..., Opened], data: ReportData) -> None:
    """Text is readable on its background in both."""
    page = opened(data, color_scheme="dark")
    colours = "(() => { const s = getComputedStyle(document.documentElement); return [s.backgroundColor, s.color]; })()"
    dark = page.evaluate(colours)
    assert dark[0] == "rgb(20, 23, 28)"
    page.keyboard.press("t")
    page.keyboard.press("t")
    assert page.evaluate(colours)[0] == "rgb(255, 255, 255)"
    assert "light" in page.inner_text("#theme")


@pytest.mark.parametrize("view", VIEWS)
def test_page_is_as_wide_as_a_phone(opened: Callable[..., Opened], data: ReportData, view: str) -> None:
    """Nothing sticks out at 400 pixels: wide tables scroll in themselves."""
    page = opened(data, f"#view={view}&call=10&message=6", viewport={"width": 400, "height": 800})
    settle(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_print_has_all_charts_and_tables_and_no_controls(opened: Callable[..., Opened], data: ReportData) -> None:
    """In light colours, and what was there before is there again behind it."""
    page = opened(data, color_scheme="dark")
    page.emulate_media(media="print")
    settle(page)
    assert page.is_visible("#overview")
    assert page.is_visible("#map canvas")
    assert page.locator("#table-compactions tbody tr").count() == len(data.values["compactions"])
    assert not page.is_visible("#theme")
    assert not page.is_visible("#tabs")
    assert not page.is_visible("#overview-tools")
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
    assert len(page.pdf()) > 30_000
    page.emulate_media(media="screen")
    settle(page)
    assert [one for one in VIEWS if page.is_visible(f"#{one}")] == ["overview"]
    assert page.is_visible("#theme")


def test_newer_data_keep_what_was_chosen_and_leave_nothing_behind(opened: Callable[..., Opened]) -> None:
    """View, zoom, selection and sorting stay; neither elements nor listeners grow."""
    older, newer = Made(calls=30).data(), Made(calls=40).data()
    page = opened(newer)
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable")

    def counted() -> dict[str, float]:
        devtools.send("HeapProfiler.collectGarbage")
        metrics = {one["name"]: one["value"] for one in devtools.send("Performance.getMetrics")["metrics"]}
        return {name: metrics[name] for name in ("Nodes", "JSEventListeners")}

    def redrawn(times: int) -> None:
        page.evaluate(
            """async ([older, newer, times]) => {
              for (let at = 0; at < times; at += 1) {
                window.squidbotReport.update(at % 2 ? newer : older);
                await new Promise((go) => requestAnimationFrame(() => setTimeout(go, 0)));
              }
            }""",
            [older.values, newer.values, times],
        )

    for view in VIEWS:
        page.evaluate(f"location.hash = '#view={view}&call=12&message=9&calls=5-25'")
        settle(page)
        redrawn(4)
        before, place = counted(), place_of(page)
        redrawn(20)
        settle(page)
        after = counted()
        assert place_of(page) == place
        assert page.is_visible(f"#{view}")
        assert after["JSEventListeners"] <= before["JSEventListeners"] + 3, view
        assert after["Nodes"] <= before["Nodes"] + 60, view
    assert "40" in page.inner_text("#subtitle")


# -- what no text can do ---------------------------------------------------------------------------------------------

HANDLERS = ("onload", "onerror", "onclick", "onfocus", "onmouseover", "onanimationstart", "ontoggle", "onbegin")
TAGS = ("img src=x", "svg", "body", "input autofocus", "details open", "video src=x", "iframe", "math", "object data=x")
SCHEMES = ("javascript:", "JaVaScRiPt:", "java\tscript:", "data:text/html,<script>", "vbscript:", "&#106;avascript:")
RUN = "window.ran=1,alert(1)"
VECTORS = [
    *(f"<{tag} {handler}={RUN}>" for tag in TAGS for handler in HANDLERS),
    *(f'"{end}><{tag} {one}="{RUN}" x=' for end in ("'", "", "]]>") for tag in TAGS[:5] for one in HANDLERS[:6]),
    *(f"<a href='{scheme}{RUN}'>" for scheme in SCHEMES),
    *(f"{end}<script>{RUN}</script>" for end in ("", "</script>", "</style>", "</title>", "-->", "</pre>", "</svg>")),
    *(f"{open_}{RUN}{shut}" for open_, shut in (("${", "}"), ("{{", "}}"), ("`;", "//"), ("';", "//"), ('");', "//"))),
    *(f"\\u{code}script\\u003e{RUN}" for code in ("003c", "2028", "2029", "FEFF")),
    "__proto__", "constructor", "toString", "hasOwnProperty", "</script", "<!--<script>", "<base href=//x>",
    "<meta http-equiv=refresh content=0;url=//x>", "<link rel=stylesheet href=//x>", "<style>@import '//x'</style>",
    "<form action=//x><button autofocus>", "url(//x)", "expression(1)", "\x00<script>", "\u202e<script>\u2066",
    "\x1b]8;;//x\x07",
    "%3Cscript%3E", "&lt;script&gt;", "<svg><animate onbegin=alert(1)>", "<svg><use href=//x>", "x\r\nSet-Cookie: a",
    "<template shadowrootmode=open><script>alert(1)</script>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
]  # fmt: skip


def poisoned(report: ReportData) -> ReportData:
    """Return a report with another vector in every text of its values, and with all of them in its texts."""
    at = 0

    def poison(value: Any, key: str = "") -> Any:  # noqa: ANN401
        nonlocal at
        if isinstance(value, dict):
            return {name: poison(one, name) for name, one in value.items()}
        if isinstance(value, list):
            return [poison(one, key) for one in value]
        # Of these, each must be one of a few that the page knows for it to show the part at all.
        if isinstance(value, str) and key not in {"groups", "how", "group"}:
            at += 1
            return VECTORS[at % len(VECTORS)]
        return value

    values = poison(report.values)
    for number, message in enumerate(values["messages"]):
        message |= {
            "role": VECTORS[number % len(VECTORS)] if number % 3 else message["role"],
            "flags": [VECTORS[number % 7]],
        }
    return ReportData(values, [VECTORS[number % len(VECTORS)] for number in range(len(report.texts))])


def test_no_text_runs_as_a_script(opened: Callable[..., Opened]) -> None:
    """Of two hundred ways, in every field, in every view, none does, and each is shown."""
    assert len(VECTORS) >= 200
    report = poisoned(Made(calls=len(VECTORS) // 2 + 1).data())
    page = opened(report)
    only = page.evaluate(
        "document.querySelectorAll('script, style, iframe, object, embed, form, img, base, link, meta').length"
    )
    for place in [f"#view={view}&message=3&call=10" for view in VIEWS] + [
        f"#view={view}&message={at}&call={at}" for view in ("call", "message", "map") for at in range(20, 100, 20)
    ]:
        page.evaluate("(place) => { location.hash = place; }", place)
        settle(page)
        page.mouse.move(600, 400)
        assert page.evaluate("window.ran") is None
        assert page.evaluate("document.querySelectorAll('iframe, object, embed, img, base, video, math').length") == 0
        assert page.evaluate("[...document.querySelectorAll('a')].every((a) => a.getAttribute('href').startsWith('#'))")
        assert page.evaluate("document.querySelectorAll('script, style, link, meta').length") <= only
    for at in range(0, len(VECTORS), 9):
        page.evaluate(f"location.hash = '#view=message&message={at}'")
        page.wait_for_selector(f"#message h2:has-text('m{at}:')")
        page.wait_for_timeout(20)
        text = page.inner_text("#message-text pre.text")
        assert re.sub("[\u2400-\u243f]|\u2039U.*?\u203a|\\s", "", text) == re.sub(
            r"[\x00-\x20\u202e\u2066]", "", VECTORS[at]
        )
    page.fill("#search", "<")
    page.keyboard.press("Enter")
    page.wait_for_selector("#message .hits li")
    settle(page)
    page.evaluate("location.hash = '#view=<img src=x onerror=alert(1)>&table=</script>&call=1e9&calls=__proto__'")
    settle(page)
    assert page.is_visible("#overview")
    assert page.evaluate("window.ran") is None


def test_characters_that_do_not_print_are_shown(opened: Callable[..., Opened], data: ReportData) -> None:
    """Control characters, directions and halves of pairs, by their number; what prints stays."""
    texts = [*data.texts]
    texts[20] = "a\x1b[31mred\x07 \x9b0m \u202eevil\u2066 \ud800 half \U0001f600 caf\u00e9 \u4e2d \u05d0\ttab"
    page = opened(ReportData(data.values, texts), "#view=message&message=20")
    shown = page.inner_text("#message-body pre.text >> nth=0")
    assert (
        "a\u241b[31mred\u2407 \u2039U+009B\u203a0m \u2039U+202E\u203aevil\u2039U+2066\u203a \u2039U+D800\u203a half"
        in shown
    )
    assert "\U0001f600 caf\u00e9 \u4e2d \u05d0" in shown


# -- how fast it is --------------------------------------------------------------------------------------------------

WATCH = """
window.longest = 0;
new PerformanceObserver((list) => {
  for (const one of list.getEntries()) window.longest = Math.max(window.longest, one.duration);
}).observe({ type: 'longtask' });
"""


@contextmanager
def longest_task(page: Opened) -> Iterator[list[float]]:
    """Measure the longest time for which the page did not react, in milliseconds."""
    found = list[float]()
    page.wait_for_timeout(150)
    page.evaluate("window.longest = 0")
    yield found
    page.wait_for_timeout(150)
    found.append(page.evaluate("window.longest"))


def _opening(page: Any, path: Path) -> float:  # noqa: ANN401
    """Open a page, and return how long that took, in seconds."""
    started = time.perf_counter()
    page.goto(path.as_uri())
    page.wait_for_selector("#chart-tokens [data-layer]", state="attached")
    return time.perf_counter() - started


# Other work on the machine makes long what is short, and never the other way round: the best of so many rounds counts.
ROUNDS = 4


def test_large_report_opens_at_once_and_never_blocks(browser: Any, tmp_path: Path) -> None:  # noqa: ANN401
    """10,000 messages by 5,000 calls, a thousand of which scroll and zoom."""
    report = Made(calls=5000, every=25, words="message {} " + "words that were said and are long enough " * 8).data()
    path = tmp_path / "large.html"
    write_page(report, path)
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.add_init_script(WATCH)
    opening = min(_opening(page, path) for _ in range(ROUNDS))
    figures: dict[str, Any] = {
        "bytes": path.stat().st_size,
        "opens": round(opening, 3),
        "longest when opening": page.evaluate("window.longest"),
    }
    for view, target in (("overview", "#chart-tokens svg[tabindex]"), ("map", "#map canvas")):
        with longest_task(page) as figures[f"switch to {view}"]:
            page.click(f"#tab-{view}")
        page.wait_for_timeout(400)
        page.focus(target)
        box = page.locator(target).bounding_box()
        page.mouse.move(box["x"] + 700, box["y"] + 150)
        for turn in range(ROUNDS):
            with longest_task(page) as figures[f"zoom {view} {turn}"]:
                for at in range(24):
                    page.mouse.wheel(0, -120 if at < 14 else 120)
                    page.mouse.move(box["x"] + 500 + 10 * at, box["y"] + 100 + 5 * at)
            with longest_task(page) as figures[f"scroll {view} {turn}"]:
                for key in ["Shift+ArrowRight", "Shift+ArrowLeft", "Shift+ArrowDown", "ArrowRight", "ArrowDown"] * 4:
                    page.keyboard.press(key)
    with longest_task(page) as figures["search"]:
        page.click("#tab-message")
        page.fill("#search", "message 9999 ")
        page.keyboard.press("Enter")
        page.wait_for_selector("#message .hits li", timeout=20_000)
    for place in ("#view=call&call=4990", "#view=message&message=3", "#view=tables"):
        with longest_task(page) as figures[place]:
            page.evaluate(f"location.hash = '{place}'")
    context.close()
    print(json.dumps(figures, indent=1))  # noqa: T201
    assert opening < 1.0
    moving = [
        min(figures[f"{kind} {view} {turn}"][0] for turn in range(ROUNDS))
        for kind in ("zoom", "scroll")
        for view in ("overview", "map")
    ]
    assert max(moving) <= 100


def test_page_without_data_waits_for_its_door(browser: Any, tmp_path: Path) -> None:  # noqa: ANN401
    """A script behind the page's own opens it, with texts that it gets itself."""
    report = Made().data()
    path = tmp_path / "live.html"
    path.write_text(page_around(script="window.isReady = true;"), encoding="utf-8")
    context = browser.new_context()
    page = context.new_page()
    page.goto(path.as_uri())
    assert page.evaluate("window.isReady")
    page.evaluate(
        "([values, texts]) => window.squidbotReport.open(values, async (number) => texts[number])",
        [report.values, report.texts],
    )
    page.click("#tab-message")
    page.wait_for_selector("#message pre.text:has-text('message 0')")
    assert page_of(report) != path.read_text(encoding="utf-8")
    context.close()
