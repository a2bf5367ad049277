"""How large a request may be, and is at most, as learned from reports on earlier requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.budget import input_limit
from squidbot.core.messages import Cost, Kind
from squidbot.core.tokens.calibration import MOST_FACTOR, RequestGrowth, UsageReport
from squidbot.core.tokens.classes import utf8_bytes
from squidbot.core.view.renderer import spent

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from squidbot.core.last_request import LastRequest
    from squidbot.core.messages import ContextWindow, Part, StoredMessage, Usage
    from squidbot.core.ports import Certificate
    from squidbot.core.settings import HistorySettings
    from squidbot.core.tokens.calibration import UsageCalibration
    from squidbot.core.view.assembly import CoreAssembly


# If changes exceeded the limit more than once, each time also takes one part in this many from it.
CUT_PARTS = 16
# A provider that reports less than this share of the estimate cut the prompt: estimates are rarely twice too high.
SILENT_CUT_FRACTION = 0.5


class Certified(NamedTuple):
    """The smallest bound of a request that is known to hold, in tokens, and its certificate."""

    tokens: int
    certificate: Certificate


class Limits(NamedTuple):
    """The most that a whole request may cost as counted: if it extends the one before, and if a change makes it."""

    extends: Cost
    changes: Cost

    def less(self, over_tokens: int, times: int) -> Limits:
        """Return the limits with less for a change: it was `over_tokens` too large, after `times` others."""
        bound = self.changes.bound - over_tokens - over_tokens // 8 - 1 - times * self.changes.bound // CUT_PARTS
        return self._replace(changes=Cost(self.changes.estimate, bound))


def plain_limit(window: ContextWindow, settings: HistorySettings, bills: UsageCalibration, room_tokens: int) -> Cost:
    """Return the most that any request may cost as counted; less if reports have shown that the counter is too low."""
    policy = settings.policy_limit
    if policy is None:
        policy = input_limit(window.window_tokens, 0, window.safety_fraction)
    return Cost(policy, bills.plain_limit(room_tokens))


def limit_as_before(window: ContextWindow, settings: HistorySettings, last_request: LastRequest) -> Cost:
    """Return the most that a request may cost as counted, with the same room for its answer as the newest one."""
    reserve = last_request.reserve_under(window)
    reserved_tokens = reserve.tokens if reserve else window.reserved_output_tokens
    return plain_limit(window, settings, last_request.bills, window.window_tokens - reserved_tokens)


def limits_by_bills(
    window: ContextWindow, settings: HistorySettings, last_request: LastRequest, room_tokens: int, fixed_tokens: int
) -> Limits | None:
    """Return the limits by earlier bills, the one for changes a guess to be checked; `None` if nothing is known.

    `room_tokens` is the window's room for input, `fixed_tokens` the bound of system text and tools.
    """
    bills = last_request.bills
    if not bills.reported_tokens or last_request.cost.estimate <= 0:
        return None
    physical, policy = room_tokens, settings.policy_limit
    extends = last_request.cost.bound + bills.extended_limit(physical)
    left = physical - bills.fixed_bound(fixed_tokens)
    changes = min(extends, fixed_tokens + bills.run_limit(left)) if bills.knows_runs else 0
    if policy is not None:
        return Limits(Cost(policy, extends), Cost(policy, changes))
    fraction = max(window.safety_fraction, settings.calibrated_fraction)
    share = input_limit(window.window_tokens, 0, fraction)
    added = last_request.cost.estimate + share - bills.reported_tokens
    anew = share * last_request.cost.estimate // bills.reported_tokens
    return Limits(Cost(added, extends), Cost(min(added, anew), changes))


def added_by(assembly: CoreAssembly, before: LastRequest, digests: tuple[str, str], outside: Cost) -> RequestGrowth:
    """Return what a request has behind the one before it, given by `before`.

    `digests` are those of its system text and tools, which with the head cost `outside`.
    """
    outside_tokens = 0 if (before.system, before.tools) == digests else outside.bound
    behind = _is_behind(assembly, before, digests)
    appended = assembly.cost.bound - before.cost.bound if behind else None
    is_step = behind and _is_step(assembly.parts[before.parts :])
    answers = (part.first_seq for part in assembly.parts if part.role == "assistant" and part.payload is not None)
    oldest = next(answers, assembly.view.messages)
    return RequestGrowth(appended, is_step, max(0, before.messages), outside_tokens, oldest)


def _is_answer(part: Part) -> bool:
    """Return whether a part is an answer, whole or cut."""
    return part.role == "assistant" and part.payload is not None


def _is_behind(assembly: CoreAssembly, before: LastRequest, digests: tuple[str, str]) -> bool:
    plan_id = assembly.plan.plan_id if assembly.plan else -1
    same = (before.window_id, before.plan_id, before.system, before.tools)
    if not before.known or assembly.event is not None or same != (assembly.window.window_id, plan_id, *digests):
        return False
    return len(assembly.parts) >= before.parts and not before.broken_by(assembly.parts, plan_id)


def _is_step(parts: Sequence[Part]) -> bool:
    """Return whether parts are original messages, of which the first and no other is the assistant's."""
    said = [part.role == "assistant" for part in parts if part.payload is not None]
    return len(said) == len(parts) > 0 and said[0] and not any(said[1:])


