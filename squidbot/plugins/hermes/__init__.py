"""squidbot in hermes-agent: its context engine, found by its entry point, and active where config.yaml says so twice.

    plugins: {enabled: [squidbot]}
    context: {engine: squidbot}
    squidbot: {store: squid.db, budget: 32000}

hermes's own list of messages, and its state.db, stay as they are: what the model sees of it is decided before each
call, inside of tool loops, too.

| file   | holds |
|--------|-------|
| engine | `Squidbot`: hermes's context engine, one for each agent: tools, `/compress`, requests that are too long |
| inside | `Inside`: what all agents of a process share: before each call of a model, and behind it |
| wire   | requests as they go out: chat completions, and what hermes makes of them for other providers |
| lists  | hermes's messages: what tells one from another, replies, shorter lists |
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from squidbot.extras import missing

try:
    from hermes_cli.config import load_config
    from hermes_constants import get_hermes_home

    from squidbot.plugins.hermes.engine import Squidbot
    from squidbot.plugins.hermes.inside import Inside
except ImportError as error:
    raise ImportError(f"squidbot.plugins.hermes: {error}; {missing('hermes')}") from error

from squidbot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Squidbot", "inactive", "register"]

STORE: Final = "squidbot.db"
KEYS: Final = ("budget", "settings", "store")


def register(ctx: Any) -> None:  # noqa: ANN401  # hermes's context of a plugin, which it does not type
    """Take part in hermes; it calls this where `plugins.enabled` names squidbot.

    Raises:
        ConfigError: the key `squidbot` of config.yaml is wrong; hermes then says so, and goes on without squidbot.
    """
    inside = opened(load_config().get("squidbot"))
    ctx.register_context_engine(Squidbot(inside))
    ctx.register_hook("pre_api_request", inside.listed)
    ctx.register_hook("post_api_request", inside.replied)
    ctx.register_middleware("llm_execution", inside.asked)
    inside.inactive = inactive()
    if inside.inactive:
        inside.say_once(f"squidbot is not active in hermes: {inside.inactive}")
        return
    try:
        inside.hosted.open()
    except Exception as error:  # noqa: BLE001  # hermes goes on without squidbot, and each request tries again
        inside.say_once(f"squidbot can't keep conversations of hermes: {error}")


def inactive() -> str:
    """Return why squidbot is not active in hermes; "" where it is."""
    config = load_config()
    plugins, context = (value if isinstance(value := config.get(key), dict) else {} for key in ("plugins", "context"))
    if "squidbot" not in (plugins.get("enabled") or ()) or "squidbot" in (plugins.get("disabled") or ()):
        return "config.yaml lacks plugins.enabled: [squidbot]"
    if (engine := context.get("engine") or "compressor") != "squidbot":
        return (
            f"context.engine is {engine!r}, which takes messages out of hermes's list: set it to squidbot, or take "
            "squidbot out of plugins.enabled"
        )
    return ""


def opened(given: object) -> Inside:
    """Return squidbot as config.yaml wants it.

    Raises:
        ConfigError: it wants what there is not.
    """
    told: Mapping[str, Any] = given if isinstance(given, dict) else {}
    if unknown := sorted(set(told) - set(KEYS)):
        raise ConfigError(f"config.yaml: squidbot.{unknown[0]} is unknown; there are {', '.join(KEYS)}")
    store, settings = told.get("store"), told.get("settings")
    # A relative path is hermes's, not that of the folder where hermes happens to be started.
    where = Path(get_hermes_home()) / str(store or STORE) if store or not settings else None
    return Inside(where, budget=told.get("budget"), settings=settings)
