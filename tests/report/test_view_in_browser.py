"""The pages in Chromium: logged in by the address, a session is opened, grows, and a fact is forgotten."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

import squidbot
from squidbot.codecs.recordings import claude_code
from squidbot.core.memories import SHARED, Scope
from squidbot.report.listing import key_of
from squidbot.services.recordings import RecordingImporter

from ..commands.conftest import talk
from .serving import Talker, base_of, served
from .test_gate import TOKENS, USERS
from .test_recorded import talked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from squidbot.core.access import AccessTokens

pytestmark = pytest.mark.browser
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
AGENT = {"store": {"path": "s.db"}, "window": {"default": 3_000}}
HOSTILE = '<img src=x onerror="window.owned=1"><script>window.owned=1</script>'
PHONE = {"width": 400, "height": 800}
PRESS = """(keys) => {
  for (const key of keys) document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  return document.activeElement.ariaLabel;
}"""


@contextmanager
def opened(
    address: str,
    allowed: str = "\0",
    **context: Any,  # noqa: ANN401  # of a package that may not be there
) -> Iterator[Any]:
    """Give a page of a fresh browser at an address; nothing but what has `allowed` may be written to its console."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is missing: the group `browser`")
    if CHROMIUM is None:
        pytest.skip("Chromium is missing")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_context(**context).new_page()
        wrong: list[str] = []
        page.on("console", lambda message: wrong.append(message.text) if message.type in {"error", "warning"} else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.set_default_timeout(10_000)
        page.goto(address)
        yield page
        assert [text for text in wrong if allowed not in text] == []
        assert page.evaluate("window.owned") is None
        browser.close()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with a session, a hostile one, and a fact of each kind of text."""
    monkeypatch.chdir(tmp_path)
    with squidbot.load(AGENT) as engine:
        talk(engine.session("support/42"))
        session = engine.session(HOSTILE, scope=Scope(user="ann"))
        session.record({"role": "user", "content": f"zebra {HOSTILE}"})
        session.goals.change("set", HOSTILE)
        for text in ("Ann keeps bees", f"Ann says {HOSTILE}"):
            session.memory({"action": "add", "text": text})
    return tmp_path


def test_a_session_is_opened_and_grows(folder: Path) -> None:
    """By the address of the terminal: the list, a session, and what another process adds to it."""
    with served("s.db") as server, Talker(AGENT) as agent, opened(server.address()) as page:
        assert page.url.endswith("/")
        page.get_by_role("link", name="support/42").wait_for()
        assert HOSTILE in page.locator("td a.name").all_inner_texts()
        agent.say("newcomer")
        page.get_by_role("link", name="newcomer").wait_for()
        page.get_by_role("link", name="support/42").click()
        page.get_by_text("follows the session: 96 messages").wait_for()
        agent.say("support/42", 3)
        page.get_by_text("follows the session: 102 messages").wait_for()
        page.goto(f"{page.url}#view=message&message=101")
        page.get_by_text("The answer 2 to Mend the walrus.").first.wait_for()
        page.get_by_role("link", name="All sessions").click()
        page.get_by_label("Filter by name").fill("nothing like this")
        page.get_by_text("No session has such a name.").wait_for()
    assert folder.is_dir()


def test_an_imported_session_is_found_by_its_project(folder: Path) -> None:
    """The list says whose it is, and its page shows the calls of the recording."""
    with squidbot.load(AGENT) as engine:
        wired = engine.wired
        recording = talked(folder / "talk").path
        RecordingImporter(wired.store, wired.meter(), wired.codecs).import_file(claude_code, recording)
    with served("s.db") as server, opened(server.address(), viewport=PHONE) as page:
        page.get_by_label("Filter by name").fill("work/app")
        page.get_by_text("1 to 1 of 1").wait_for()
        page.get_by_text("Claude Code · /work/app").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        page.locator("td a.name").first.click()
        page.get_by_text("follows the session: 7 messages, 3 calls").wait_for()
        page.get_by_text("imported from Claude Code").wait_for()


def test_every_page_shows_hostile_text_as_text_on_a_phone(folder: Path) -> None:
    """With keys alone, 400 pixels wide, dark: nothing runs, nothing is wider than the screen."""
    with (
        served("s.db", scope=Scope(user="ann")) as server,
        opened(server.address(), viewport=PHONE, color_scheme="dark") as page,
    ):
        for key, text in (("1", "support/42"), ("3", "Ann keeps bees"), ("4", HOSTILE), ("5", "no entries")):
            page.keyboard.press(key)
            page.get_by_text(text).first.wait_for()
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        page.keyboard.press("2")
        page.keyboard.press("/")
        page.keyboard.type("zebra")
        page.keyboard.press("Enter")
        page.get_by_text("The best 1 message").wait_for()
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.get_by_text("follows the session: 1 message").wait_for()
        page.go_back()
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.keyboard.press("t")
        page.keyboard.press("t")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") != dark
    assert folder.is_dir()


def test_keys_that_are_pressed_at_once_find_the_page_before(folder: Path) -> None:
    """A slow browser tells what the address became only after the keys that wait; going back goes one page back."""
    with served("s.db") as server, opened(server.address()) as page:
        page.get_by_role("link", name="support/42").wait_for()
        assert page.evaluate(PRESS, "22/") == "Search all messages"
        page.go_back()
        page.get_by_label("Filter by name").wait_for()
        page.get_by_role("link", name="support/42").wait_for()
    assert folder.is_dir()


def test_a_fact_and_a_message_are_forgotten(folder: Path) -> None:
    """Only where the server may write, and after a question."""
    with served("s.db", scope=Scope(user="ann")) as server, opened(f"{server.address()}#facts") as page:
        page.get_by_text("Ann keeps bees").wait_for()
        assert page.get_by_role("button", name="Forget…").count() == 0
    with served("s.db", writes=True, scope=Scope(user="ann")) as server, opened(f"{server.address()}#facts") as page:
        card = page.locator(".card", has_text="Ann keeps bees")
        card.get_by_role("button", name="Forget…").click()
        page.get_by_role("button", name="Keep it").click()
        card.get_by_role("button", name="Forget…").click()
        page.get_by_label("Reason").fill("asked to")
        page.get_by_role("button", name="Forget for good").click()
        page.get_by_text("Forgot f-").wait_for()
        assert card.count() == 0
        page.reload()
        page.get_by_text("Ann says").wait_for()
        assert page.get_by_text("Ann keeps bees").count() == 0
        page.keyboard.press("1")
        page.get_by_role("link", name="support/42").click()
        page.get_by_text("follows the session: 96 messages").wait_for()
        page.once("dialog", lambda dialog: dialog.accept())
        page.get_by_label("Messages to forget for good").fill("m0")
        page.get_by_role("button", name="Forget…").click()
        page.get_by_text("forgot m0; follows the session: 96 messages").wait_for()
    assert b"Please mend src/part_0.py" not in (folder / "s.db").read_bytes()


def test_an_old_address_says_what_to_do(folder: Path) -> None:
    """In words, and without a script."""
    with served("s.db") as server:
        address = server.address()
        with opened(address) as page:
            page.get_by_role("link", name="support/42").wait_for()
            page.goto("about:blank")
        playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is missing: the group `browser`")
        with playwright.sync_playwright() as running:
            browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            page = browser.new_page()
            page.goto(address)
            assert "Press Enter in the terminal" in page.inner_text("body")
            browser.close()
    assert folder.is_dir()


@pytest.mark.parametrize("users", [USERS, None])
def test_who_is_logged_out_is_told_how_to_log_in(folder: Path, users: AccessTokens | None) -> None:
    """With a token there is a link to the form; without any, an address is to be had in the terminal."""
    with squidbot.load(AGENT) as engine:
        engine.session("ann's", scope=Scope(user="ann")).record({"role": "user", "content": "Hi"})
    with served("s.db", users=users, scope=SHARED) as server, opened(server.address(), "401") as page:
        if users:
            page.get_by_label("Your token").fill(TOKENS["ann"])
            page.get_by_role("button", name="Log in").click()
        page.get_by_role("link", name="ann's").wait_for()
        session, key = page.context.new_page(), key_of("ann's")
        session.goto(f"{base_of(server)}/session/{key}")
        session.get_by_text("follows the session").wait_for()
        page.context.clear_cookies()
        page.get_by_text("Search", exact=True).first.click()
        page.get_by_label("Search all messages").fill("walrus")
        page.get_by_label("Search all messages").press("Enter")
        with squidbot.load(AGENT) as engine:
            engine.session("ann's", scope=Scope(user="ann")).record({"role": "assistant", "content": "Hello"})
        for one in (page, session):
            if users:
                one.get_by_text("not logged in any more: log in again").wait_for()
                one.get_by_role("link", name="log in again").click()
                one.get_by_label("Your token").wait_for()
            else:
                one.get_by_text("not logged in any more: open a new address from the terminal").wait_for()
    assert folder.is_dir()
