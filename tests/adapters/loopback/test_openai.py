"""Vectors by OpenAI's API: its real SDK against a server with the provider's rules."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("openai", reason="an extra: squidbot[openai]", exc_type=ImportError)

import squidbot
from squidbot.accounts import Patience
from squidbot.adapters.openai import OpenAIEmbedder
from squidbot.adapters.openai.client import Account
from squidbot.core.errors import ConfigError, ContextOverflowError, LLMError
from squidbot.testing import check_embedder

from .openai_api import DIMENSIONS, KEY, OpenAIServer, Refusal, vector_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# No test waits for what a person would.
QUICK = Patience(connect_seconds=2.0, answer_seconds=2.0, retries=2)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    """Return a server that knows one key."""
    with OpenAIServer() as started:
        yield started


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the key where users have it."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def _embedder(server: OpenAIServer, dimensions: int | None = None) -> OpenAIEmbedder:
    account = Account(server.url, patience=QUICK)
    return OpenAIEmbedder("tiny", dimensions=dimensions, account=account)


def test_embedder_keeps_the_promises_of_embedders(server: OpenAIServer) -> None:
    """The public check of the port passes, with a text that the provider finds too long."""
    check_embedder(lambda: _embedder(server), too_long="squid " * 8_193)


def test_vectors_are_those_of_the_server_in_order(server: OpenAIServer) -> None:
    """However the server orders them, each text has its own, made one long."""
    server.changed = lambda answer: {**answer, "data": answer["data"][::-1]}  # type: ignore[index]
    made = _embedder(server).embed(["one", "two", "three"])
    for text, vector in zip(["one", "two", "three"], made, strict=True):
        numbers = vector_of(text)
        assert vector == pytest.approx([number / math.hypot(*numbers) for number in numbers], abs=1e-9)


def test_base64_is_asked_of_openai_alone(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own server knows it, and a vector is a quarter of the bytes; what others know is numbers."""
    plain = _embedder(server).embed(["one"])
    monkeypatch.setattr("squidbot.adapters.openai.client.Account.usual_url", server.url)
    assert _embedder(server).embed(["one"]) == plain
    assert [body["encoding_format"] for _, body in server.requests] == ["float", "base64"]


def test_requests_stay_within_the_providers_limits(server: OpenAIServer) -> None:
    """No more than 2,048 texts, and 300,000 tokens, at once; nothing is refused, and nothing is lost."""
    texts = [f"text {number}" for number in range(5_000)]
    assert len(_embedder(server).embed(texts)) == 5_000
    assert server.sizes() == [2_048, 2_048, 904]
    server.requests.clear()
    long = ["the squid is deep in the sea, and " * 900] * 50
    assert len(set(_embedder(server).embed(long))) == 1
    assert sum(server.sizes()) == 50
    assert len(server.requests) < 10


def test_fewer_texts_are_sent_to_a_server_that_takes_fewer(server: OpenAIServer) -> None:
    """It says so by refusing; the next batches are small from the start."""
    server.most_texts = 10
    embedder = _embedder(server)
    texts = [f"text {number}" for number in range(70)]
    made = embedder.embed(texts)
    assert made == [embedder.embed([text])[0] for text in texts]
    server.requests.clear()
    embedder.embed(texts)
    assert max(server.sizes()) <= 10


def test_one_text_that_is_too_long_is_told_among_others(server: OpenAIServer) -> None:
    """It is a ContextOverflowError with the provider's own words, never cut."""
    with pytest.raises(ContextOverflowError, match=r"maximum input length is 8192 tokens"):
        _embedder(server).embed(["short", "squid " * 9_000, "other"])


@pytest.mark.parametrize("texts", [[""], ["one", ""]])
def test_empty_text_is_refused_before_it_is_sent(server: OpenAIServer, texts: list[str]) -> None:
    """The provider would refuse all that came with it."""
    with pytest.raises(LLMError, match="refused: an empty text"):
        _embedder(server).embed(texts)
    assert server.requests == []


def test_server_that_is_busy_is_asked_again_when_it_says(server: OpenAIServer) -> None:
    """After 429 not before `retry-after`; after 500 soon."""
    server.first = [Refusal(429, "slow down", retry_after="0.4"), Refusal(500, "oops", retry_after_ms="20")]
    assert len(_embedder(server).embed(["one"])) == 1
    first, second, _ = (moment for moment, _ in server.requests)
    assert second - first >= 0.4


