"""Vectors by OpenAI's API: its real SDK against a server with the provider's rules."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("openai", reason="the extra openai", exc_type=ImportError)

import squidbot
from squidbot.adapters.common.providers import Patience
from squidbot.adapters.openai import OpenAIAccount, OpenAIEmbedder
from squidbot.core.errors import ConfigError, ContextOverflowError, LLMError
from squidbot.testing import check_embedder

from .embeddings import DIMENSIONS, vector_of
from .openai_words import error
from .wire import KEY, Fault, Providers

if TYPE_CHECKING:
    from collections.abc import Callable

# No test waits for what a person would.
QUICK = Patience(connect_seconds=2.0, answer_seconds=2.0, retries=2)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the key where users have it."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def _sizes(providers: Providers) -> list[int]:
    """Return how many texts each request had."""
    return [len(body["input"]) for body in providers.bodies("/v1/embeddings")]  # type: ignore[arg-type]  # a list


def _embedder(providers: Providers, dimensions: int | None = None) -> OpenAIEmbedder:
    account = OpenAIAccount(providers.openai_url, patience=QUICK)
    return OpenAIEmbedder("tiny", dimensions=dimensions, account=account)


def test_embedder_keeps_the_promises_of_embedders(providers: Providers) -> None:
    """The public check of the port passes, with a text that the provider finds too long."""
    check_embedder(lambda: _embedder(providers), too_long="squid " * 8_193)


def test_vectors_are_those_of_the_server_in_order(providers: Providers) -> None:
    """However the server orders them, each text has its own, made one long."""
    providers.embeddings.changed = lambda answer: {**answer, "data": answer["data"][::-1]}  # type: ignore[index]
    made = _embedder(providers).embed(["one", "two", "three"])
    for text, vector in zip(["one", "two", "three"], made, strict=True):
        numbers = vector_of(text)
        assert vector == pytest.approx([number / math.hypot(*numbers) for number in numbers], abs=1e-9)


def test_base64_is_asked_of_openai_alone(providers: Providers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own server knows it, and a vector is a quarter of the bytes; what others know is numbers."""
    plain = _embedder(providers).embed(["one"])
    monkeypatch.setattr("squidbot.adapters.openai.OpenAIAccount.usual_url", providers.openai_url)
    assert _embedder(providers).embed(["one"]) == plain
    assert [body["encoding_format"] for body in providers.bodies("/v1/embeddings")] == ["float", "base64"]


def test_requests_stay_within_the_providers_limits(providers: Providers) -> None:
    """No more than 2,048 texts, and 300,000 tokens, at once; nothing is refused, and nothing is lost."""
    texts = [f"text {number}" for number in range(2_100)]
    assert len(_embedder(providers).embed(texts)) == 2_100
    assert _sizes(providers) == [2_048, 52]
    providers.requests.clear()
    long = ["the squid is deep in the sea, and " * 900] * 50
    assert len(set(_embedder(providers).embed(long))) == 1
    assert sum(_sizes(providers)) == 50
    assert len(providers.requests) < 10


def test_fewer_texts_are_sent_to_a_server_that_takes_fewer(providers: Providers) -> None:
    """It says so by refusing; the next batches are small from the start."""
    providers.embeddings.most_texts = 10
    embedder = _embedder(providers)
    texts = [f"text {number}" for number in range(70)]
    made = embedder.embed(texts)
    assert made == [embedder.embed([text])[0] for text in texts]
    providers.requests.clear()
    embedder.embed(texts)
    assert max(_sizes(providers)) <= 10


def test_one_text_that_is_too_long_is_told_among_others(providers: Providers) -> None:
    """It is a ContextOverflowError with the provider's own words, never cut."""
    with pytest.raises(ContextOverflowError, match=r"maximum input length is 8192 tokens"):
        _embedder(providers).embed(["short", "squid " * 9_000, "other"])


@pytest.mark.parametrize("texts", [[""], ["one", ""]])
def test_empty_text_is_refused_before_it_is_sent(providers: Providers, texts: list[str]) -> None:
    """The provider would refuse all that came with it."""
    with pytest.raises(LLMError, match="refused: cannot embed an empty text"):
        _embedder(providers).embed(texts)
    assert providers.requests == []


