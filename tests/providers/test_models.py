"""Models behind APIs that settings define: opened by an engine, talked to in a session, writing summaries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.config import ModelTable as Settings
from squidbot.core.errors import ConfigError, ContextOverflowError, LLMError
from squidbot.models import server_facts

from .asking import CHAT_TOOL, RESPONSES_TOOL, TOOL, user
from .script import Model, saying
from .wire import KEY, Providers

if TYPE_CHECKING:
    from squidbot.core.ports import LoadedModel

    from .script import Json

pytest.importorskip("anthropic", exc_type=ImportError)
pytest.importorskip("openai", exc_type=ImportError)

# Each way to ask: what settings say of it beside the address, the form of its messages, a tool in that form.
WAYS = {
    "anthropic": ({"adapter": "anthropic"}, "anthropic.messages", TOOL),
    "openai": ({"adapter": "openai"}, "openai.chat", CHAT_TOOL),
    "responses": ({"adapter": "openai", "api": "responses"}, "openai.responses", RESPONSES_TOOL),
}


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def engine_of(server: Providers, way: str, **more: object) -> squidbot.Engine:
    """Return an engine whose model "it" is the server's "tiny", asked in that way."""
    said, form, _ = WAYS[way]
    url = server.url if form == "anthropic.messages" else server.openai_url
    model = {**said, "model": "tiny", "url": url, "max_tokens": 400, **more}
    return squidbot.load({"models": {"it": model}})


def opened(engine: squidbot.Engine) -> LoadedModel:
    """Return its model."""
    return engine.model("it")


def test_the_window_is_what_the_settings_say_or_else_what_the_provider_tells(providers: Providers) -> None:
    """Anthropic tells it; a server that speaks like OpenAI may; who knows better says so beside the model (B-04)."""
    providers.world.models = {"tiny": Model(window=150_000)}
    with engine_of(providers, "anthropic") as engine:
        window = engine.session("s", model="it").window
        assert (window.window_tokens, window.source) == (150_000, "served")
        assert opened(engine).window_tokens == 150_000
    with engine_of(providers, "anthropic", context_window=90_000) as engine:
        asked = len(providers.requests)
        assert opened(engine).counter.name == "classes"
        window = engine.session("s", model="it").window
        assert (window.window_tokens, window.source) == (90_000, "model-definition")
        assert len(providers.requests) == asked
    with engine_of(providers, "openai") as engine:
        window = engine.session("s", model="it").window
        assert (window.window_tokens, window.source) == (32_768, "default")
        assert "set it beside the model" in window.detail or "not a kind of server" in window.detail


def test_a_server_that_refuses_for_its_window_has_told_it(providers: Providers) -> None:
    """It stands in the words of the refusal, and the model knows it from then on."""
    providers.world.models = {"tiny": Model(window=300)}
    with engine_of(providers, "openai", context_window=9_000) as engine:
        model = opened(engine)
        with pytest.raises(ContextOverflowError, match="maximum context length is 300"):
            model.reply([{"role": "user", "content": "word " * 900}], 20)
        assert model.window_tokens == model.served.window_tokens == 300


@pytest.mark.parametrize(("way", "name"), [("anthropic", "ANTHROPIC_API_KEY"), ("openai", "OPENAI_API_KEY")])
def test_a_missing_key_is_one_clear_line(monkeypatch: pytest.MonkeyPatch, way: str, name: str) -> None:
    """What to set, and which model wants it; the window is told to be unknown for it, and sessions go on."""
    monkeypatch.delenv(name)
    with squidbot.load({"models": {"it": {"adapter": way, "model": "m"}}}) as engine:
        with pytest.raises(ConfigError, match=rf"^missing API key for https://\S+: .* variable {name} @ .*'it'"):
            engine.model("it")
        assert engine.session("s", model="it").window.window_tokens == 32_768
    monkeypatch.setenv("OTHER_KEY", KEY)
    settings = {"adapter": way, "model": "m", "context_window": 9_000, "key_env": "OTHER_KEY"}
    with squidbot.load({"models": {"it": settings}}) as engine:
        assert engine.model("it").name == "m"


def test_a_key_among_the_settings_is_refused_and_not_repeated() -> None:
    """The name of a variable is wanted."""
    with pytest.raises(ConfigError, match=r"must be the name of an environment variable.*key_env") as caught:
        squidbot.load({"models": {"it": {"adapter": "openai", "key_env": "sk-abcdefg"}}})
    assert "sk-abc" not in str(caught.value)


