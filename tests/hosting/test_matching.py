"""Which messages of a host's list are new."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.plugins.lists import ENOUGH, HostForm, first_new, first_unknown

# Few words: everything is said twice.
SAID = st.lists(st.sampled_from("abc"), max_size=12)


@given(SAID, SAID)
def test_all_that_is_recorded_and_what_came_since(recorded: list[str], new: list[str]) -> None:
    """A host that keeps everything: what is behind is new, or more of it where it was said before, too."""
    listed = [*recorded, *new]
    assert first_new(listed, recorded) == len(recorded)


@given(SAID, SAID.filter(bool), SAID)
def test_the_end_of_what_is_recorded_and_what_came_since(before: list[str], end: list[str], new: list[str]) -> None:
    """A host that has forgotten the beginning: nothing new is ever taken for old."""
    assert first_new([*end, *new], [*before, *end]) <= len(end) + _repeats(end, new)
    assert [*end, *new][first_new([*end, *new], [*before, *end]) :][-len(new) :] == new or _repeats(end, new)


def _repeats(end: list[str], new: list[str]) -> int:
    """Return how much of what is new can be taken for the end said once more."""
    return len(new) if end[-1] in new else 0


def test_a_list_of_this_run_alone_is_new() -> None:
    """A host without memory: the same words in another turn are another message."""
    assert first_new(["hi"], ["hi", "hello"]) == 0
    assert first_new(["hi", "hello", "hi"], ["hi", "hello"]) == 2
    assert first_new([], ["hi"]) == 0
    assert first_new(["hi"], []) == 0


def test_a_retry_of_what_was_recorded_is_not() -> None:
    """A prompt that stands unanswered is recorded, and said again by the host."""
    assert first_new(["hi"], ["x", "y", "hi"]) == 1


@given(SAID, SAID, st.lists(st.booleans(), min_size=12, max_size=12))
def test_a_host_that_forgets_turns_that_failed_lists_nothing_new(
    recorded: list[str], new: list[str], kept: list[bool]
) -> None:
    """What it lists of what is recorded is known, whatever is missing between; and all of it where nothing is."""
    listed = [each for each, stays in zip(recorded, kept, strict=False) if stays]
    assert first_unknown([*listed, *new], recorded) >= len(listed)
    assert first_unknown([*recorded, *new], recorded) == len(recorded)


def test_what_is_said_behind_turns_that_failed_is_new() -> None:
    """Twice one has failed, with another behind it."""
    assert first_unknown(["a", "b", "e"], ["a", "b", "failed"]) == 2
    assert first_unknown(["a", "b", "c", "d", "e"], ["a", "b", "failed", "c", "d", "too"]) == 4
    assert first_unknown(["new"], ["a", "b"]) == 0


def test_messages_are_told_apart_by_their_key() -> None:
    """Whatever the order of keys; of a list the order counts."""
    form = HostForm(OpenAIChat(), key=lambda payload: payload["parts"])
    assert form.identity({"parts": [{"a": 1, "b": 2}], "run": 1}) == form.identity({"parts": [{"b": 2, "a": 1}]})
    assert form.identity({"parts": ["a", "b"]}) != form.identity({"parts": ["b", "a"]})


def test_of_a_long_conversation_little_is_looked_at() -> None:
    """Where a host lists all, and where it has begun anew."""
    recorded = [str(number) for number in range(10_000)]

    class Asked(list[str]):
        asked = 0

        def __getitem__(self, place: object) -> str:  # type: ignore[override]
            found = super().__getitem__(place)  # type: ignore[call-overload]
            Asked.asked += len(found) if isinstance(place, slice) else 1
            return found  # type: ignore[no-any-return]

    for listed, new in ((["new", *recorded, "new"], 10_001), ([*recorded, "new"], 10_000), (["new", "newer"], 0)):
        for known in (first_new, first_unknown):
            Asked.asked = 0
            assert known(Asked(listed), Asked(recorded)) == new
            assert Asked.asked < 6 * ENOUGH
