"""OpenAI's breakpoints: where the adapter sets them, what the newer cache reads by them, and who takes none."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.core.errors import LLMError
from squidbot.core.tokens.counters import builtin_counter

from .asking import assistant, user
from .marks import MARK
from .script import Model
from .talks import talk, thinking
from .wire import KEY, Providers

pytest.importorskip("openai", exc_type=ImportError)

from squidbot.adapters.openai import OpenAIAccount, marked, takes_breakpoints

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from squidbot.core.messages import Reply
    from squidbot.core.ports import Chat, LoadedModel


FORMS = {"openai.chat": "chat", "openai.responses": "responses"}
PATHS = {"openai.chat": "/v1/chat/completions", "openai.responses": "/v1/responses"}
LONG = "x" * 4 * 2_000
WINDOW_TOKENS = 4_200


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> str:
    """Chat completions, and Responses."""
    return str(request.param)


@pytest.fixture
def usual(providers: Providers, monkeypatch: pytest.MonkeyPatch) -> Providers:
    """OpenAI's own server, with a model that is cached at breakpoints and an older one."""
    monkeypatch.setattr(OpenAIAccount, "usual_url", providers.openai_url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    providers.world.models = {"gpt-5.6": Model(marks=True), "gpt-5.7-odd": Model(), "gpt-5.5": Model()}
    return providers


def opened(engine: squidbot.Engine) -> LoadedModel:
    """Return its model."""
    return engine.model("gpt")


def settings(name: str, form: str, **more: object) -> dict[str, object]:
    """Return settings of a model of OpenAI's."""
    return {"models": {"gpt": {"adapter": "openai", "api": FORMS[form], "model": name, **more}}}


def places(messages: Sequence[Mapping[str, object]]) -> list[int]:
    """Return which messages have a breakpoint."""
    return [at for at, message in enumerate(messages) if MARK in str(message)]


@pytest.mark.parametrize(
    ("name", "takes"),
    [
        *[(name, True) for name in ("gpt-5.6", "gpt-5.6-mini-2026-09-01", "ft:gpt-5.10:us::x", "gpt-6", "gpt-6o")],
        *[(name, False) for name in ("gpt-5.5", "gpt-5", "gpt-4o", "o5-mini", "gpt-oss-120b", "qwen3")],
    ],
)
def test_models_that_have_breakpoints_are_known_by_their_names(name: str, *, takes: bool) -> None:
    """From gpt-5.6 on; what is called otherwise has none unless its options speak of them."""
    assert takes_breakpoints(name) == takes


def test_breakpoints_stand_behind_what_stays_and_never_on_what_the_model_said() -> None:
    """As far back as it takes; a text becomes a part, and nothing else changes."""
    said = [user("a"), assistant({"type": "text", "text": "b"}), user("c"), user("d")]
    made = marked(said, [2, 3], "text", ends=False)
    assert places(made) == [0, 2]
    assert made[0] == user({"type": "text", "text": "a", MARK: {"mode": "explicit"}})
    assert made[1:2] == said[1:2]
    assert made[3] is said[3]
    assert places(said) == []
    assert places(marked(said, [2, 3], "text", ends=True)) == [0, 2, 3]
    assert places(marked(said, [], "text", ends=False)) == places(marked([], [], "text", ends=True)) == []
    assert places(marked([assistant({"type": "text", "text": "b"}), user("")], [1, 2, 9], "text", ends=True)) == []


def test_breakpoints_stand_in_results_of_tools_and_behind_images() -> None:
    """An item's output is a text or parts; of a list the last part bears it."""
    output = {"type": "function_call_output", "call_id": "c", "output": "seen"}
    image = {"type": "input_image", "image_url": "data:image/png;base64,AA=="}
    seen = user({"type": "input_text", "text": "see"}, image)
    items: list[Mapping[str, object]] = [{"type": "reasoning", "summary": []}, output, seen]
    made = marked(items, [2, 3], "input_text", ends=False)
    assert places(made) == [1, 2]
    assert made[1]["output"] == [{"type": "input_text", "text": "seen", MARK: {"mode": "explicit"}}]
    assert made[2]["content"][1] == {**image, MARK: {"mode": "explicit"}}  # type: ignore[index]  # a list


def test_a_prefix_is_read_from_a_breakpoint_when_the_end_was_put_shorter(usual: Providers, form: str) -> None:
    """Without one nothing is: the newer cache falls back to no shorter prefix."""
    del usual
    kept, gone, other = user(LONG), user("y" * 400), user("z" * 400)
    with squidbot.load(settings("gpt-5.6", form)) as engine:
        opened(engine).reply([kept, gone], 50)
        assert opened(engine).reply([kept, other], 50).cached_tokens == 0
        opened(engine).reply([kept, gone], 50, stable=[1])
        assert opened(engine).reply([kept, user("w" * 400)], 50, stable=[1]).cached_tokens > 2_000


def test_a_server_that_takes_no_breakpoints_is_sent_none(usual: Providers, form: str) -> None:
    """Older models from the start; one that should have them once it has refused; other servers unless told."""
    for name, times in (("gpt-5.5", 0), ("gpt-5.7-odd", 1)):
        with squidbot.load(settings(name, form)) as engine:
            for _ in range(2):
                assert opened(engine).reply([user("a"), user("b")], 50, stable=[1]).finish == "stop"
        assert len(usual.refused) == times
    with Providers(models={"gpt-5.6": Model(), "own": Model(marks=True)}) as elsewhere:
        for name, more, marks in (("gpt-5.6", {}, False), ("own", {"prompt_cache_options": {"ttl": "30m"}}, True)):
            with squidbot.load(settings(name, form, url=elsewhere.openai_url, options=more)) as engine:
                opened(engine).reply([user("a"), user("b")], 50, stable=[1])
            assert (MARK in str(elsewhere.bodies(PATHS[form])[-1])) is marks


def test_explicit_mode_of_the_options_has_a_breakpoint_at_the_end_too(usual: Providers, form: str) -> None:
    """OpenAI sets none then, and a request that extends the one before it would find nothing."""
    given = {"prompt_cache_options": {"mode": "explicit"}}
    with squidbot.load(settings("gpt-5.6", form, options=given)) as engine:
        opened(engine).reply([user(LONG)], 50)
        again: list[Mapping[str, object]] = [user(LONG), {"role": "assistant", "content": "Yes."}, user("and?")]
        assert opened(engine).reply(again, 50).cached_tokens > 2_000
    assert usual.bodies(PATHS[form])[0]["prompt_cache_options"] == {"mode": "explicit"}
    with (
        squidbot.load(settings("gpt-5.5", form, options=given)) as engine,
        pytest.raises(LLMError, match=r"not supported with this model.*see models.gpt.options.prompt_cache_options"),
    ):
        opened(engine).reply([user("a")], 50)


def share_read(form: str, turns: int, monkeypatch: pytest.MonkeyPatch, *, stable: bool) -> float:
    """Return the share of the input that the cache has, in a conversation through a window that is soon full."""
    count = functools.lru_cache(maxsize=None)(builtin_counter("classes").count)
    with Providers(models={"gpt-5.6": Model(window=WINDOW_TOKENS, marks=True)}, script=thinking, count=count) as server:
        monkeypatch.setattr(OpenAIAccount, "usual_url", server.openai_url)
        given = settings("gpt-5.6", form, context_window=WINDOW_TOKENS)
        with squidbot.load({**given, "budget": {"reserved_output_tokens": 1_000}}) as engine:
            told: Chat = opened(engine)
            chat = told if stable else Untold(told)
            session = engine.session("s", model="gpt", form=form)
            steps = talk(server, chat, session, range(turns))  # type: ignore[arg-type]  # of a model it needs no more
        assert server.refused == []
    return sum(step.reply.cached_tokens for step in steps) / sum(step.reply.input_tokens for step in steps)


@pytest.mark.parametrize("turns", [24, pytest.param(40, marks=pytest.mark.slow)])
def test_breakpoints_keep_what_plans_keep(form: str, turns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A conversation of a dozen plans and more: far less of it is read where nobody tells what stays."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    told, untold = (share_read(form, turns, monkeypatch, stable=stable) for stable in (True, False))
    assert told > 0.85
    assert told > untold + 0.15


class Untold:
    """A model that is not told what stays as it is."""

    def __init__(self, model: Chat) -> None:
        self._model = model
        self.form = model.form
        self.window_tokens = model.window_tokens

    def reply(
        self,
        messages: Sequence[Mapping[str, object]],
        max_output_tokens: int,
        tools: Sequence[Mapping[str, object]] = (),
        told: Callable[[str], None] | None = None,
        stable: Sequence[int] = (),
    ) -> Reply:
        """Pass it on."""
        del stable
        return self._model.reply(messages, max_output_tokens, tools, told)
