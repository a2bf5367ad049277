"""Long texts counted by the provider: asked once, within a bound, and estimated where it does not say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.core.tokens.counters import builtin_counter
from squidbot.testing import check_token_counter

from .wire import KEY, Providers

pytest.importorskip("anthropic", exc_type=ImportError)

from squidbot.adapters.anthropic import AnthropicCounter  # behind the check that the SDK is there

if TYPE_CHECKING:
    from pathlib import Path

LONG = "prices of the shop are cached for ten minutes; " * 60
PATH = "/v1/messages/count_tokens"


def test_long_texts_are_counted_by_the_provider_once_and_short_ones_here(
    providers: Providers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside the frame of a message, which is asked for once, too."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    settings = {"models": {"it": {"tokenizer": f"anthropic:tiny@{providers.url}", "context_window": 50_000}}}
    with squidbot.load(settings) as engine:
        session = engine.session("s", model="it")
        assert session.window.counter == "anthropic:tiny"
        stored = session.record("hello", {"role": "assistant", "content": LONG})
        assert len(providers.bodies(PATH)) == 2
        exact = -(-len(LONG) // 4)
        assert exact <= stored[1].cost.estimate <= stored[1].cost.bound <= exact * 1.02 + 20
        session.record({"role": "user", "content": LONG})
        assert len(providers.bodies(PATH)) == 2
        counter = engine.wired.counter(f"anthropic:tiny@{providers.url}")
        check_token_counter(counter)
        assert counter.count("hello") == builtin_counter("classes").count("hello")
        counter.close()  # type: ignore[attr-defined]  # this one can be


def test_a_failure_is_no_count(providers: Providers, monkeypatch: pytest.MonkeyPatch) -> None:
    """The estimate stands for the text, from then on; for a while anyone who can connect."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    plain, counter = builtin_counter("classes"), AnthropicCounter("tiny", providers.url)
    providers.fail(1, 500)
    assert (counter.count(LONG), counter.upper_bound(LONG)) == (plain.count(LONG), plain.upper_bound(LONG))
    assert counter.count(f"{LONG}!") == plain.count(f"{LONG}!")
    assert len(providers.requests) == 1
    monkeypatch.setattr(counter, "_rests_until", 0.0)
    assert counter.count(LONG) == plain.count(LONG)
    assert counter.count(f"{LONG}?") != plain.count(f"{LONG}?")
    counter.close()


def test_counts_last_and_a_model_is_counted_by_its_own_api(
    providers: Providers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """By its alias, with the key that its settings name; another process asks for nothing that was asked for."""
    monkeypatch.setenv("MY_KEY", KEY)
    model = {"adapter": "anthropic", "model": "tiny", "url": providers.url, "key_env": "MY_KEY"}
    settings = {
        "store": {"path": str(tmp_path / "s.db")},
        "models": {"it": {**model, "tokenizer": "provider", "context_window": 50_000}},
    }
    for session_id in ("s", "t"):
        with squidbot.load(settings) as engine:
            session = engine.session(session_id, model="it")
            assert session.window.counter == "anthropic:tiny"
            (stored,) = session.record({"role": "user", "content": LONG})
            assert stored.cost.estimate >= -(-len(LONG) // 4)
        assert len(providers.bodies(PATH)) == 2
    assert LONG[:40] not in (tmp_path / "s.db.counts").read_text(encoding="ascii")
