"""Calibration by reported usage: the real size of sent messages, and so of those that are sent again.

A provider reports the size of a whole request. The next one extends it, so the difference of two reports is the exact
cost of the messages between them. Three rules follow; none trusts a text that was never billed:

- a request that extends a billed one costs the reported size plus the bound of what was added ("anchored");
- any run of billed messages, wherever a later request begins, exceeds its bound at most as far as any run did
    (`excess`): a statement about the past, not the future ("calibrated");
- if messages exceed their bound, so may future ones: at most as far as any run did until now.

Answers are a class of their own: a provider reports each one's size, and the part beyond its message (reasoning, the
frame around tool calls) comes back as input with some providers, and never with others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


# How far bills exceeded the counts over any run of messages, at each of several factors.

PERCENT = 100
# Factors on bounds, in percent. Real tokenizers are at 60 to 110 % of the class estimator's bound; beyond both ends a
# slack covers the rest.
GRID = (50, 55, 60, 65, 70, 75, 80, 85, 90, 95, 100, 105, 110, 120, 135, 150, 200)
WIDE = GRID.index(PERCENT)
NOTHING = (0,) * len(GRID)


class Excess(NamedTuple):
    """The cost of runs of messages above each factor of `GRID` x their bound, in tokens.

    Attributes:
        sums: of the run that ends with the newest message and exceeds it most; at least 0.
        slacks: of the run that exceeded it most; at least 0.
    """

    sums: tuple[int, ...] = NOTHING
    slacks: tuple[int, ...] = NOTHING

    def grown(self, real_tokens: int, bound_tokens: int) -> Excess:
        """Return it after further messages with this real cost and this bound, in tokens."""
        over = [real_tokens - factor * bound_tokens // PERCENT for factor in GRID]
        sums = tuple(max(0, before + tokens) for before, tokens in zip(self.sums, over, strict=True))
        return Excess(sums, tuple(map(max, self.slacks, sums)))

    def run_bound(self, bound_tokens: int) -> int:
        """Return a bound of a run that was seen, from its bound as counted, in tokens."""
        pairs = zip(GRID, self.slacks, strict=True)
        return min(-(-factor * bound_tokens // PERCENT) + slack for factor, slack in pairs)

    def run_limit(self, limit_tokens: int) -> int:
        """Return the largest bound as counted whose `run_bound` is at most `limit_tokens`; 0 or more."""
        pairs = zip(GRID, self.slacks, strict=True)
        return max(0, *((limit_tokens - slack) * PERCENT // factor for factor, slack in pairs))

    def text_bound(self, bound_tokens: int) -> int:
        """Return a bound of texts that may exceed theirs as far as any run did: at least the bound as counted."""
        return bound_tokens + self.above(bound_tokens)

    def text_limit(self, limit_tokens: int) -> int:
        """Return the largest bound as counted whose `text_bound` is at most `limit_tokens`; may be below 0."""
        if self.slacks == NOTHING:  # nothing was reported, and each call asks several times
            return limit_tokens
        pairs = zip(GRID[WIDE:], self.slacks[WIDE:], strict=True)
        return min(limit_tokens, max((limit_tokens - slack) * PERCENT // factor for factor, slack in pairs))

    def above(self, bound_tokens: int) -> int:
        """Return how far texts may exceed their bound, in tokens; 0 if no run did."""
        pairs = zip(GRID[WIDE:], self.slacks[WIDE:], strict=True)
        return min(-(-(factor - PERCENT) * bound_tokens // PERCENT) + slack for factor, slack in pairs)

    @property
    def stored(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Both tuples without trailing zeros."""
        return _trimmed(self.sums), _trimmed(self.slacks)

    @classmethod
    def of(cls, stored: object) -> Excess:
        """Return the excess that `stored` was made from.

        Raises:
            ValueError: `stored` is malformed.
        """
        try:
            sums, slacks = cast("Iterable[Sequence[object]]", stored)
            return cls(_whole(sums), _whole(slacks))
        except TypeError as error:
            raise ValueError(f"an excess can't be read: {error}") from error


