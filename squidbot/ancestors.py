"""What was said in the sessions that one goes on from, brought back by the tool `history` (P-03).

Its ids have the earlier session's in front: `support/42#m17`. Nothing of it is written.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from squidbot.core.descent import ancestors, shown
from squidbot.core.errors import RecallError
from squidbot.core.finding.words import read_query
from squidbot.core.history.hits import Asked, hits_of, listed
from squidbot.core.history.names import named, resolve
from squidbot.core.history.pages import Maker
from squidbot.core.memory.turns import Turns
from squidbot.core.view.marks import refused
from squidbot.core.view.renderer import Renderer
from squidbot.core.view.standing import Shelf
from squidbot.tools import Answer, given, text_of, whole_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from squidbot.bootstrap import Wired
    from squidbot.core.counting.meter import Meter
    from squidbot.core.messages import Cost

__all__ = ["Ancestors"]

HITS: Final = 8
_HANDLE: Final = re.compile(r"\b(recall|expand) (m[0-9]|s[0-9])")
EXAMPLE: Final = '{"action": "recall", "id": "support/42#m17"}'


class Ancestors:
    """The sessions that one goes on from."""

    def __init__(self, wired: Wired, session_id: str, meter: Meter) -> None:
        """Look nowhere yet."""
        self._wired = wired
        self._session_id = session_id
        self._meter = meter

    def answer(self, arguments: Mapping[str, object] | str, room: Cost, now: float) -> Answer | None:
        """Return what a call of `history` answers that names an earlier session; None for any other call.

        `now` is in seconds since 1970.

        Raises:
            StoreError: the store failed.
        """
        try:
            asked = given(arguments, EXAMPLE)
            handle = asked.get("id")
            if not isinstance(handle, str):
                return None
            name, mark, rest = handle.strip().rpartition("#")
            if asked.get("action") == "search":
                found = self._known(handle.strip())
                return Answer(self._found(found, asked, room, now)) if found else None
            if not mark or self._known(rest):
                return None
            return Answer(self._page(self._ancestor(name), rest, whole_number(asked, "offset"), room, now))
        except (RecallError, ValueError) as error:
            return Answer(refused(error), is_error=True)

    def _known(self, name: str) -> str | None:
        every = ancestors(self._wired.store, self._session_id)
        return next((one for one in every if name in {one, shown(one)}), None)

    def _ancestor(self, name: str) -> str:
        found = self._known(name)
        if found is None:
            every = ", ".join(map(shown, ancestors(self._wired.store, self._session_id))) or "none"
            raise RecallError(f"this conversation does not go on from {name!a:.80}; it does from: {every}")
        return found

    def _page(self, session_id: str, handle: str, offset: int, room: Cost, now: float) -> str:
        wired = self._wired
        run = resolve(handle, wired.store.head(session_id)[0], wired.store, session_id)
        shelf = Shelf(session_id, wired.store, wired.store, Renderer(self._meter, wired.codecs))
        behind = f"\n[of {shown(session_id)}]"
        page = Maker(shelf, run, now).page(offset, room.less(self._meter.text(behind)))
        if page is None:
            raise RecallError(f"{named(*run[:2])} has no room in the next request; ask for one message of it")
        return _placed(page.text, session_id) + behind

    def _found(self, session_id: str, asked: Mapping[str, object], room: Cost, now: float) -> str:
        query, offset = text_of(asked, "query"), whole_number(asked, "offset")
        wired, words = self._wired, read_query(query)
        codec = wired.codecs.__getitem__
        hits = hits_of(Turns(wired.store, session_id, codec).found(query, now), words, codec, {})
        behind = f"\n[of {shown(session_id)}]"
        left = room.less(self._meter.text(behind))
        page = listed(Asked(query, offset, HITS, now), list(islice(hits, offset, offset + HITS + 1)), self._meter, left)
        if page is None:
            raise RecallError("the hits have no room in the next request; look for less")
        return _placed(page.text, session_id) + behind


def _placed(text: str, session_id: str) -> str:
    """Return a page whose last line, which says how to go on, names the session beside the message."""
    head, end, last = text.rpartition("\n")
    if not last.startswith("["):
        return text
    return head + end + _HANDLE.sub(lambda found: f"{found[1]} {shown(session_id)}#{found[2]}", last)
