"""Goals and documents of a session, taken out for good on request, out of earlier requests, too."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from squidbot.core.errors import NotFoundError
from squidbot.core.leases import newest_lease
from squidbot.core.unsetting import unload, unset
from squidbot.core.view.renderer import Renderer
from squidbot.core.view.standing import Shelf
from squidbot.waiting import wait

if TYPE_CHECKING:
    from squidbot.bootstrap import Wired

__all__ = ["forget_document", "forget_named"]


def forget_named(wired: Wired, session_id: str, text: str, *, reason: str = "") -> int:
    """Do what `goals.forget_goal` does, in the session of an id.

    Raises:
        NotFoundError: no call has named it; nothing was taken out.
        StoreError: nothing was taken out.
    """
    gone = unset(_shelf(wired, session_id), [text], reason, time.time()) if text.strip() else 0
    if not gone:
        raise NotFoundError(f"no call has named {text!a:.80}; what a message marks goes with `forget` of that message")
    return gone


def forget_document(wired: Wired, session_id: str, name: str, *, reason: str = "") -> int:
    """Take a document out of a session for good, out of earlier requests, too; return how many texts of it there were.

    Its file stays as it is. `reason` is kept; it must not repeat the text.

    Raises:
        NotFoundError: there was never one of that name; nothing was taken out.
        StoreError: nothing was taken out.
    """
    gone = unload(_shelf(wired, session_id), name, reason, time.time())
    if not gone:
        raise NotFoundError(f"{session_id!a:.80} has no text of a document {name!a:.80}; nothing was taken out")
    return gone


def _shelf(wired: Wired, session_id: str) -> Shelf:
    """Return where a session's data stand, counted as its newest lease has it."""
    lease = newest_lease(wired.store, session_id)
    meter = wired.meter(lease.model if lease else "")
    return Shelf(session_id, wired.store, wired.store, Renderer(meter, wired.codecs), wait=wait)
