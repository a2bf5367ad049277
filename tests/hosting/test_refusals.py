"""Errors of models by which a host says that a request was too long."""

from __future__ import annotations

import pytest

from squidbot.plugins.host import is_too_long


class Refused(Exception):  # noqa: N818  # as a host names it
    """An error of a provider's package."""

    def __init__(self, text: str, status_code: int | None = None, code: str = "") -> None:
        super().__init__(text)
        self.status_code, self.code = status_code, code


@pytest.mark.parametrize(
    "error",
    [
        Refused("prompt is too long: 210000 tokens > 200000 maximum", 400),
        Refused("Your input was refused", 400, "context_length_exceeded"),
        Refused("This model's maximum context length is 8192 tokens", 400),
        Refused("request (9000 tokens) exceeds the available context size (8192 tokens)", 400),
        Refused("request_too_large", 413),
        ValueError("Requested tokens (9000) exceed context window of 8192"),
    ],
)
def test_a_request_that_is_too_long_is_known_by_its_words(error: Exception) -> None:
    """Of providers, and of models in this process."""
    assert is_too_long(error)


@pytest.mark.parametrize(
    "error",
    [
        Refused("This request would exceed your organization's rate limit of 30,000 input tokens per minute", 429),
        Refused("maximum context length", 500),
        Refused("Limit 10000 tokens per min exceeded"),
        ConnectionError("no route"),
    ],
)
def test_other_errors_are_none(error: Exception) -> None:
    """Limits of a minute are counted in tokens, too: asking again with less would help nobody."""
    assert not is_too_long(error)
