"""`[session]`: how long one may become."""

from __future__ import annotations

import attrs

from squidbot.checks import Whole

__all__ = ["SessionLength"]

NEVER = Whole(0)


@attrs.frozen
class SessionLength:
    """`[session]`: with how many messages it goes on in another one; 0 for never."""

    max_messages: Whole = NEVER
