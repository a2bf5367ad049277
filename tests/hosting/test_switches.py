"""Whether and how squidbot is switched on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from squidbot.core.errors import ConfigError
from squidbot.plugins.llm import Switch, read, write

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("switch", [Switch("a.db", 8_000), Switch("a.db", 0.5), Switch(settings="squidbot.toml")])
def test_what_was_written_is_read(switch: Switch, tmp_path: Path) -> None:
    """As it was."""
    write(tmp_path / "squidbot.json", switch)
    assert read(tmp_path / "squidbot.json") == switch


def test_no_file_is_off(tmp_path: Path) -> None:
    """And says so."""
    with pytest.raises(ConfigError, match=r"^it is not switched on$"):
        read(tmp_path / "squidbot.json")


@pytest.mark.parametrize("told", ["{", "[]", "{}", '{"store": "x", "budget": "much", "settings": ""}'])
def test_a_file_that_says_something_else_is_refused(told: str, tmp_path: Path) -> None:
    """By its name."""
    (tmp_path / "squidbot.json").write_text(told, "utf-8")
    with pytest.raises(ConfigError, match=r"squidbot\.json can't be read"):
        read(tmp_path / "squidbot.json")
