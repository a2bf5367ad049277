"""The measures, checked by hand and against plain re-implementations."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.messages import Usage
from squidbot.replay.metrics import AGES_TOKENS, Ruler, Scorer, Tally, literals_in, price_of_everything
from squidbot.replay.recording import Recording, RequestBlock
from squidbot.replay.rivals import SendEverything, score_rival

if TYPE_CHECKING:
    from squidbot.core.ports import Certificate

NO_LIMIT = 10**9


class Words:
    """One token a word; a message has four more. The bound is twice the estimate."""

    name = "words"
    certificate: Certificate = "none"

    def count(self, text: str) -> int:
        """Return the number of words."""
        return len(text.split())

    def upper_bound(self, text: str) -> int:
        """Return twice the number of words."""
        return 2 * len(text.split())


def block(role: str, text: str, calls: tuple[str, ...] = (), result: str | None = None) -> RequestBlock:
    """Return a block said verbatim."""
    return RequestBlock(role, "message", text, (), calls, result)


def recording(*blocks: RequestBlock, times: list[float] | None = None) -> Recording:
    """Return a recording of one block a message, 8 seconds apart unless times are given."""
    assumed = [8.0 * at for at in range(len(blocks))]
    return Recording(tuple((one,) for one in blocks), tuple(times or assumed))


TALK = recording(
    block("system", "be brief"),
    block("user", "open src/app/main.py please"),
    block("assistant", "reading src/app/main.py now"),
    block("user", "and build_index too"),
    block("assistant", "done with build_index in src/app/main.py"),
)


def scored(talk: Recording, requests: list[list[RequestBlock]], limit_tokens: int = NO_LIMIT) -> Tally:
    """Return the tally of the requests for the calls of a recording, in order."""
    scorer = Scorer(talk, Ruler(Words()), limit_tokens)
    for index, request in zip(talk.calls, requests, strict=True):
        scorer.take(index, request)
    return scorer.tally


def said(talk: Recording, end: int) -> list[RequestBlock]:
    """Return the first messages of a recording as a request."""
    return [one for blocks in talk.messages[:end] for one in blocks]


# -- literals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see src/app/main.py:12", {"src/app/main.py"}),
        ("~/notes/today and ./run.sh", {"~/notes/today", "./run.sh"}),
        ("call handleRequest or build_index", {"handleRequest", "build_index"}),
        ("commit 3f2a9c1 of 2024-11-05", {"3f2a9c1"}),
        ("order 123456 and 1234", {"123456"}),
        ("read setup.cfg and example.com", {"setup.cfg", "example.com"}),
        ("a_b x.py 12345 plain words only", set()),
        ("naïve_name in café.txt", {"ve_name", "café.txt"}),
        ("", set()),
    ],
)
def test_literals_in_finds_what_must_be_repeated_exactly(text: str, found: set[str]) -> None:
    """Paths, identifiers, hashes, numbers and file names of six characters or more, and nothing else."""
    assert literals_in(text) == found


# The definition as one would write it down, with no care for long runs.
PLAIN = re.compile(
    r"[A-Za-z0-9_@~.-]*(?:/[A-Za-z0-9_@.-]+)+|[A-Za-z_]+[a-z0-9]+[A-Z][A-Za-z0-9_]+|[A-Za-z0-9]+_[A-Za-z0-9_]+"
    r"|\b[0-9a-f]{7,40}\b|\b\d{4,}\b|\b[\w-]+\.[a-z]{2,4}\b"
)


@given(st.text(alphabet="abzAZ09_-./@~ é٣\n", max_size=60))
def test_literals_in_matches_the_plain_definition_on_any_text(text: str) -> None:
    """Cutting a text into runs and rewriting the pattern for speed changes nothing."""
    assert literals_in(text) == {found for found in PLAIN.findall(text) if len(found) >= 6}


def test_literals_in_leaves_long_data_alone_in_linear_time() -> None:
    """A megabyte without a break is data: it holds nothing that anybody types again, and costs no time."""
    text = "a" * 1_000_000 + " main_file " + "A9" * 500_000
    assert literals_in(text) == {"main_file"}


# -- the bill -------------------------------------------------------------------------------------------------------


def test_scorer_bills_what_was_cached_at_a_tenth_and_the_rest_at_five_quarters() -> None:
    """Two calls that extend each other: 6 + 8 tokens written, then those 14 read and 16 written."""
    tally = scored(TALK, [said(TALK, 2), said(TALK, 4)])
    first, second = 6 + 7, 7 + 7
    assert tally.tokens == first + (first + second)
    assert tally.cached_tokens == first
    assert tally.billed == pytest.approx(1.25 * first + 0.1 * first + 1.25 * second)
    assert tally.bite == pytest.approx(tally.billed / 2)
    assert tally.reuse == pytest.approx(first / (2 * first + second))
    assert tally.mean_tokens == pytest.approx((2 * first + second) / 2)
    assert tally.largest_tokens == first + second
    assert tally.breaks == 0


def test_scorer_reads_nothing_from_a_cache_that_has_expired() -> None:
    """An entry lives 300 seconds after its last use, and not one more."""
    for pause, cached in ((300.0, 13), (301.0, 0)):
        talk = recording(*[blocks[0] for blocks in TALK.messages], times=[0.0, 10.0, 20.0, 10.0 + pause, 900.0])
        assert scored(talk, [said(talk, 2), said(talk, 4)]).cached_tokens == cached


def test_scorer_counts_a_break_where_a_request_does_not_extend_the_one_before() -> None:
    """A changed first block costs the whole cache; `take` says so."""
    scorer = Scorer(TALK, Ruler(Words()), NO_LIMIT)
    assert not scorer.take(2, said(TALK, 2))
    assert scorer.take(4, said(TALK, 4)[1:])
    assert scorer.tally.breaks == 1
    assert scorer.tally.cached_tokens == 0


def test_scorer_bills_summaries_by_their_input_and_five_times_their_output() -> None:
    """A summary made by a model is part of what a policy costs."""
    plain = scored(TALK, [said(TALK, 2), said(TALK, 4)])
    scorer = Scorer(TALK, Ruler(Words()), NO_LIMIT)
    scorer.take(2, said(TALK, 2), [Usage(1000, 20), Usage(10, 1)])
    scorer.take(4, said(TALK, 4))
    assert scorer.tally.billed == pytest.approx(plain.billed + 1000 + 5 * 20 + 10 + 5)


def test_scorer_judges_over_by_bound_and_limit_that_were_enforced_else_by_the_sum_of_bounds() -> None:
    """Bounds of the first request: 4 + 2 x 2 and 4 + 2 x 3 tokens."""
    for limit, within, over in ((18, None, 0), (17, None, 1), (9, (17, 17), 0), (99, (18, 17), 1)):
        scorer = Scorer(TALK, Ruler(Words()), limit)
        scorer.take(2, said(TALK, 2), within=within)
        assert scorer.tally.over == over


TEXTS = st.lists(st.sampled_from(["a", "b b", "c"]), max_size=5)


def shared_tokens(one: list[str], other: list[str]) -> int:
    """Return the tokens of the common beginning of two requests."""
    total = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        total += len(mine.split()) + 4
    return total


@given(st.lists(TEXTS, min_size=1, max_size=6))
def test_scorer_finds_the_longest_cached_prefix_and_every_break(requests: list[list[str]]) -> None:
    """Against a plain search through all requests before, which here stay in the cache."""
    talk = recording(
        block("user", "go"), *(block("assistant", "x") for _ in requests), times=[0.0] * (len(requests) + 1)
    )
    tally = scored(talk, [[block("user", text) for text in request] for request in requests])
    cached = breaks = 0
    for at, request in enumerate(requests):
        cached += max((shared_tokens(earlier, request) for earlier in requests[:at]), default=0)
        breaks += at > 0 and request[: len(requests[at - 1])] != requests[at - 1]
    assert (tally.cached_tokens, tally.breaks) == (cached, breaks)


@given(
    st.lists(st.sampled_from(["system", "user", "assistant", "assistant", "tool"]), max_size=12),
    st.lists(st.sampled_from([0.0, 5.0, 250.0, 400.0]), min_size=12, max_size=12),
)
def test_bill_of_everything_is_what_sending_everything_is_billed(roles: list[str], pauses: list[float]) -> None:
    """One pass over the recording gives what a policy that sends all of it is billed, call by call."""
    times = [sum(pauses[: at + 1]) for at in range(len(roles))]
    talk = recording(*(block(role, f"{role} {at}") for at, role in enumerate(roles)), times=times)
    ruler = Ruler(Words())
    tally = score_rival(SendEverything(NO_LIMIT, ruler), talk, ruler, lambda: None).tally
    assert price_of_everything(talk, ruler) == pytest.approx(tally.billed)


# -- what is kept ---------------------------------------------------------------------------------------------------


def test_scorer_counts_needed_literals_by_age_and_whether_they_stand_in_the_request() -> None:
    """The second answer needs a path last seen 3 + 4 + 4 tokens ago and a name seen in the newest message."""
    whole = scored(TALK, [said(TALK, 2), said(TALK, 4)])
    assert dict(whole.needed) == {0: 3}
    assert whole.nlr == {0: 1.0, 2_000: None, 8_000: None, 32_000: None}
    newest = scored(TALK, [said(TALK, 2), said(TALK, 4)[3:]])
    assert newest.nlr[0] == pytest.approx(2 / 3)


def test_scorer_measures_the_age_of_a_literal_in_tokens_since_it_was_last_seen() -> None:
    """A name is as old as what was said after it, template tokens included; system texts age nothing."""
    for words, ages in ((1_996, [0, 2_000]), (1_995, [0])):
        talk = recording(
            block("user", "needle_name"),
            block("system", "x " * 5_000),
            block("user", "y " * words),
            block("assistant", "needle_name"),
        )
        needed = scored(talk, [said(talk, 3)]).needed
        assert [age for age in AGES_TOKENS if needed[age]] == ages


def test_scorer_does_not_ask_for_what_was_never_seen_or_stood_in_system_text_only() -> None:
    """Only what was said can be remembered."""
    talk = recording(
        block("system", "use tool_name_one"), block("user", "hi"), block("assistant", "tool_name_one new_name")
    )
    assert not scored(talk, [said(talk, 2)]).needed


def test_scorer_counts_the_users_earlier_messages_that_stand_word_for_word() -> None:
    """One of one, then one of two: a text that is said in another role, or shortened, is not the user's."""
    cut = [said(TALK, 4)[0], block("assistant", said(TALK, 2)[1].text), block("user", "and build"), said(TALK, 4)[3]]
    tally = scored(TALK, [said(TALK, 2), cut])
    assert (tally.users_held, tally.users_all) == (2, 3)
    assert tally.users_verbatim == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("request_blocks", "broken"),
    [
        ([block("user", "q"), block("assistant", "", ("c",)), block("tool", "r", (), "c")], 0),
        ([block("user", "q"), block("tool", "r", (), "c")], 1),
        ([block("tool", "r", (), "c"), block("assistant", "", ("c",))], 1),
        ([block("assistant", "", ("c",)), block("user", "q")], 1),
        ([block("user", "q"), block("assistant", "", ("c",))], 0),
        ([block("assistant", "", ("c", "d")), block("tool", "r", (), "d"), block("tool", "r", (), "c")], 0),
        ([block("assistant", "", ("c", "d")), block("tool", "r", (), "d")], 1),
        ([], 0),
    ],
)
def test_scorer_counts_requests_with_a_broken_pair_once(request_blocks: list[RequestBlock], broken: int) -> None:
    """A result needs its call before it, a call its result; only the newest block may still wait for one."""
    talk = recording(block("user", "q"), block("assistant", "a"))
    assert scored(talk, [request_blocks]).pairs_broken == broken


