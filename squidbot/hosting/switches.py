"""Whether and how squidbot is switched on in a host that loads it wherever both are installed: a file of the host's."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.budget.window import read_budget
from squidbot.core.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Switch", "read", "write"]


class Switch(NamedTuple):
    """What a user said when switching squidbot on.

    Attributes:
        store: the file that keeps everything; "" where `settings` say it.
        budget: the largest request and its answer in tokens, or a share of the window below 1; None: the window.
        settings: a squidbot.toml; "" for none.
    """

    store: str = ""
    budget: float | None = None
    settings: str = ""


def read(path: Path) -> Switch:
    """Return how squidbot is switched on.

    Raises:
        ConfigError: it is not, or the file says nothing of the kind; the text says which.
    """
    try:
        told = json.loads(path.read_text("utf-8"))
        return Switch(str(told["store"]), read_budget(told["budget"]), str(told["settings"]))
    except FileNotFoundError as error:
        raise ConfigError("it is not switched on") from error
    except ConfigError as error:
        raise ConfigError(f"{path} can't be read: {error}") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path} can't be read: {error!r}") from error


def write(path: Path, switch: Switch) -> None:
    """Switch squidbot on.

    Raises:
        OSError: the file can't be written.
    """
    path.write_text(json.dumps(switch._asdict(), indent=2) + "\n", "utf-8")
