"""The rules a request must keep so that no provider refuses it (R1 to R11 of decisions.md section 9).

R1, R5 and R6 are checked on every request. R2, R3, R8 and R9 hold because a step's payload is sent as it came, whole
or not at all. R4 is kept by `Part.drop_thinking`, R7 by never making such items, R11 by the event `tools-changed`. R10
is `refuse_server_state`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.core.errors import InvalidRequestError
from squidbot.core.messages import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from squidbot.core.messages import Part

__all__ = ["check_request", "refuse_server_state"]

_MADE = frozenset({Kind.SUMMARY, Kind.PIN, Kind.MARKED, Kind.MEMORY, Kind.NOTICE})
# Options of provider APIs under which the server has, cuts or adds what nobody here can count (R10).
_SERVER_STATE = {
    **dict.fromkeys(
        ("previous_response_id", "conversation", "conversation_id", "thread_id", "thread", "store", "background"),
        "keeps the history at the provider",
    ),
    **dict.fromkeys(("truncation", "context_management"), "has the provider leave parts of the history out"),
    "container": "keeps files at the provider",
    "prompt": "adds texts that the provider keeps",
}
_OFF = (None, False, "disabled")


def check_request(parts: Sequence[Part]) -> None:
    """Check a request against R1, R5 and R6.

    Raises:
        InvalidRequestError: a rule is broken; the text names the rule, the place and the message.
    """
    _check_pairs(parts)
    said = [part for part in parts if part.role != "system"]
    if not said or parts[-1].role not in {"user", "tool"}:
        raise InvalidRequestError("R5", "the request does not end with a user message or a tool result")
    if said[0].role != "user":
        raise InvalidRequestError("R5", f"m{said[0].first_seq} opens the conversation with the role {said[0].role}")
    for place, part in enumerate(parts):
        if part.kind in _MADE and part.role != "user":
            raise InvalidRequestError("R6", f"part {place} is squidbot's own and has the role {part.role}")


def _check_pairs(parts: Sequence[Part]) -> None:
    pending: set[str] = set()
    for place, part in enumerate(parts):
        if pending or part.result_ids:
            pending = _answered(place, part, pending)
        if part.call_ids:
            pending = set(part.call_ids)
    if pending:
        raise InvalidRequestError("R1", f"the last step's calls {sorted(pending)} have no result")


def _answered(place: int, part: Part, pending: set[str]) -> set[str]:
    if not pending.issuperset(part.result_ids) or not part.result_ids:
        wanted = sorted(pending) or "no call"
        raise InvalidRequestError("R1", f"part {place} (m{part.first_seq}) stands where results of {wanted} belong")
    return pending.difference(part.result_ids)


def refuse_server_state(options: Mapping[str, object]) -> None:
    """Refuse request options under which the provider keeps the history (R10).

    Raises:
        InvalidRequestError: such an option is set; the text names the switch.
    """
    for name, does in _SERVER_STATE.items():
        if options.get(name) not in _OFF:
            raise InvalidRequestError("R10", f"{name} {does}; unset it to use squidbot")
