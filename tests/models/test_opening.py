"""A model is opened with less window each time it does not load, and only where that could help."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from squidbot.core.errors import ConfigError, ModelLoadError
from squidbot.core.sizing.header import Definition, Loading
from squidbot.models import open_model

if TYPE_CHECKING:
    from squidbot.core.ports import LoadedModel

MODEL = cast("LoadedModel", object())


class Runtime:
    """Loads what fits, and remembers what it was asked for."""

    def __init__(self, most_tokens: int) -> None:
        self.most_tokens = most_tokens
        self.asked: list[int] = []

    def __call__(self, definition: Definition) -> LoadedModel:
        """Open it, or say that it does not fit."""
        self.asked.append(definition.loading.n_ctx)
        if definition.loading.n_ctx > self.most_tokens:
            raise ModelLoadError("out of memory")
        return MODEL


def definition(n_ctx: int) -> Definition:
    """Return a model to be opened with that window."""
    return Definition("local", "/models/local.gguf", Loading(n_ctx=n_ctx, type_k="q8_0", type_v="q8_0"))


def test_model_is_opened_with_what_was_asked_where_it_loads() -> None:
    """One try, no failure told."""
    runtime = Runtime(40_960)
    found = open_model(runtime, definition(40_960), 2048)
    assert (found.model, found.failed, runtime.asked) == (MODEL, (), [40_960])


def test_model_is_opened_with_the_next_lower_window_when_it_does_not_load() -> None:
    """Sizes fall one by one, never from the smallest up (a pitfall of behaviours section 1), and all else stays."""
    runtime = Runtime(20_000)
    found = open_model(runtime, definition(40_960), 2048)
    assert runtime.asked == [40_960, 32_768, 24_576, 16_384]
    assert found.definition == definition(16_384)
    assert found.failed == tuple(f"{size:,} tokens: out of memory" for size in (40_960, 32_768, 24_576))


def test_model_that_never_loads_names_every_window_that_was_tried() -> None:
    """The error is the runtime's kind, with each size, and once what the runtime said of it."""
    runtime = Runtime(0)
    with pytest.raises(ModelLoadError) as refused:
        open_model(runtime, definition(8192), 2048)
    tried = "with 8,192, 6,144, 4,096, 3,072, 2,048 tokens: out of memory"
    assert str(refused.value) == f"'local' does not load with any window: {tried}"
    assert runtime.asked == [8192, 6144, 4096, 3072, 2048]


def test_model_is_not_tried_again_when_less_would_not_help() -> None:
    """A wrong setting stays wrong with any window."""
    tried = []

    def refuses(asked: Definition) -> LoadedModel:
        tried.append(asked)
        raise ConfigError("no such file")

    with pytest.raises(ConfigError, match="no such file"):
        open_model(refuses, definition(8192), 2048)
    assert len(tried) == 1
