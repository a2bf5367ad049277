"""Opens the history of a session, reads its pages as a stranger would, and walks over all of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from squidbot.core.engine import ContextEngine
from squidbot.core.recall.history import PageExcerpt

from ..promises.driver import CODEC, Heard, Setup

if TYPE_CHECKING:
    from squidbot.adapters.stdlib import InMemoryStore
    from squidbot.core.engine import CoreSession
    from squidbot.core.recall.history import History, Page

HEAD = re.compile(
    r"\[m(?P<seq>\d+) [a-z ]+(?:, [-0-9]+ [:0-9]+)?, "
    r"(?:(?P<all>[\d,]+) characters|characters (?P<start>[\d,]+) to (?P<end>[\d,]+) of (?P<whole>[\d,]+))\]\n"
)


@dataclass(frozen=True)
class Opened:
    """A session with its history, as a restarted process opens them."""

    session: CoreSession
    history: History
    heard: Heard


def opened(store: InMemoryStore, setup: Setup, session_id: str = "s") -> Opened:
    """Return a session and its history from a fresh engine over the store."""
    heard = Heard()
    engine = ContextEngine(store, store, {CODEC.tag: CODEC}, heard)
    session = engine.session(session_id, setup.window, setup.meter, setup.settings)
    return Opened(session, engine.history(session, setup.meter), heard)


def shown(text: str) -> list[tuple[PageExcerpt, str]]:
    """Return the pieces that a page's text shows, with their words; the sizes in it are what parts them."""
    place = text.index("\n") + 1
    found = []
    while not text.startswith("</squidbot recalled", place):
        head = HEAD.match(text, place)
        assert head, text[place : place + 200]
        seq, *sizes = (int((head[name] or "0").replace(",", "")) for name in ("seq", "all", "start", "end", "whole"))
        piece = PageExcerpt(seq, 0, sizes[0], sizes[0]) if head["all"] else PageExcerpt(seq, *sizes[1:])
        end = head.end() + piece.end - piece.start
        found.append((piece, text[head.end() : end]))
        assert text[end] == "\n"
        place = end + 1
    return found


def walked(history: History, handle: str, most: int = 400) -> list[Page]:
    """Return all pages of what an id stands for, each as the one before says how to get it."""
    pages = [history.expand(handle)]
    while pages[-1].next_id:
        assert len(pages) < most
        pages.append(history.expand(pages[-1].next_id, pages[-1].next_offset))
    return pages


def joined(pages: list[Page]) -> dict[int, str]:
    """Return each message's words, put together from pages; checks that none overlap and none is missing."""
    told: dict[int, str] = {}
    wholes: dict[int, int] = {}
    for page in pages:
        found = shown(page.text)
        assert tuple(piece for piece, _ in found) == page.pieces
        for piece, words in found:
            assert piece.start == len(told.get(piece.seq, ""))
            told[piece.seq] = told.get(piece.seq, "") + words
            wholes[piece.seq] = piece.whole
    assert {seq: len(words) for seq, words in told.items()} == wholes
    assert list(told) == sorted(told)
    return told
