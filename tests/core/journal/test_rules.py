"""What is kept of an entry."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.errors import ConfigError, StoreError
from squidbot.core.journal import LISTS, JournalEntry, JournalRules, from_line, to_line

SECRETS = ("sk-" + "a1B2" * 6, "AKIA" + "Q7" * 8, "ghp_" + "x9" * 12)
TEXT = st.text(max_size=60)


@given(TEXT, TEXT, st.sampled_from(SECRETS), st.sampled_from(("summary", *LISTS)))
def test_no_secret_is_in_the_line_wherever_it_was_said(before: str, behind: str, secret: str, place: str) -> None:
    """In the summary and in each list, whatever stands around it (V21)."""
    said = f"{before} {secret} {behind}"
    at: dict[str, tuple[str, ...]] = {place: (said,)}
    decisions, progress, questions, files, errors, tags = (at.get(key, ()) for key in LISTS)
    summary = said if place == "summary" else "x"
    entry = JournalEntry(0, summary, "", "", "", decisions, progress, questions, files, errors, tags)
    line = to_line(JournalRules().applied(entry)[0])
    assert secret not in line
    assert "[redacted]" in line


@given(st.text(min_size=1, max_size=200), st.lists(TEXT, max_size=3).map(tuple))
def test_kept_entry_comes_back_from_its_line(summary: str, items: tuple[str, ...]) -> None:
    """Lone surrogates, too: of what is kept no two halves stand side by side."""
    if not summary.strip():
        summary += "x"
    kept = JournalRules().applied(JournalEntry(0, summary, summary, summary, summary, *(items,) * 6))[0]
    assert from_line(to_line(kept)) == kept


def test_named_secret_is_taken_out_when_its_name_is_a_pattern() -> None:
    """A word stands before a secret; all else is the secret itself (J-03)."""
    entry = JournalEntry(0, "door_code: 7788-99 and ticket ACME-1234; the ticket office")
    assert JournalRules().applied(entry)[0] == entry
    kept = JournalRules(redact_patterns=("door_code", r"ACME-\d+")).applied(entry)[0]
    assert kept.summary == "door_code: [redacted] and ticket [redacted]; the ticket office"


def test_documented_patterns_are_names() -> None:
    """The word "secret" alone is none."""
    entry = JournalEntry(0, "the secret of tea; api_key = abcdefgh12345678", tags=("secret",))
    kept = JournalRules().applied(entry)[0]
    assert (kept.summary, kept.tags) == ("the secret of tea; api_key = [redacted]", ("secret",))


@pytest.mark.parametrize("pattern", ["[", "x*"])
def test_pattern_that_is_none_is_refused_at_once(pattern: str) -> None:
    """Not only when the first entry comes."""
    with pytest.raises(ConfigError, match="redaction pattern"):
        JournalRules(redact_patterns=(pattern,))


def test_files_and_errors_are_left_out_when_nobody_wants_them() -> None:
    """And nothing else (J-03)."""
    entry = JournalEntry(0, "x", decisions=("d",), files_touched=("a.py",), errors=("e",), tags=("t",))
    assert JournalRules().applied(entry)[0] == entry
    assert JournalRules(include_files=False).applied(entry)[0] == replace(entry, files_touched=())
    assert JournalRules(include_errors=False).applied(entry)[0] == replace(entry, errors=())
    assert JournalRules(include_errors=False).applied(entry)[1] == ()


def test_what_is_too_long_is_cut_and_told() -> None:
    """What and how much; what has room stays as it is."""
    kept, cuts = JournalRules().applied(
        JournalEntry(0, "x " * 5_000, decisions=("d " * 300, "short"), tags=("t",) * 70)
    )
    assert (len(kept.summary), len(kept.decisions[0]), kept.decisions[1], len(kept.tags)) == (4_800, 400, "short", 50)
    assert kept.summary.endswith("…")
    assert sorted(cuts) == [
        "decisions: kept 400 of 600 characters",
        "summary: kept 4,800 of 10,000 characters",
        "tags: kept 50 of 70",
    ]
    assert JournalRules().applied(kept) == (kept, ())


def test_secret_at_the_border_is_taken_out_before_the_cut() -> None:
    """Half of one would not be known for one."""
    said = "x " * 2_385 + " password: correct-horse-battery-staple" + " x" * 100
    assert "corr" not in JournalRules().applied(JournalEntry(0, said))[0].summary


@pytest.mark.parametrize(
    "entry", [JournalEntry(0, ""), JournalEntry(0, " \n\t"), JournalEntry(0, "x", run_id="r" * 1_025)]
)
def test_entry_without_words_or_with_an_endless_id_is_refused(entry: JournalEntry) -> None:
    """Nothing was written."""
    with pytest.raises(StoreError, match="nothing was written"):
        JournalRules().applied(entry)


def test_rules_are_those_of_the_document_when_nothing_is_said() -> None:
    """J-03."""
    rules = JournalRules()
    got = {field.name: getattr(rules, field.name) for field in fields(rules)}
    assert got == {
        "most_entries_per_day": 200,
        "include_files": True,
        "include_errors": True,
        "redact_patterns": ("api_key", "secret"),
        "clock": None,
        "slow": None,
    }
