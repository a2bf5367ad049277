"""Which messages become a summary, which stay."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from squidbot.core.compaction.planner import Compactor, filled
from squidbot.core.compaction.pressure import Compaction, CompactionInput, Reduction, reductions
from squidbot.core.messages import Cost, StoredMessage, Summary
from squidbot.core.plan import NoteBlock, Representation, Segment
from squidbot.core.settings import HistorySettings
from squidbot.core.view.current import PlanBlock
from squidbot.core.view.renderer import raw_part, shown
from squidbot.core.view.steps import Step, steps_of

from ..rows import row

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from squidbot.core.messages import Part

GENTLE = Reduction(0.3, 0.0, 0.5, 0.45, gentle=True)
HARD = Reduction(0.0, 0.0, 0.5, 0.45)
SETTINGS = HistorySettings(gap_seconds=1e9, min_recent_messages=0, keep_fraction=0.0)


@dataclass
class Notes:
    """Makes notes of 10 tokens, and remembers for what."""

    oldest: int | None = None
    asked: list[str] = field(default_factory=list)
    kept: tuple[NoteBlock, ...] = ()
    texts: tuple[Summary, ...] = ()
    limits: list[int] = field(default_factory=list)

    def reach(self, first_seq: int, new_seq: int) -> int:
        """Return the oldest seq that a fold may stand for."""
        return max(first_seq, new_seq if self.oldest is None else self.oldest)

    def runs(self, after_seq: int) -> tuple[NoteBlock, ...]:
        """Return the blocks that were noted before."""
        return tuple(run for run in self.kept if run.first_seq > after_seq)

    def read_block(self, steps: Sequence[Step]) -> NoteBlock:
        """Return the block of these steps."""
        return NoteBlock(steps[0].first_seq, steps[-1].last_seq, sum(step.cost.bound for step in steps))

    def note(
        self,
        run: NoteBlock,
        view: Sequence[Part],
        limit_tokens: int,
        level: Representation = Representation.DETAILED,
    ) -> Summary:
        """Return notes on a block."""
        self.asked.append(f"{level.removeprefix('summary:')} {run.first_seq}-{run.last_seq} beside {len(view)}")
        return self._made(run.first_seq, run.last_seq, limit_tokens)

    def merged_note(
        self, first_seq: int, last_seq: int, new: Sequence[NoteBlock], view: Sequence[Part], limit_tokens: int
    ) -> Summary:
        """Return one note on all."""
        self.asked.append(f"folded {first_seq}-{last_seq} with {len(new)} beside {len(view)}")
        return self._made(first_seq, last_seq, limit_tokens)

    def texts_on(self, first_seq: int, last_seq: int) -> list[Summary]:
        """Return the summaries by a model that a test has."""
        return [one for one in self.texts if first_seq <= one.first_seq and one.last_seq <= last_seq]

    def named(self, run: tuple[int, int], source: str, make: Callable[[str], Summary]) -> Summary:
        """Return what is made of the id that a test asks for."""
        return make(f"s{run[0]}-{run[1]}.{source}")

    def _made(self, first: int, last: int, limit_tokens: int) -> Summary:
        assert limit_tokens > 0
        self.limits.append(limit_tokens)
        return Summary(f"s{first}-{last}", "s", first, last, "any", "n", Cost(10, 10), "classes", "d", "test")


def turns(count: int, tokens: int = 10, start: int = 0) -> list[StoredMessage]:
    """Return turns of a question and an answer, so many tokens each."""
    roles = ("user", "assistant")
    return [row(start + seq, roles[seq % 2], tokens=tokens) for seq in range(2 * count)]  # type: ignore[arg-type]


def source(rows: list[StoredMessage], room: int = 1000, **fields: object) -> CompactionInput:
    """Return a scene whose tail is these rows, all of them stored but the last."""
    plain = CompactionInput(
        Cost(room, room), (), (), tuple(steps_of(rows)), len(rows) - 1 + rows[0].seq, frozenset(), (), rows[-1].turn
    )
    return plain._replace(**fields)  # type: ignore[arg-type]  # a test names them


def batch(
    at: CompactionInput, reduction: Reduction = GENTLE, notes: Notes | None = None, **settings: object
) -> Compaction | None:
    """Return the batch of a step."""
    changed = replace(SETTINGS, **settings)  # type: ignore[arg-type]  # a test names them
    return Compactor(at, changed, notes or Notes(), by_estimate=False).batch(reduction)


def runs(made: Compaction | None) -> list[tuple[int, int, str, tuple[int, ...]]]:
    """Return (first, last, representation, verbatim) of each segment."""
    assert made is not None
    return [
        (segment.first_seq, segment.last_seq, segment.representation.value, segment.verbatim)
        for segment in made.segments
    ]


def test_attempts_go_from_gentle_to_nothing_but_what_must_stay() -> None:
    """Notes give way before what the user said; with the scope none there is one attempt (B-17)."""
    attempts = reductions(HistorySettings())
    assert attempts[0].gentle
    assert not any(reduction.gentle for reduction in attempts[1:])
    assert attempts[-1] == Reduction(0.0, 0.0, 0.0, 0.0)
    assert [reduction.keep_fraction for reduction in attempts] == sorted(
        (reduction.keep_fraction for reduction in attempts), reverse=True
    )
    assert [reduction.notes_fraction for reduction in attempts] == sorted(
        (s.notes_fraction for s in attempts), reverse=True
    )
    assert [reduction.user_fraction for reduction in attempts] == sorted(
        (s.user_fraction for s in attempts), reverse=True
    )
    assert reductions(HistorySettings(scope="none")) == [Reduction(0.0, 0.0, 0.0, 0.0)]


def test_nothing_is_moved_where_all_must_stay() -> None:
    """One message in flight, however hard the step."""
    alone = source([row(0, tokens=2000)])
    assert [batch(alone, reduction) for reduction in reductions(SETTINGS)] == [None] * len(reductions(SETTINGS))


def test_history_gives_way_down_to_the_low_water_mark() -> None:
    """1,200 of 4,000, notes included; the questions stay verbatim behind the notes (W-16)."""
    rows = [row(seq, "assistant" if seq % 2 else "user", tokens=200 if seq % 2 else 40) for seq in range(40)]
    at = source([*rows, row(40, turn=40)], room=4000)
    made = batch(at, note_rate=0.04)
    assert made is not None
    assert sum(step.cost.bound for step in at.tail if step.first_seq >= made.tail_from_seq) <= 1200
    assert made.tail_from_seq in {32, 33}
    assert {run[2] for run in runs(made)} == {"summary+user"}
    assert [seq for run in runs(made) for seq in run[3]] == list(range(0, made.tail_from_seq, 2))
    assert made.runs == tuple(run[:2] for run in runs(made))
    assert made.merged_through == -1


def test_what_came_with_the_call_stays_raw() -> None:
    """And the message in flight with it, whatever it costs."""
    rows = [*turns(5, 100), row(10, tokens=200, turn=10), row(11, "assistant", tokens=200)]
    made = batch(source(rows, stored=10), Reduction(0.0, 0.0, 0.1, 0.45))
    assert made is not None
    assert made.tail_from_seq == 10


def test_newest_messages_stay_raw_while_they_fit() -> None:
    """The configured number of them."""
    rows = turns(10, 100)
    at = source(rows, room=2000)
    made = batch(at, Reduction(0.01, 0.0, 0.1, 0.2), min_recent_messages=6, keep_fraction=0.5)
    assert made is not None
    assert made.tail_from_seq <= 14


def test_notes_are_chained_while_that_is_cheaper() -> None:
    """Behind the notes that stand, which are kept as they are (O-08)."""
    old = PlanBlock(
        Segment(0, 9, Representation.SUMMARY_USER, "s0-9", (0,), 10), (shown(summary(0, 9)), raw_part(row(0)))
    )
    notes = Notes()
    made = batch(source([*turns(20, 20, start=10), row(50, turn=50)], blocks=(old,)), notes=notes, read_price=0.1)
    assert made is not None
    assert made.kept_blocks == 1
    assert runs(made)[0] == (0, 9, "summary+user", (0,))
    assert notes.asked[0].startswith("detailed 10-")


def test_notes_are_folded_into_one_where_there_is_no_chain() -> None:
    """Notes on everything, with the newest questions the budget allows."""
    old = PlanBlock(
        Segment(0, 9, Representation.SUMMARY_USER, "s0-9", (0,), 10), (shown(summary(0, 9)), raw_part(row(0)))
    )
    notes = Notes()
    at = source([*turns(20, 20, start=10), row(50, turn=50)], blocks=(old,))
    made = batch(at, notes=notes, chain=False, level_fraction=0.0)
    assert made is not None
    assert made.kept_blocks == 0
    assert [run[2] for run in runs(made)] == ["summary:merged"]
    assert made.merged_through == made.tail_from_seq - 1
    last, kept = made.merged_through, len(runs(made)[0][3])
    assert notes.asked == [f"folded 0-{last} with {len(made.runs)} beside {kept}"]


AGED = (NoteBlock(0, 9, 200), NoteBlock(10, 19, 200), NoteBlock(20, 29, 200), NoteBlock(30, 39, 200))


def aged(notes: Notes, **settings: object) -> Compaction:
    """Return the batch that tells four noted blocks and a new one anew."""
    blocks = tuple(
        PlanBlock(
            Segment(*run[:2], Representation.SUMMARY_USER, f"s{run[0]}", (run[0],), 10), (shown(summary(*run[:2])),)
        )
        for run in AGED
    )
    notes.kept = AGED
    at = source([*turns(4, 30, start=40), row(48, turn=48)], room=2000, blocks=blocks)
    made = batch(at, HARD, notes, chain=False, min_note_tokens=8, **settings)
    assert made is not None
    return made


def test_newest_blocks_keep_notes_of_their_own_by_rank_when_all_is_told_anew() -> None:
    """The newest detailed, the one before moderate, then compact, all older ones in one note (O-09)."""
    notes = Notes()
    made = aged(notes, detailed_blocks=1, moderate_blocks=1, compact_blocks=1, level_fraction=0.6)
    found = [(first, last, level.removeprefix("summary:")) for first, last, level, _ in runs(made)]
    assert found == [(0, 19, "merged"), (20, 29, "compact"), (30, 39, "moderate"), (40, 47, "detailed")]
    assert [asked.split(" beside")[0] for asked in notes.asked] == [
        "folded 0-19 with 1",
        "compact 20-29",
        "moderate 30-39",
        "detailed 40-47",
    ]
    assert made.runs == ((40, 47),)
    assert made.merged_through == 19


def test_notes_by_rank_stop_where_their_share_of_the_room_ends() -> None:
    """What does not fit is merged, however many blocks the settings would keep."""
    wide, narrow, none = (aged(Notes(), detailed_blocks=9, level_fraction=share) for share in (1.0, 0.2, 0.0))
    counts = [sum(run[2] == "summary:detailed" for run in runs(made)) for made in (wide, narrow, none)]
    assert counts[0] == 5
    assert 0 < counts[1] < 5
    assert counts[2] == 0
    assert wide.merged_through == -1


def test_notes_on_many_blocks_stay_one_note() -> None:
    """What was merged is told by rank never again, whatever a process that was just started has read."""
    notes = Notes(kept=AGED)
    old = PlanBlock(Segment(0, 29, Representation.MERGED, "s0", (), 10), (shown(summary(0, 29)),))
    new = PlanBlock(Segment(30, 39, Representation.SUMMARY_USER, "s30", (), 10), (shown(summary(30, 39)),))
    made = batch(
        source([*turns(4, 30, start=40), row(48, turn=48)], blocks=(old, new)),
        HARD,
        notes,
        chain=False,
        min_note_tokens=8,
        level_fraction=1.0,
    )
    assert runs(made)[0][:3] == (0, 29, "summary:merged")


def test_users_words_give_way_in_one_batch_when_they_cost_too_much() -> None:
    """Down to a share of their room, so that the next turn does not cut again; while they fit, all stay."""
    rows = [*turns(20, 30), row(40, turn=40)]
    fit, cut = (batch(source(rows), Reduction(0.0, 0.0, share, 0.45), Notes()) for share in (0.7, 0.4))
    assert sum(len(run[3]) for run in runs(fit)) == 20
    assert sum(len(run[3]) for run in runs(cut)) * 30 <= 0.4 * 0.3 * 1000


def test_fold_leaves_what_it_can_not_reach_to_a_pointer() -> None:
    """With what must stay verbatim in either."""
    at = source([*turns(20, 30), row(40, turn=40)])
    made = batch(at, HARD, Notes(oldest=10), chain=False, level_fraction=0.0)
    first, second = runs(made)
    assert (first[0], first[1], first[2]) == (0, 9, "absent")
    assert (second[0], second[2]) == (10, "summary:merged")
    assert all(seq < 10 for seq in first[3])
    assert all(seq >= 10 for seq in second[3])


def test_hardest_attempt_leaves_a_pointer_with_pins_and_the_question() -> None:
    """No room for notes: what is pinned and what is being answered stay (B-16)."""
    rows = [*turns(5, 30), row(10, turn=10, tokens=30), *(row(seq, "assistant", tokens=30) for seq in range(11, 20))]
    at = source(rows, pinned=frozenset({3}), in_flight_seq=10)
    made = batch(at, Reduction(0.0, 0.0, 0.0, 0.0))
    assert runs(made) == [(0, 18, "absent", (3, 10))]
    assert made is not None
    assert made.summaries == ()


def test_pinned_step_stays_whole_behind_its_notes() -> None:
    """Call and result."""
    rows = [row(0), row(1, "assistant", calls=("a",)), row(2, answers="a"), *turns(15, 25, start=3), row(33, turn=33)]
    made = batch(source(rows, pinned=frozenset({1, 2})))
    assert runs(made)[0][3][:3] == (0, 1, 2)


def test_what_was_pinned_after_it_was_summarized_comes_back() -> None:
    """By a fold, although nothing else has to move."""
    old = PlanBlock(Segment(0, 9, Representation.MERGED, "s0-9", (), 10), (shown(summary(0, 9)),))
    at = source([row(10, turn=10)], blocks=(old,), held=(row(4),), pinned=frozenset({4}))
    made = batch(at)
    assert runs(made) == [(0, 9, "summary:merged", (4,))]


def test_outputs_are_slimmed_between_notes_and_raw_messages() -> None:
    """Where the settings ask for it; the questions in between are not cut."""
    rows = []
    for turn in range(8):
        base = turn * 3
        rows += [row(base), row(base + 1, "assistant", calls=("a",)), row(base + 2, answers="a", tokens=300)]
    made = batch(source([*rows, row(24, turn=24)], room=2000), Reduction(0.5, 0.2, 0.5, 0.45, gentle=True))
    slimmed = runs(made)[-1]
    assert slimmed[2] == "slimmed"
    assert made is not None
    assert slimmed[1] + 1 == made.tail_from_seq
    assert slimmed[3] == tuple(seq for seq in range(slimmed[0], slimmed[1] + 1) if seq % 3 == 0)


@pytest.mark.parametrize("rate", [0.0, 0.08, 1.0])
def test_batch_covers_everything_before_the_tail_without_holes(rate: float) -> None:
    """Whatever the step; the hardest one always makes one."""
    at = source([*turns(20, 30), row(40, turn=40)], slimmed=())
    tried = [batch(at, reduction, note_rate=rate) for reduction in reductions(SETTINGS)]
    assert tried[-1] is not None
    for made in filter(None, tried):
        ends = [(segment.first_seq, segment.last_seq) for segment in made.segments]
        assert ends[0][0] == 0
        assert [first for first, _ in ends[1:]] == [last + 1 for _, last in ends[:-1]]
        assert ends[-1][1] + 1 == made.tail_from_seq


def summary(first: int, last: int) -> Summary:
    """Return notes of 10 tokens."""
    return Notes().merged_note(first, last, [], [], 1)


def test_notes_take_what_is_left_and_an_event_leaves_room_to_grow() -> None:
    """Less than their share where much stays behind them; none where next to nothing is left."""
    notes = Notes()
    reduction = Reduction(0.0, 0.0, 0.1, 0.45)
    at = source([*turns(20, 20), row(40, turn=40, tokens=550)], room=1000)
    (told,) = runs(batch(at, reduction, notes, chain=False, level_fraction=0.0))
    assert notes.limits == [int(filled(1000, SETTINGS)) - 550 - 20 * len(told[3])]
    full = source([*turns(20, 20), row(40, turn=40, tokens=790)], room=1000)
    assert [run[2] for run in runs(batch(full, reduction, notes, chain=False))] == ["absent"]


@pytest.mark.parametrize("newest", [10, 300, 600])
def test_larger_room_keeps_all_that_a_smaller_one_keeps(newest: int) -> None:
    """Whatever must stay: raw messages and the user's words alike."""
    rows = [*turns(30, 17), row(60, turn=60, tokens=newest)]
    kept: list[set[int]] = []
    for room in range(newest + 200, 2_000, 37):
        made = batch(source(rows, room=room), Reduction(0.3, 0.0, 0.5, 0.45))
        assert made is not None
        raw = set(range(made.tail_from_seq, 61))
        kept.append(raw.union(*(run[3] for run in runs(made))))
    assert all(small <= large for small, large in pairwise(kept))
