"""`[goals]`: what a session is after."""

from __future__ import annotations

import attrs

__all__ = ["Goals"]


@attrs.frozen
class Goals:
    """`[goals]`: whether models get the tool; what Python and the command line change is there in any case."""

    tool: bool = False