FAILURES: dict[str, tuple[Refusal, str, str]] = {
    "busy": (Refusal(429, "slow down", retry_after_ms="1"), "rate-limit", "slow down"),
    "broke": (Refusal(429, "no money", "insufficient_quota", retry_after_ms="1"), "refused", "no money"),
    "broken": (Refusal(503, "oops", retry_after_ms="1"), "unreachable", r"fails \(503\): oops"),
    "strange": (Refusal(418, "teapot"), "refused", r"\(418\): teapot"),
    "no access": (Refusal(403, "not you"), "refused", "OPENAI_API_KEY"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_failure_of_the_server_is_an_error_of_ours(server: OpenAIServer, name: str) -> None:
    """Its kind says what to do, its text what the server said."""
    refusal, kind, said = FAILURES[name]
    server.first = [refusal] * (QUICK.retries + 1)
    with pytest.raises(LLMError, match=said) as caught:
        _embedder(server).embed(["one"])
    assert caught.value.kind == kind
    assert "\n" not in str(caught.value)


def test_wrong_key_is_told_without_the_key(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server shows it in its answer; ours names the variable it is in."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-42")
    with pytest.raises(LLMError, match=r"refused: .* does not take the key in OPENAI_API_KEY") as caught:
        _embedder(server).embed(["one"])
    assert "sk-wrong-42" not in str(caught.value)
    assert "***" in str(caught.value)


def test_unknown_model_is_told(server: OpenAIServer) -> None:
    """In the provider's words."""
    with pytest.raises(LLMError, match="The model `huge` does not exist"):
        OpenAIEmbedder("huge", account=Account(server.url, patience=QUICK)).embed(["one"])


def test_server_that_does_not_answer_is_given_up() -> None:
    """Nobody listens: unreachable, after the retries."""
    with OpenAIServer() as server:
        url = server.url
    account = Account(url, patience=Patience(1.0, 1.0, 0))
    with pytest.raises(LLMError, match=r"unreachable: .* is not reached"):
        OpenAIEmbedder("tiny", account=account).embed(["one"])


def test_server_that_hangs_is_given_up(server: OpenAIServer) -> None:
    """After its time, not before."""

    def hangs(answer: object) -> object:
        time.sleep(0.5)
        return answer

    server.changed = hangs
    account = Account(server.url, patience=Patience(1.0, 0.1, 0))
    with pytest.raises(LLMError, match=r"unreachable: .* did not answer in time"):
        OpenAIEmbedder("tiny", account=account).embed(["one"])


def _with(embedding: object) -> Callable[[dict[str, object]], object]:
    return lambda answer: {**answer, "data": [{"object": "embedding", "index": 0, "embedding": embedding}]}


ODD: dict[str, Callable[[dict[str, object]], object]] = {
    "no JSON": lambda _: b"<html>hello</html>",
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
def test_answer_that_is_no_vector_is_never_one(server: OpenAIServer, name: str) -> None:
    """Whatever a server says, an error of ours comes of it."""
    embedder = _embedder(server)
    assert embedder.dimensions == DIMENSIONS
    server.changed = ODD[name]
    with pytest.raises(LLMError, match="unusable"):
        embedder.embed(["one"])


def test_shorter_vectors_are_asked_for_and_named(server: OpenAIServer) -> None:
    """A server that passes over the wish is found out."""
    embedder = _embedder(server, 4)
    assert (len(embedder.embed(["one"])[0]), embedder.dimensions) == (4, 4)
    assert embedder.name != _embedder(server).name
    server.changed = _with([1.0] * DIMENSIONS)
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
    with pytest.raises(ConfigError, match=r"no key for https://api.openai.com/v1; set OPENAI_API_KEY"):
        OpenAIEmbedder("text-embedding-3-small")
    with OpenAIServer(key="none") as server:
        assert len(_embedder(server).embed(["one"])) == 1


@pytest.mark.parametrize(
    "url", ["api.openai.com", "ftp://x/v1", "http://u:p@x/v1", "http://x:99999/v1", "http://x/?a=b"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    """One line, with what one looks like."""
    with pytest.raises(ConfigError, match="is no address"):
        OpenAIEmbedder("m", url)


def test_model_has_to_be_named() -> None:
    """There is no usual one: what a vector costs is the user's to choose."""
    with pytest.raises(ConfigError, match="needs a model, such as text-embedding-3-small"):
        OpenAIEmbedder("")


def test_half_of_a_character_is_sent_as_one(server: OpenAIServer) -> None:
    """No JSON has half a surrogate pair; a whole one is its character."""
    _embedder(server).embed(["\ud800 squid", "\ud83d\ude00"])
    assert server.requests[-1][1]["input"] == ["\ufffd squid", "\N{GRINNING FACE}"]


@pytest.mark.parametrize("named", ["by an address", "by a definition"])
def test_facts_are_found_by_vectors_of_a_server_that_settings_name(server: OpenAIServer, named: str) -> None:
    """One line, or a model of the settings with its address: what is added is embedded, and so is what is asked."""
    model = {"adapter": "openai", "model": "tiny", "url": server.url}
    settings: dict[str, object] = {"memory": {"embedder": "e"}, "models": {"e": model}}
    if named == "by an address":
        settings = {"memory": {"embedder": f"openai:tiny@{server.url}"}}
    with squidbot.load(settings) as engine:
        session = engine.session("s", scope=squidbot.Scope(user="ann", bot="helper"))
        session.memory({"action": "add", "text": "Ann has a beagle.", "category": "core"})
        assert "Ann has a beagle." in session.memory({"action": "search", "query": "beagle"}).text
    assert ["Ann has a beagle."] in [body["input"] for _, body in server.requests]
    assert ["beagle"] in [body["input"] for _, body in server.requests]


def test_closed_twice_is_closed(server: OpenAIServer) -> None:
    """The connections are given back; asked again, it says so."""
    embedder = _embedder(server)
    embedder.embed(["one"])
    embedder.close()
    embedder.close()
    with pytest.raises(LLMError, match="are closed"):
        embedder.embed(["one"])