def test_server_that_is_busy_is_asked_again_when_it_says(providers: Providers) -> None:
    """After 429 not before `retry-after`; after 500 soon."""
    providers.faults = [Fault(status=429, retry_after="0.4"), Fault(status=500, retry_after_ms="20")]
    assert len(_embedder(providers).embed(["one"])) == 1
    first, second, _ = (each.moment for each in providers.requests)
    assert second - first >= 0.4


def _fault(status: int, message: str, code: str | None = None) -> Fault:
    return Fault(status=status, body=error(message, code=code), retry_after_ms="1")


FAILURES: dict[str, tuple[Fault, str, str]] = {
    "busy": (_fault(429, "slow down"), "rate-limit", "slow down"),
    "broke": (_fault(429, "no money", "insufficient_quota"), "refused", "no money"),
    "broken": (_fault(503, "oops"), "unreachable", r"fails \(503\): oops"),
    "strange": (_fault(418, "teapot"), "refused", r"\(418\): teapot"),
    "no access": (_fault(403, "not you"), "refused", "OPENAI_API_KEY"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_failure_of_the_server_is_an_error_of_ours(providers: Providers, name: str) -> None:
    """Its kind says what to do, its text what the server said."""
    fault, kind, said = FAILURES[name]
    providers.faults = [fault] * (QUICK.retries + 1)
    with pytest.raises(LLMError, match=said) as caught:
        _embedder(providers).embed(["one"])
    assert caught.value.kind == kind
    assert "\n" not in str(caught.value)


def test_wrong_key_is_told_without_the_key(providers: Providers, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server shows it in its answer; ours names the variable it is in."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-42")
    with pytest.raises(LLMError, match=r"refused: .* rejects the API key in OPENAI_API_KEY") as caught:
        _embedder(providers).embed(["one"])
    assert "sk-wrong-42" not in str(caught.value)
    assert "***" in str(caught.value)


def test_unknown_model_is_told(providers: Providers) -> None:
    """In the provider's words."""
    with pytest.raises(LLMError, match="The model `huge` does not exist"):
        OpenAIEmbedder("huge", account=OpenAIAccount(providers.openai_url, patience=QUICK)).embed(["one"])


def test_server_that_does_not_answer_is_given_up() -> None:
    """Nobody listens: unreachable, after the retries."""
    with Providers() as server:
        url = server.openai_url
    account = OpenAIAccount(url, patience=Patience(1.0, 1.0, 0))
    with pytest.raises(LLMError, match=r"unreachable: cannot reach"):
        OpenAIEmbedder("tiny", account=account).embed(["one"])


def test_server_that_hangs_is_given_up(providers: Providers) -> None:
    """After its time, not before."""
    providers.faults = [Fault(hang_seconds=0.5)]
    account = OpenAIAccount(providers.openai_url, patience=Patience(1.0, 0.1, 0))
    with pytest.raises(LLMError, match=r"unreachable: .* did not answer in time"):
        OpenAIEmbedder("tiny", account=account).embed(["one"])


def _with(embedding: object) -> Callable[[dict[str, object]], object]:
    return lambda answer: {**answer, "data": [{"object": "embedding", "index": 0, "embedding": embedding}]}


ODD: dict[str, Callable[[dict[str, object]], object]] = {
    "no data": lambda answer: {**answer, "data": []},
    "data missing": lambda _: {"object": "list"},
    "data is text": lambda answer: {**answer, "data": "many"},
    "data is odd": lambda answer: {**answer, "data": [5]},
    "no index": lambda answer: {**answer, "data": [{"object": "embedding", "embedding": [1.0] * DIMENSIONS}]},
    "wrong index": lambda answer: {
        **answer,
        "data": [{"object": "embedding", "index": 3, "embedding": [1.0] * DIMENSIONS}],
    },
    "no numbers": _with(["a"] * DIMENSIONS),
    "no list": _with(None),
    "no base64": _with("?!"),
    "half a number": _with("AAAAAAA="),
    "not a number": _with([math.nan] * DIMENSIONS),
    "infinite": _with([math.inf] * DIMENSIONS),
    "huge": _with([10**400] * DIMENSIONS),
    "zero": _with([0.0] * DIMENSIONS),
    "shorter": _with([1.0] * (DIMENSIONS - 1)),
    "empty": _with([]),
    "a list": lambda _: [1, 2],
    "a null": lambda _: None,
}


@pytest.mark.parametrize("name", ODD)
def test_answer_that_is_no_vector_is_never_one(providers: Providers, name: str) -> None:
    """Whatever a server says, an error of ours comes of it."""
    embedder = _embedder(providers)
    assert embedder.dimensions == DIMENSIONS
    providers.embeddings.changed = ODD[name]
    with pytest.raises(LLMError, match="unusable"):
        embedder.embed(["one"])


def test_answer_that_is_no_json_is_told(providers: Providers) -> None:
    """A server that greets who asks it."""
    providers.faults = [Fault(raw=b"<html>hello</html>")] * (QUICK.retries + 1)
    with pytest.raises(LLMError, match="unusable"):
        _embedder(providers).embed(["one"])


def test_shorter_vectors_are_asked_for_and_named(providers: Providers) -> None:
    """A server that passes over the wish is found out."""
    embedder = _embedder(providers, 4)
    assert (len(embedder.embed(["one"])[0]), embedder.dimensions) == (4, 4)
    assert embedder.name != _embedder(providers).name
    providers.embeddings.changed = _with([1.0] * DIMENSIONS)
    with pytest.raises(LLMError, match="a vector of 16, not 4, numbers"):
        embedder.embed(["one"])


def test_names_tell_servers_apart_but_for_openais_own() -> None:
    """Two servers may give one name to two models."""
    own = OpenAIEmbedder("text-embedding-3-small")
    assert (own.name, own.dimensions) == ("openai/text-embedding-3-small", 1_536)
    assert OpenAIEmbedder("m", "http://127.0.0.1:1/v1/").name == "openai/127.0.0.1:1/m"


def test_key_comes_from_the_environment_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it nothing is sent, but to servers on this machine."""
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(ConfigError, match=r"missing API key for https://api.openai.com/v1: .* OPENAI_API_KEY"):
        OpenAIEmbedder("text-embedding-3-small")
    with Providers(key="none") as server:
        assert len(_embedder(server).embed(["one"])) == 1


@pytest.mark.parametrize(
    "url", ["api.openai.com", "ftp://x/v1", "http://u:p@x/v1", "http://x:99999/v1", "http://x/?a=b"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    """One line, with what one looks like."""
    with pytest.raises(ConfigError, match="is not an address"):
        OpenAIEmbedder("m", url)


def test_model_has_to_be_named() -> None:
    """There is no usual one: what a vector costs is the user's to choose."""
    with pytest.raises(ConfigError, match="needs a model, such as text-embedding-3-small"):
        OpenAIEmbedder("")


def test_half_of_a_character_is_sent_as_one(providers: Providers) -> None:
    """No JSON has half a surrogate pair; a whole one is its character."""
    _embedder(providers).embed(["\ud800 squid", "\ud83d\ude00"])
    assert providers.requests[-1].body["input"] == ["\ufffd squid", "\N{GRINNING FACE}"]


@pytest.mark.parametrize("named", ["by an address", "by a definition"])
def test_facts_are_found_by_vectors_of_a_server_that_settings_name(providers: Providers, named: str) -> None:
    """One line, or a model of the settings with its address: what is added is embedded, and so is what is asked."""
    model = {"adapter": "openai", "model": "tiny", "url": providers.openai_url}
    settings: dict[str, object] = {"memory": {"embedder": "e"}, "models": {"e": model}}
    if named == "by an address":
        settings = {"memory": {"embedder": f"openai:tiny@{providers.openai_url}"}}
    with squidbot.load(settings) as engine:
        session = engine.session("s", scope=squidbot.Scope(user="ann", bot="helper"))
        session.memory({"action": "add", "text": "Ann has a beagle.", "category": "core"})
        assert "Ann has a beagle." in session.memory({"action": "search", "query": "beagle"}).text
    assert ["Ann has a beagle."] in [body["input"] for body in providers.bodies("/v1/embeddings")]
    assert ["beagle"] in [body["input"] for body in providers.bodies("/v1/embeddings")]


def test_closed_twice_is_closed(providers: Providers) -> None:
    """The connections are given back; asked again, it says so."""
    embedder = _embedder(providers)
    embedder.embed(["one"])
    embedder.close()
    embedder.close()
    with pytest.raises(LLMError, match="is closed"):
        embedder.embed(["one"])