def bill_of(left: LastRequest, rows: Sequence[StoredMessage], usage: Usage) -> UsageReport:
    """Return the bill of a request from its state, the messages recorded behind it, and the report."""
    added = left.added or RequestGrowth(None, is_step=False, first_seq=0)
    return UsageReport(
        reported_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        bound_tokens=left.cost.bound,
        # The original size: what arrival truncation cut was reported too, and is no reasoning.
        answer_tokens=sum(row.cost.bound for row in rows if row.role == "assistant"),
        added=added._replace(is_step=added.is_step and left.messages >= 0),
        messages=max(0, left.messages),
        certified_tokens=left.certified,
    )


def is_too_little(usage: Usage, left: LastRequest) -> bool:
    """Return whether less was reported for a request than it can have cost; `left` is its state."""
    return usage.input_tokens < SILENT_CUT_FRACTION * left.cost.estimate


def is_too_much(usage: Usage, left: LastRequest, window_tokens: int) -> bool:
    """Return whether more was reported for a request than it can have cost; `left` is its state.

    It was answered, so it fitted the window; and no text costs more tokens than it has bytes.
    """
    reported_tokens, bound_tokens = usage.input_tokens, left.cost.bound
    if reported_tokens > window_tokens:
        return True
    beside_tokens = left.bills.beside_texts(bound_tokens)
    if reported_tokens <= bound_tokens + beside_tokens:  # usual, and needs no measurement
        return False
    most_tokens = MOST_FACTOR * bound_tokens
    if left.sent:
        tools_tokens = bound_tokens - sum(part.cost.bound for part in left.sent)
        most_tokens = min(most_tokens, MOST_FACTOR * tools_tokens + sum(map(_most_of, left.sent)))
    return reported_tokens > most_tokens + beside_tokens


def _most_of(part: Part) -> int:
    """Return the most that a part costs: its bytes, or its bound if larger, as with a picture or a template."""
    said = (part.payload, part.text, part.notice, part.label, *(part.arguments or ()))
    return max(part.cost.bound, sum(utf8_bytes(text) for text in said if text))


def certified(assembly: CoreAssembly, before: LastRequest, added: RequestGrowth, own: Certificate) -> Certified:
    """Return the smallest bound of a request that holds; `own` is the certificate of the counter.

    `before` is the state of the request before it, `added` what it has behind that one.
    """
    bills = before.bills
    if bills.reported_tokens and added.appended_tokens is not None:
        return Certified(bills.extended_bound(added.appended_tokens), "anchored")
    answers = bills.answers_bound(_answers(assembly.parts), added.oldest_seq)
    plain = Certified(bills.plain_bound(assembly.cost.bound) + answers, own)
    if not bills.knows_runs:
        return plain
    return min(plain, Certified(_by_runs(assembly, bills, added), "calibrated"))


def _answers(parts: Iterable[Part]) -> int:
    """Return the bound of the answers among parts."""
    return sum(part.cost.bound for part in parts if _is_answer(part))


def _by_runs(assembly: CoreAssembly, bills: UsageCalibration, added: RequestGrowth) -> int:
    """Return the bound of a request whose tail was billed before, as far as it was."""
    run = _billed(assembly.view.tail.parts, bills)
    system = [part for part in assembly.parts if part.kind is Kind.SYSTEM and part.payload is None]
    fixed = assembly.cost.less(spent(assembly.parts)).plus(spent((*system, *assembly.view.lead))).bound
    billed = sum(part.cost.bound for part in run)
    anew = assembly.cost.bound - fixed - billed
    answers = bills.answers_bound(_answers(assembly.parts) - _answers(run), added.oldest_seq)
    known = bills.fixed_bound(fixed) + added.outside_tokens + bills.run_bound(billed)
    return known + bills.texts_bound(anew) + answers


def _billed(tail: Sequence[Part], bills: UsageCalibration) -> list[Part]:
    """Return the parts of a tail that were billed as they are: whole steps, behind any forgotten messages."""
    run: list[Part] = []
    steps = False
    for part in tail:
        if part.kind is Kind.FORGOTTEN:
            run, steps = [], False
        steps = steps or part.role == "assistant"
        if steps and part.payload is not None and bills.has_billed(part.first_seq):
            run.append(part)
    return run
