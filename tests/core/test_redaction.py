"""Secrets are taken out of derived texts, and little else is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.errors import ConfigError
from squidbot.core.redaction import Redactor

MARK = "[redacted]"
KEY = "a1B2" * 9


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("api_key: abc123", "abc123"),
        ("my API key is q7Wz-99", "q7Wz-99"),
        ("set APIKEY=abc123 first", "abc123"),
        ('{"client_secret": "a b c"}', "a b c"),
        ("my password is hunter2", "hunter2"),
        ("the password is swordfish", "swordfish"),
        ("DB_PASSWORD='pass word'", "pass word"),
        ("Authorization: Bearer abcdefghijklmn", "abcdefghijklmn"),
        ("use sk-" + "x" * 24, "x" * 24),
        ("ghp_" + "a1" * 18, "a1" * 18),
        ("AKIA" + "ABCD1234" * 2, "ABCD1234"),
        ("xoxb-" + "12345-abcdef", "12345-abcdef"),
        ("eyJhbGciOiJIUzI1.eyJzdWIiOiIx.c2ln", "eyJzdWIiOiIx"),
        ("postgres://ann:pa55@db/x", "pa55"),
        (f"it is {KEY}", KEY),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- end", "MIIE"),
        ("pay with 4111 1111 1111 1111 now", "1111 1111"),
    ],
)
def test_secret_is_taken_out(text: str, secret: str) -> None:
    """By the name in front of it, or by its shape."""
    shown = Redactor().redacted(text)
    assert secret not in shown
    assert MARK in shown


@pytest.mark.parametrize(
    "text",
    [
        "The user prefers tabs over spaces.",
        "The token is expired.",
        "Secret santa is on Friday.",
        "The deploy branch is release/2026-11.",
        "max_tokens: 4096",
        "commit 0c1e57098f2b7a6c5d4e3f2a1b0c9d8e7f6a5b4c",
        "order 1234 5678 9012 3456",
        "src/very/long/path/With9Mixed/CaseAndDigits123456789.py",
        "Call me on the first of May 2026.",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    """A memory with holes is none."""
    assert Redactor().redacted(text) == text


def test_names_and_patterns_can_be_set() -> None:
    """What a user of the library adds."""
    redactor = Redactor(names=("badge",), patterns=(r"\bEMP-\d+",), mark="***")
    assert redactor.redacted("badge: 77-A, EMP-1234, password: x12345") == "badge: ***, ***, password: x12345"
    assert Redactor(names=()).redacted("api_key: abc123") == "api_key: abc123"


@pytest.mark.parametrize("pattern", ["(", "x*", "a" * 1_001])
def test_pattern_that_can_not_be_used_is_refused(pattern: str) -> None:
    """At once, not when a secret is to be found."""
    with pytest.raises(ConfigError):
        Redactor(patterns=(pattern,))
    with pytest.raises(ConfigError):
        Redactor(mark="")


SHAPED = st.sampled_from(["api_key", "password", ": ", " is ", "=", "sk-" + "x" * 20, KEY, MARK, '"', "hunter22", " "])


@given(st.lists(SHAPED | st.text(max_size=12), max_size=12).map("".join))
def test_redacting_twice_is_redacting_once(text: str) -> None:
    """Whatever stands around a mark."""
    once = Redactor().redacted(text)
    assert Redactor().redacted(once) == once


@given(st.text(), st.sampled_from([r"\b", "redacted", r"\[", "a", r"(?=x)"]))
def test_any_pattern_comes_to_an_end(text: str, pattern: str) -> None:
    """Also one that finds the mark itself, or nothing between two letters."""
    redactor = Redactor(patterns=(pattern,))
    assert redactor.redacted(redactor.redacted(text)) == redactor.redacted(text)
