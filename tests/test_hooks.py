"""How the hooks of extensions are called: in which order, each on its own, and what becomes of what they do wrong."""

from __future__ import annotations

import importlib.metadata
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot import hookspecs
from squidbot.core import events
from squidbot.core.errors import ConfigError

from .listeners import Heard

if TYPE_CHECKING:
    from collections.abc import Callable


Extension = SimpleNamespace


def extension(name: str, priority: int = 0, **hooks: Callable[..., object]) -> Extension:
    """Return an extension of that name with these hooks."""
    marked = {hook: squidbot.hookimpl(priority=priority)(function) for hook, function in hooks.items()}
    return Extension(__name__=name, **marked)


def test_hooks_are_called_by_priority_then_by_name() -> None:
    """Whatever the order in which the extensions were loaded; pluggy's own is last in, first out."""
    called: list[str] = []

    def calling(name: str, priority: int = 0) -> Extension:
        return extension(name, priority, recalled=lambda: called.append(name))

    every = [calling("b"), calling("late", -1), calling("first", 7), calling("a"), calling("second", 6)]
    with squidbot.load({}, extensions=every) as engine:
        session = engine.session("s")
        session.record(session.assemble("Hello squid").incoming, "Hi.")
        session.expand("m0")
    assert called == ["first", "second", "a", "b", "late"]


def test_the_first_result_wins_where_a_hook_says_so() -> None:
    """None passes on; those behind it are not asked."""
    asked: list[str] = []

    def saying(name: str, answer: object) -> Extension:
        def size_window() -> object:
            asked.append(name)
            return answer

        return extension(name, size_window=size_window)

    every = [saying("a", None), saying("b", 9000), saying("c", 7000)]
    with squidbot.load({}, extensions=every) as engine:
        window = engine.session("s").window
    assert (window.window_tokens, window.source, asked) == (9000, "extension", ["a", "b"])
    assert "9,000 by the extension b" in window.detail


def test_what_a_hook_raises_is_told_to_all_others_with_whose_it_is() -> None:
    """The next one is asked, and the one that failed is not told of itself."""
    heard, own = Heard(), []

    def size_window() -> int:
        raise KeyError("window")

    failing = extension("failing", 1, size_window=size_window, on_event=lambda event: own.append(event.name))
    with squidbot.load({}, extensions=[failing, heard, extension("next", size_window=lambda: 5000)]) as engine:
        assert engine.session("s").window.window_tokens == 5000
    assert heard.degraded == ["failing failed at size_window: KeyError: 'window'"]
    assert own == [events.STARTED, events.CONTEXT_DISCOVERED, events.STOPPED]


def test_an_error_that_can_not_say_what_it_is_is_told_all_the_same() -> None:
    """Somebody's exception may fail when it is made a text."""

    class MuteError(Exception):
        def __str__(self) -> str:
            raise ValueError

    def size_window() -> int:
        raise MuteError

    heard = Heard()
    with squidbot.load({}, extensions=[extension("mute", size_window=size_window), heard]) as engine:
        engine.session("s")
    assert heard.degraded == ["mute failed at size_window: MuteError: no message"]


def test_a_hook_that_this_version_does_not_know_is_an_error_unless_it_is_optional() -> None:
    """A misspelt one must not be silent; one of a later version may be."""
    misspelt = Extension(__name__="new", foresee=squidbot.hookimpl(lambda: None))
    with pytest.raises(ConfigError, match=r"known hooks: .*\bassembled, before_store, .*summarize$"):
        squidbot.load({}, extensions=[misspelt])
    later = Extension(__name__="new", foresee=squidbot.hookimpl(optional=True)(lambda: None))
    squidbot.load({}, extensions=[later]).close()


def test_a_misspelt_argument_of_a_hook_is_named_with_those_that_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says it in our words, for what a program passes and for what its settings name."""

    @squidbot.hookimpl
    def represent(session: str, limit_tokens: int) -> None:
        """Return no text for `session` and `limit_tokens`."""

    wrong = Extension(__name__="wrong", represent=represent)
    said = r"hook represent has no argument 'session'; it has session_id, summary, limit_tokens"
    with pytest.raises(ConfigError, match=rf"^cannot load extensions\[0\] \('wrong'\): {said}$"):
        squidbot.load({}, extensions=[wrong])
    point = SimpleNamespace(group="squidbot", name="wrong", load=lambda: wrong)
    installed = SimpleNamespace(entry_points=[point])
    monkeypatch.setattr(importlib.metadata, "distributions", lambda: [installed])
    with pytest.raises(ConfigError, match=rf"^cannot load the extension wrong: {said} @ .*\.extensions$"):
        squidbot.load({"extensions": ["wrong"]})


def test_an_extension_that_fails_while_it_offers_its_adapters_is_named() -> None:
    """An engine without what was to be offered would fail later, and nobody would know why."""

    def register_adapters() -> None:
        raise RuntimeError("no licence")

    with pytest.raises(
        ConfigError, match=r"^the extension acme failed at register_adapters: RuntimeError: no licence$"
    ):
        squidbot.load({}, extensions=[extension("acme", register_adapters=register_adapters)])


def test_every_hook_says_when_it_is_called() -> None:
    """Its docstring has the word, and each hook whose first result wins says that."""
    specified = {name: getattr(hookspecs, name) for name in hookspecs.__all__}
    hooks = {name: hook for name, hook in specified.items() if hasattr(hook, "squidbot_spec")}
    assert len(hooks) == 19
    for name, hook in hooks.items():
        assert "alled " in hook.__doc__, name
        wins = hook.squidbot_spec["firstresult"]
        assert ("first result wins" in hook.__doc__) == wins, name