def _trimmed(values: tuple[int, ...]) -> tuple[int, ...]:
    zeros = next((place for place, value in enumerate(reversed(values)) if value), len(values))
    return values[: len(values) - zeros]


def _whole(values: Sequence[object]) -> tuple[int, ...]:
    sizes = tuple(value for value in values if isinstance(value, int) and value >= 0)
    if len(sizes) < len(values) or len(values) > len(GRID):
        raise ValueError(f"an excess is out of range: {values!r:.200}")
    return (*sizes, *NOTHING[len(sizes) :])


# The margin above reports: reminders that a host adds silently, rounding by the provider.
MARGIN_PERCENT = 2
# A difference further above its bound is no counted text: a picture, or something the host never reported.
MOST_FACTOR, MOST_EXTRA_TOKENS = 3, 2048
# Samples of answers larger than their messages (reasoning) that show whether the surplus comes back as input.
KEPT_SAMPLES = 3
# No known tokenizer takes less than this share of the class estimator's bound for a text (`GRID`); a provider that
# keeps the surplus of answers returns at least this share of it.
LEAST_PERCENT = 50
# The most by which first reports widen bounds of texts: vocabularies of 32,000 words take 1.2 to 1.4 x the bound.
MOST_DOUBT_PERCENT = 150
MOST_GAPS = 16
# Version of the stored form; other versions are ignored.
VERSION = 2
NO_EXCESS = Excess()


class RequestGrowth(NamedTuple):
    """The growth of a request over the one before it.

    Attributes:
        appended_tokens: its bound; `None` if the request does not extend that one.
        is_step: whether it is one answer and what followed it.
        first_seq: its first message.
        outside_tokens: the bound of system text, tools and head, if system text or tools have changed; else 0.
        oldest_seq: the oldest answer that the request sends, whole or cut.
    """

    appended_tokens: int | None
    is_step: bool
    first_seq: int
    outside_tokens: int = 0
    oldest_seq: int = 0


class UsageReport(NamedTuple):
    """One report, and its request; sizes in tokens.

    Attributes:
        reported_tokens: the whole input, cached tokens included; output_tokens: the answer, reasoning included.
        bound_tokens: of the request, as counted.
        answer_tokens: the bound of the message that the answer became.
        added: its growth over the request before.
        messages: the seq after its last message.
        certified_tokens: the most that it was to cost; 0 if only the counter says it.
    """

    reported_tokens: int
    output_tokens: int
    bound_tokens: int
    answer_tokens: int
    added: RequestGrowth
    messages: int
    certified_tokens: int = 0

    @property
    def surplus_tokens(self) -> int:
        """The tokens of the answer beyond its message's bound, such as reasoning."""
        return max(0, self.output_tokens - self.answer_tokens)


