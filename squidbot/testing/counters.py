"""What a TokenCounter promises, as a check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.testing.values import ODD_TEXTS

if TYPE_CHECKING:
    from squidbot.core.ports import TokenCounter

__all__ = ["check_token_counter"]


def check_token_counter(counter: TokenCounter) -> None:
    """Check the promises of `ports.TokenCounter` that need no model: answers are repeatable, never raise, and fit.

    Whether `upper_bound` is never under a model's own count only that model's tokenizer can tell.

    Raises:
        AssertionError: a promise is broken; the text says which.
    """
    assert counter.name, "a counter's name is not empty: stored counts are kept under it"
    certificates = {"exact", "anchored", "calibrated", "proved", "measured", "none"}
    assert counter.certificate in certificates, f"certificate {counter.certificate!r} is none of {sorted(certificates)}"
    for text in (
        *ODD_TEXTS,
        "Hello, world.",
        "def f(x):\n\treturn x\n",
        "{" * 999,
        "漢字かな交じり文",
        "\N{SQUID}" * 99,
    ):
        count, bound = counter.count(text), counter.upper_bound(text)
        shown = ascii(text[:40])
        assert isinstance(count, int), f"count({shown}) is an int, not {count!r}"
        assert isinstance(bound, int), f"upper_bound({shown}) is an int, not {bound!r}"
        assert 0 <= count <= bound, f"0 <= count <= upper_bound for {shown}: got {count} and {bound}"
        assert counter.count(text) == count, f"count({shown}) is the same each time"
        assert counter.upper_bound(text) == bound, f"upper_bound({shown}) is the same each time"
    if counter.certificate == "exact":
        assert counter.count("squid") == counter.upper_bound("squid"), "an exact counter's bound is its count"
