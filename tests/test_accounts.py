"""Who asks a provider: addresses, keys, and refusals in our words, the same for each provider."""

from __future__ import annotations

import re
from types import ModuleType

import pytest

from squidbot.adapters.common.providers import (
    MOST_SAID_CHARS,
    NO_KEY,
    Account,
    RefusalPatterns,
    UnfitError,
    address,
    is_here,
)
from squidbot.core.errors import ConfigError, ContextOverflowError, LLMError, StaleThinkingError

KEY = "sk-not-to-be-shown"


class _Client:
    def __init__(self, *, api_key: str, **_: object) -> None:
        self.api_key = api_key
        self.closed = False

    def close(self) -> None:
        self.closed = True

    def is_closed(self) -> bool:
        return self.closed


_SDK = ModuleType("sdk")
vars(_SDK).update(Client=_Client, Timeout=lambda *_, **__: None, APIError=OSError)


class Plain(Account):
    """A provider whose SDK does nothing."""

    sdk, sdk_client = _SDK, "Client"
    usual_url = "https://api.example.org/v1"
    usual_key = "EXAMPLE_API_KEY"
    words = RefusalPatterns(re.compile("too long"), re.compile(r"> (\d+) maximum"), re.compile("stale"))

    def __init__(self, url: str = "", *, key: str = KEY, key_name: str = "") -> None:
        super().__init__(url, environment={key_name or self.usual_key: key}, key_name=key_name)


@pytest.mark.parametrize(
    "url",
    [
        "api.example.org",
        "ftp://there/v1",
        "https://",
        "https://there:99999",
        "https://there:port",
        "https://there/v1?version=2",
        "https://there/v1#chat",
        f"https://me:{KEY}@there/v1",
        f"https://{KEY}@there/v1",
        "https://@there",
    ],
)
def test_what_is_no_address_is_told_with_what_one_looks_like_and_no_password(url: str) -> None:
    """Keys come from the environment: an address has no user, and neither a query nor a fragment."""
    with pytest.raises(ConfigError, match=r"^url .* is not an address") as caught:
        Plain(url)
    assert KEY not in str(caught.value)


def test_key_is_needed_for_all_servers_but_those_of_this_machine() -> None:
    """The text names the variable that the settings name, or the usual one."""
    with pytest.raises(
        ConfigError,
        match=r"^missing API key for https://api.example.org/v1: .* EXAMPLE_API_KEY",
    ):
        Plain(key=" ")
    with pytest.raises(ConfigError, match=r"^missing API key for https://there: set the environment variable MINE"):
        Plain("https://there/", key="", key_name="MINE")
    assert Plain("http://127.0.0.1:8000", key="").client.api_key == NO_KEY
    assert Plain(key=f" {KEY}\n").client.api_key == KEY
    assert [is_here(address(f"http://{host}/v1", "")) for host in ("localhost", "[::1]:9", "127.9.9.9", "there")] == [
        True,
        True,
        True,
        False,
    ]


def test_usual_server_is_told_from_others() -> None:
    """Also where it is written out."""
    assert Plain().is_usual
    assert Plain(f"{Plain.usual_url}/").is_usual
    assert not Plain("https://there:8080/v1").is_usual
    assert Plain("https://there:8080/v1").host == "there:8080"


@pytest.mark.parametrize(
    ("status", "kind", "said", "error", "ours"),
    [
        (401, "", "who?", LLMError, "refused: .* rejects the API key in EXAMPLE_API_KEY"),
        (403, "", "prompt is too long", LLMError, "refused: .* rejects the API key"),
        (429, "tokens", "too long", LLMError, "rate-limit: rate limit of"),
        (0, "rate_limit_exceeded", "slowly", LLMError, "rate-limit: "),
        (429, "insufficient_quota", "pay", LLMError, r"refused: .* refuses \(429\): pay"),
        (500, "", "too long", LLMError, r"unreachable: .* fails \(500\)"),
        (0, "overloaded_error", "later", LLMError, "unreachable: .* fails: later"),
        (400, "", "too long: 9 > 8 maximum", ContextOverflowError, "refuses a request: too long: 9 > 8 maximum"),
        (0, "too long", "", ContextOverflowError, "refuses a request"),
        (400, "", "stale reasoning", StaleThinkingError, "refused: .* refuses reasoning that comes back"),
        (422, "", "what is x?", UnfitError, r"refused: .* refuses \(422\): what is x\?"),
        (404, "", "no such model", LLMError, r"refused: .* refuses \(404\): no such model"),
        (0, "", "what?", LLMError, "unusable: unexpected answer from .*: what"),
    ],
)
def test_refusal_is_named_by_who_must_act(status: int, kind: str, said: str, error: type[Exception], ours: str) -> None:
    """The key, the rate, the server, the length, the reasoning, the request; a quota that is used up is no rate."""
    refusal = Plain().refusal(status, kind, said)
    assert type(refusal) is error
    assert re.match(ours if error is not ContextOverflowError else f"https.*{ours}", str(refusal))


def test_refusal_of_what_is_too_long_teaches_the_window() -> None:
    """Where it tells one."""
    account = Plain()
    account.refusal(400, "", "too long")
    assert account.refused_window_tokens is None
    account.refusal(400, "", "too long: 900 > 800 maximum")
    assert account.refused_window_tokens == 800


def test_what_a_server_says_is_one_short_line_without_the_key() -> None:
    """A page of HTML is as much as a person reads; servers repeat keys."""
    told = Plain().message(ValueError(f"no\n  {KEY}  {'x' * 9_000}"))
    assert told.startswith("no *** xxx")
    assert len(told) <= MOST_SAID_CHARS
    assert "None" not in Plain().message(ValueError("no"))


def test_closed_account_says_so() -> None:
    """And a second close does nothing."""
    account = Plain()
    with account.failures():
        pass
    account.close()
    account.close()
    with (
        pytest.raises(LLMError, match=r"^unreachable: connection to https://api.example.org/v1 is closed"),
        account.failures(),
    ):
        pass