class ReasoningReturn(NamedTuple):
    """The share of answers' surplus tokens that comes back as input: a provider keeps them, or does not.

    Attributes:
        samples: answers with a surplus.
        least_percent, most_percent: the share consistent with all of them, if the messages with them cost between
            `LEAST_PERCENT` of their bound and all of it.
    """

    samples: int = 0
    least_percent: int = 0
    most_percent: int = PERCENT

    @property
    def percent(self) -> int:
        """The largest share that may come back; all before the first samples, and if samples contradict each other."""
        known = self.samples >= KEPT_SAMPLES and self.least_percent <= self.most_percent
        return self.most_percent if known else PERCENT

    @property
    def comes_back(self) -> bool:
        """Whether most of it surely came back: an expensive text beside much reasoning shows only a small share."""
        return min(self.least_percent, self.most_percent) >= LEAST_PERCENT

    def of(self, surplus_tokens: int) -> int:
        """Return the most of these tokens that may come back."""
        return -(-surplus_tokens * self.percent // PERCENT)

    def surely_of(self, surplus_tokens: int) -> int:
        """Return the least of these tokens that came back."""
        return surplus_tokens * min(self.least_percent, self.most_percent) // PERCENT

    def seen(self, surplus_tokens: int, added_tokens: int, appended_tokens: int) -> ReasoningReturn:
        """Return it after an answer with a surplus, which cost `added` with its messages, counted as `appended`."""
        if not surplus_tokens:
            return self
        least = (added_tokens - appended_tokens) * PERCENT // surplus_tokens
        most = -(-(added_tokens - appended_tokens * LEAST_PERCENT // PERCENT) * PERCENT // surplus_tokens)
        return ReasoningReturn(
            self.samples + 1,
            max(self.least_percent, min(PERCENT, least)),
            min(self.most_percent, max(0, most)),
        )


class Era(NamedTuple):
    """The excess of messages from `first_seq` on: of runs of whole steps, and of answers alone.

    `answers` holds each answer's reported surplus over its message, whether that comes back or not.
    """

    first_seq: int = 0
    runs: Excess = NO_EXCESS
    answers: Excess = NO_EXCESS


class UsageCalibration(NamedTuple):
    """The calibration of one session, with one model and one counter, by its reports; immutable, sizes in tokens.

    Attributes:
        source: the model and the counter; bills of another source don't apply.
        reported_tokens: of the newest request; 0 without a report.
        surplus_tokens: its answer's size beyond its message's bound.
        foot_tokens: the most that system text, tools, and the host's additions to them cost; 0 if unknown.
        hidden_tokens: the most by which a report exceeded its bound: texts that the host sends unreported.
        messages: how many messages of the transcript the newest request included.
        gaps: runs of messages without a price: (first, one past the last) each.
        kept: the share of answers' surplus that comes back.
        texts: the excess of all messages, without the surplus of answers, which no message shows.
        answers: the surplus of all answers.
        older, newer: both for messages that are still sent. Once no message older than `newer` is sent, that
            replaces `older`: messages that are no longer sent narrow nothing.
        reports: how many there were.
    """

    source: str = ""
    reported_tokens: int = 0
    surplus_tokens: int = 0
    foot_tokens: int = 0
    hidden_tokens: int = 0
    messages: int = 0
    gaps: tuple[tuple[int, int], ...] = ()
    kept: ReasoningReturn = ReasoningReturn()
    texts: Excess = NO_EXCESS
    answers: Excess = NO_EXCESS
    older: Era = Era()
    newer: Era = Era()
    reports: int = 0

    # -- what is known ----------------------------------------------------------------------------------------

    def plain_bound(self, bound_tokens: int) -> int:
        """Return a bound of any request from its bound as counted: never narrower, wider if reports have shown that.

        It excludes the surplus of answers, which no message shows; see `answers_bound`.
        """
        return self.hidden_tokens + self.texts_bound(bound_tokens)

    def plain_limit(self, limit_tokens: int) -> int:
        """Return the largest bound as counted whose `plain_bound` is at most `limit_tokens`."""
        left = limit_tokens - self.hidden_tokens
        return min(left * PERCENT // self._doubt_percent, self.texts.text_limit(left))

    def texts_bound(self, bound_tokens: int) -> int:
        """Return a bound of texts that were not billed in the form that is sent now."""
        doubted = -(-bound_tokens * self._doubt_percent // PERCENT)
        return max(doubted, self.texts.text_bound(bound_tokens))

    def answers_bound(self, bound_tokens: int, oldest_seq: int) -> int:
        """Return the most that answers may cost above texts, from their bound; `oldest_seq` is the oldest of them."""
        if not bound_tokens:
            return 0
        answers = self.older.answers if oldest_seq >= self.older.first_seq else self.answers
        return self.kept.of(answers.above(bound_tokens))

    def extended_bound(self, appended_tokens: int) -> int:
        """Return a bound of a request that extends the billed one, from the bound of what it adds."""
        return self._standing_tokens + self.texts_bound(appended_tokens)

    def extended_limit(self, limit_tokens: int) -> int:
        """Return the largest bound of an addition whose `extended_bound` is at most `limit_tokens`; may be < 0."""
        left = limit_tokens - self._standing_tokens
        return min(left * PERCENT // self._doubt_percent, self.texts.text_limit(left))

    def run_bound(self, bound_tokens: int) -> int:
        """Return a bound of a run of billed messages that begins with an answer, from its bound as counted."""
        return inputs_kept(self.older.runs.run_bound(bound_tokens))

    def run_limit(self, limit_tokens: int) -> int:
        """Return the largest bound as counted of such a run that costs at most `limit_tokens`; 0 or more."""
        return self.older.runs.run_limit(limit_tokens * PERCENT // (PERCENT + MARGIN_PERCENT))

    def fixed_bound(self, bound_tokens: int) -> int:
        """Return a bound of system text and tools, with the host's additions, from their bound as counted."""
        counted = bound_tokens + self.hidden_tokens
        return min(counted, inputs_kept(self.foot_tokens)) if self.foot_tokens else counted

    def has_billed(self, seq: int) -> bool:
        """Return whether a message is in a run of known cost."""
        known = self.older.first_seq <= seq < self.messages
        return known and not any(first <= seq < last for first, last in self.gaps)

    @property
    def knows_runs(self) -> bool:
        """Whether there is a run of billed messages."""
        return self.older.first_seq < self.messages

    @property
    def _doubt_percent(self) -> int:
        """The factor on bounds of texts, in percent, until reports show whether these or hidden texts cost more."""
        counted = self.foot_tokens - self.hidden_tokens
        if self.reports > KEPT_SAMPLES or counted <= 0:
            return PERCENT
        return min(MOST_DOUBT_PERCENT, -(-self.foot_tokens * PERCENT // counted))

    @property
    def _standing_tokens(self) -> int:
        return inputs_kept(self.reported_tokens) + self.kept.of(self.surplus_tokens)

    def beside_texts(self, bound_tokens: int) -> int:
        """Return the most that a request can have cost beside its texts: answers' reasoning, and hidden texts."""
        return self.hidden_tokens + self.answers.above(bound_tokens) + MOST_EXTRA_TOKENS

    # -- what a report teaches --------------------------------------------------------------------------------

    def unreported(self) -> UsageCalibration:
        """Return the calibration after a request without a report, or without a credible one."""
        if not self.reported_tokens and not self.surplus_tokens:
            return self
        return self._replace(reported_tokens=0, surplus_tokens=0)

    def learn(self, bill: UsageReport) -> UsageCalibration:
        """Return the calibration after one more report, which is credible."""
        learned = self._priced(bill) if self.reports else self._begun(bill)
        # Hidden texts come with each request: one that costs little more than its texts has few of them.
        texts_tokens = bill.bound_tokens * LEAST_PERCENT // PERCENT
        hidden_tokens = min(learned.hidden_tokens, max(0, bill.reported_tokens - texts_tokens))
        learned = learned._replace(hidden_tokens=hidden_tokens)
        missed = _missed(learned, bill)
        learned = learned._replace(
            reported_tokens=bill.reported_tokens,
            surplus_tokens=bill.surplus_tokens,
            hidden_tokens=learned.hidden_tokens + missed,
            foot_tokens=learned.foot_tokens + (missed if self.reports else 0),
            reports=self.reports + 1,
        )
        older, newer = learned.older, learned.newer
        if bill.added.oldest_seq >= newer.first_seq:
            older, newer = newer, Era(bill.messages)
        answer = (bill.answer_tokens + bill.surplus_tokens, bill.answer_tokens)
        return learned._replace(
            answers=learned.answers.grown(*answer),
            older=older._replace(answers=older.answers.grown(*answer)),
            newer=newer._replace(answers=newer.answers.grown(*answer)),
        )

    def _begun(self, bill: UsageReport) -> UsageCalibration:
        era = Era(bill.messages)
        return self._replace(foot_tokens=bill.reported_tokens, messages=bill.messages, older=era, newer=era)

    def _priced(self, bill: UsageReport) -> UsageCalibration:
        """Return the calibration with the cost of new messages, and of the texts that are sent beside them."""
        added, appended = bill.reported_tokens - self.reported_tokens, bill.added.appended_tokens
        grew = self.reported_tokens > 0 and appended is not None and bill.added.is_step
        if grew and appended is not None and _is_text(added, appended + self.surplus_tokens):
            learned = self._billed(bill, added, appended)
        else:
            learned = self._skipped(bill.messages)
        return learned._replace(foot_tokens=learned.foot_tokens + bill.added.outside_tokens)

    def _billed(self, bill: UsageReport, added: int, appended: int) -> UsageCalibration:
        """Return the calibration with a run of known cost: `added` tokens for a bound of `appended`."""
        first = bill.added.first_seq
        known = self if first == self.messages else self._skipped(first)
        kept = self.kept.seen(self.surplus_tokens, added, appended)
        return known._replace(
            messages=bill.messages,
            kept=kept,
            texts=self.texts.grown(added - kept.surely_of(self.surplus_tokens), appended),
            older=self.older._replace(runs=self.older.runs.grown(added, appended)),
            newer=self.newer._replace(runs=self.newer.runs.grown(added, appended)),
        )

    def _skipped(self, messages: int) -> UsageCalibration:
        """Return the calibration with new messages of unknown cost, up to before `messages`."""
        gaps = (*self.gaps, (self.messages, messages)) if messages > self.messages else self.gaps
        # More gaps are not worth it; a new era begins behind the oldest one.
        first = gaps[-MOST_GAPS - 1][1] if len(gaps) > MOST_GAPS else self.older.first_seq
        gaps = tuple(gap for gap in gaps[-MOST_GAPS:] if gap[1] > self.older.first_seq)
        older = self.older._replace(first_seq=first)
        return self._replace(older=older, gaps=gaps, messages=max(self.messages, messages))

    # -- stored -----------------------------------------------------------------------------------------------

    def to_json(self) -> list[object]:
        """Return it as values that JSON holds; [] if empty."""
        if not self.reports:
            return []
        excesses = self.texts.stored, self.answers.stored, _stored(self.older), _stored(self.newer)
        return [VERSION, *self[:8], *excesses, self.reports]

    @classmethod
    def from_json(cls, stored: Sequence[object]) -> UsageCalibration:
        """Return the calibration that `to_json` wrote; an empty one for another version.

        Raises:
            ValueError: a value is missing or out of its range.
        """
        if not stored or stored[0] != VERSION:
            return cls()
        try:
            _, source, *sizes, gaps, kept, texts, answers, older, newer, reports = stored
            reported, surplus, foot, hidden, messages = map(_integer, sizes)
            return cls(
                source=str(source),
                reported_tokens=reported,
                surplus_tokens=surplus,
                foot_tokens=foot,
                hidden_tokens=hidden,
                messages=messages,
                gaps=tuple(map(_pair, cast("Iterable[object]", gaps))),
                kept=ReasoningReturn(*map(_integer, cast("Iterable[object]", kept))),
                texts=Excess.of(texts),
                answers=Excess.of(answers),
                older=_era(older),
                newer=_era(newer),
                reports=_integer(reports),
            )
        except (TypeError, ValueError) as error:
            raise ValueError(f"bills can't be read: {error}") from error


def inputs_kept(tokens: int) -> int:
    """Return a reported size, with the margin above it."""
    return -(-tokens * (PERCENT + MARGIN_PERCENT) // PERCENT)


def _missed(learned: UsageCalibration, bill: UsageReport) -> int:
    """Return the unexplained part of a report, in tokens."""
    plain = learned.plain_bound(bill.bound_tokens) + learned.kept.of(learned.answers.above(bill.bound_tokens))
    missed = bill.reported_tokens - plain
    if bill.certified_tokens and not bill.added.is_step:
        missed = max(missed, bill.reported_tokens - bill.certified_tokens)
    return max(0, missed)


def _is_text(added_tokens: int, bound_tokens: int) -> bool:
    return 0 <= added_tokens <= MOST_FACTOR * bound_tokens + MOST_EXTRA_TOKENS


def _stored(era: Era) -> list[object]:
    return [era.first_seq, era.runs.stored, era.answers.stored]


def _era(stored: object) -> Era:
    first, runs, answers = cast("Iterable[object]", stored)
    return Era(_integer(first), Excess.of(runs), Excess.of(answers))


def _integer(value: object) -> int:
    if not isinstance(value, int) or value < 0:
        raise ValueError(f"bills have no size {value!r:.80}")
    return value


def _pair(values: object) -> tuple[int, int]:
    first, second = map(_integer, cast("Iterable[object]", values))
    return first, second