def test_scorer_skips_calls_without_a_request_but_hears_what_was_said() -> None:
    """A call for which no request could be made counts nowhere; its words are known afterwards."""
    scorer = Scorer(TALK, Ruler(Words()), NO_LIMIT)
    scorer.take(4, said(TALK, 4))
    assert scorer.tally.calls == 1
    assert scorer.tally.users_all == 2
    assert scorer.tally.nlr[0] == 1.0


def test_tally_adds_up() -> None:
    """The tally of two conversations has the sums, the largest request, and shares of the sums."""
    one, other = scored(TALK, [said(TALK, 2), said(TALK, 4)]), scored(TALK, [said(TALK, 2), said(TALK, 4)[3:]])
    both = Tally()
    both.add(one)
    both.add(other)
    assert both.calls == 4
    assert both.billed == pytest.approx(one.billed + other.billed)
    assert both.tokens == one.tokens + other.tokens
    assert both.largest_tokens == max(one.largest_tokens, other.largest_tokens)
    assert both.breaks == one.breaks + other.breaks
    assert both.nlr[0] == pytest.approx(5 / 6)


def test_tally_of_nothing_has_values() -> None:
    """A run in which no request could be made divides by nothing."""
    empty = Tally()
    assert (empty.bite, empty.mean_tokens, empty.reuse, empty.users_verbatim) == (0.0, 0.0, 0.0, 1.0)
    assert set(empty.nlr.values()) == {None}
