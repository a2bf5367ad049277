"""One structured log line for each event."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

structlog = pytest.importorskip("structlog", exc_type=ImportError)

import squidbot  # noqa: E402  # after the skip
from squidbot.adapters.structlog import WARNINGS, StructlogObserver  # noqa: E402  # the same
from squidbot.core import events  # noqa: E402  # the same
from squidbot.core.events import Event  # noqa: E402  # the same

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _unconfigured() -> Iterator[None]:
    """Leave structlog as it was found."""
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()


def test_observer_writes_one_line_when_it_is_notified() -> None:
    """Name, session, cause, window, plan and both costs; a level that fits."""
    with structlog.testing.capture_logs() as lines:
        structlog.configure(processors=structlog.get_config()["processors"])
        StructlogObserver().notify(Event(events.VIEW_PLAN_CHANGED, "s", "high-water", "lease-1", 3, 900, 400))
    assert lines == [
        {
            "event": "view-plan-changed",
            "log_level": "info",
            "session": "s",
            "cause": "high-water",
            "lease": "lease-1",
            "plan": 3,
            "tokens_before": 900,
            "tokens_after": 400,
        }
    ]


def test_observer_leaves_out_what_an_event_does_not_have() -> None:
    """No empty fields; one number where nothing changed."""
    with structlog.testing.capture_logs() as lines:
        observer = StructlogObserver(structlog.get_logger())
        observer.notify(Event(events.CONTEXT_ASSEMBLED, "s", "", tokens_before=70, tokens_after=70))
        observer.notify(Event(events.LEASE_OPENED, "s", ""))
    assert lines == [
        {"event": "context-assembled", "log_level": "info", "session": "s", "tokens": 70},
        {"event": "lease-opened", "log_level": "info", "session": "s"},
    ]


@pytest.mark.parametrize("name", sorted(WARNINGS))
def test_observer_warns_when_all_is_not_well(name: str) -> None:
    """What a person should look at stands out."""
    with structlog.testing.capture_logs() as lines:
        StructlogObserver(structlog.get_logger()).notify(Event(name, "s", "why"))
    assert [line["log_level"] for line in lines] == ["warning"]


def test_observer_writes_to_standard_error_when_nobody_configured_structlog(capsys: pytest.CaptureFixture[str]) -> None:
    """Standard output belongs to the program that squidbot runs in."""
    StructlogObserver().notify(Event(events.DEGRADED, "s", "why"))
    out, err = capsys.readouterr()
    assert out == ""
    assert "degraded" in err
    assert "why" in err


def test_observer_logs_a_turn_when_the_settings_name_it() -> None:
    """`observers = ["structlog"]` is all it takes; the host's configuration is followed."""
    with structlog.testing.capture_logs() as lines:
        structlog.configure(processors=structlog.get_config()["processors"])
        squidbot.load({"observers": ["structlog"]}).session("s").assemble("Hello")
    assert [line["event"] for line in lines] == ["started", "context-assembled"]


def test_observer_says_model_and_scope_in_its_line() -> None:
    """Whose it is in one field, without the parts that nobody named (O-16)."""
    with structlog.testing.capture_logs() as lines:
        said = Event(events.TIER_CHANGED, "s", "why", model="qwen", scope=squidbot.Scope(user="anna", bot="help"))
        StructlogObserver(structlog.get_logger()).notify(said)
    assert lines == [
        {
            "event": "tier-changed",
            "log_level": "info",
            "session": "s",
            "cause": "why",
            "model": "qwen",
            "scope": "user=anna bot=help",
        }
    ]


@pytest.mark.parametrize(
    "name", sorted(value for key, value in vars(events).items() if key.isupper() and key != "NOBODY")
)
def test_each_event_is_one_readable_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As structlog writes it by itself: the name, then what there is to say of it (O-16)."""
    StructlogObserver().notify(Event(name, "s", "why", "lease-1", 3, 900, 400, 0.5))
    (line,) = capsys.readouterr().err.splitlines()
    assert name in line
    assert "cause" in line