def test_why_a_window_is_not_known_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key, no server, a provider that never tells."""
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    told = server_facts(Settings(adapter="anthropic", model="m"), "it")
    assert told is not None
    assert "variable ANTHROPIC_API_KEY" in told.reason
    told = server_facts(Settings(adapter="anthropic", model="m", url="http://127.0.0.1:9"), "it")
    assert told is not None
    assert "cannot reach" in told.reason
    told = server_facts(Settings(adapter="openai", model="m"), "it")
    assert told is not None
    assert "set context_window" in told.reason


@pytest.mark.parametrize("way", WAYS)
def test_a_model_of_the_settings_writes_what_jobs_ask_for(providers: Providers, way: str) -> None:
    """`summary.llm` and `memory.llm` take its alias."""
    providers.script = saying("Prices are cached for ten minutes.")
    with engine_of(providers, way) as engine:
        llm = engine.wired.models.llm("it")
        assert llm.complete("Sum up.", "Cache prices.", 100).text == "Prices are cached for ten minutes."


PATHS = {"anthropic": "/v1/messages", "openai": "/v1/chat/completions", "responses": "/v1/responses"}


@pytest.mark.parametrize(
    ("way", "options", "of_jobs"),
    [
        ("anthropic", {"temperature": 0.5, "service_tier": "auto", "stop_sequences": ["END"]}, 2),
        ("openai", {"temperature": 0.5, "service_tier": "flex", "reasoning_effort": "low", "stop": "END"}, 3),
        ("responses", {"temperature": 0.5, "service_tier": "flex", "reasoning": {"effort": "low"}}, 3),
    ],
)
def test_options_of_the_settings_go_into_requests_as_they_are(
    providers: Providers, way: str, options: Json, of_jobs: int
) -> None:
    """Each of a conversation; jobs go without those that shape an answer."""
    with engine_of(providers, way, options=options) as engine:
        opened(engine).reply([user("hi")], 400)
        opened(engine).complete("", "hi", 400)
    said, job = providers.bodies(PATHS[way])
    assert {name: said.get(name) for name in options} == options
    assert sum(name in job for name in options) == of_jobs
    assert providers.refused == []


def test_options_of_claude_say_how_it_thinks_which_beta_it_is_and_how_long_the_cache_keeps_a_prefix(
    providers: Providers,
) -> None:
    """Jobs think as little as they can; breakpoints bear the mark of the settings."""
    mark = {"type": "ephemeral", "ttl": "1h"}
    thinking = {"type": "enabled", "budget_tokens": 1_024}
    given = {"thinking": thinking, "cache_control": mark, "betas": ["context-1m-2025-08-07"]}
    with engine_of(providers, "anthropic", options=given) as engine:
        opened(engine).reply([user("hi")], 2_000)
        opened(engine).complete("", "hi", 400)
    said, job = (request for request in providers.requests if request.path == "/v1/messages")
    assert said.body["thinking"] == thinking
    assert job.body["thinking"] == {"type": "disabled"}
    assert said.body["messages"] == [user({"type": "text", "text": "hi", "cache_control": mark})]
    assert [one.headers["anthropic-beta"] for one in (said, job)] == ["context-1m-2025-08-07"] * 2
    assert "cache_control" not in said.body


@pytest.mark.parametrize("way", WAYS)
def test_an_option_that_the_provider_refuses_is_named_with_its_place(providers: Providers, way: str) -> None:
    """In the provider's words, and with the key of the settings."""
    with (
        engine_of(providers, way, options={"temprature": 1}) as engine,
        pytest.raises(LLMError, match=r"refused: .* refuses \(400\): .*temprature.*; see models.it.options.temprature"),
    ):
        opened(engine).reply([user("hi")], 400)


def test_a_model_that_is_opened_from_a_file_takes_no_options() -> None:
    """Said when it is opened, with the place."""
    model = {"adapter": "xllamacpp", "path": "/nowhere.gguf", "context_window": 2_048, "options": {"temperature": 1}}
    with (
        squidbot.load({"models": {"it": model}}) as engine,
        pytest.raises(ConfigError, match=r"^xllamacpp does not accept options; .* @ argument.models\['it'\].options$"),
    ):
        opened(engine)
