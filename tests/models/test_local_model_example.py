"""examples/local_model.py: sized for 8 GB by the header of a real model's size, and chatting with a tiny one."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import squidbot
from squidbot.testing import offline_chat_model
from tests.commands.test_size import llama
from tests.example_programs import program

from .test_catalog import Machine

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

GIB = 1 << 30


@pytest.mark.parametrize(
    ("free_bytes", "layers", "taken", "lines"),
    [
        (int(7.6 * GIB), 32, "q8_0", 2),  # a card of 8 GB that also draws the desktop, and a model of 8B in 4 bits
        (15 * GIB, 32, "f16", 1),
        (int(6.9 * GIB), 32, "q4_0", 3),
    ],
)
def test_the_most_exact_cache_whose_window_is_large_enough_is_taken(  # noqa: PLR0917  # a table
    free_bytes: int, layers: int, taken: str, lines: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a card with so much free memory; nothing is loaded."""
    machine, example = Machine(free_bytes), program("local_model")

    def load(settings: Mapping[str, Any]) -> squidbot.Engine:
        gpu = {"probe": machine.name, "watch_seconds": 0}
        return squidbot.load({**settings, "gpu": gpu, "store": {}}, extensions=[machine])

    example.squidbot = SimpleNamespace(load=load, ConfigError=squidbot.ConfigError)  # type: ignore[attr-defined]  # as the program imports it
    assert example.best_cache(llama(tmp_path / "llama-8b.gguf", layers)) == taken
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == lines
    assert all("auto-vram" in line for line in printed)
    assert machine.opened == []


def test_a_chat_goes_on_in_the_window_that_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With llama.cpp itself; a model that was trained for less than is wanted gets all it was trained for."""
    pytest.importorskip("xllamacpp")
    monkeypatch.chdir(tmp_path)
    path, example = offline_chat_model(tmp_path / "tiny.gguf"), program("local_model")
    assert example.best_cache(path) == "f16"
    for line in ("hello\n", "the squid\n"):
        monkeypatch.setattr(sys, "stdin", io.StringIO(line))
        example.chat(path, "f16")
    printed = capsys.readouterr().out
    assert printed.count("f16: 2,048 tokens") == 1
    assert printed.count("messages") + printed.count("message,") == 2
    with squidbot.load({"store": {"path": "squid.db"}}) as engine:
        store = engine.wired.store
        assert [row.role for row in store.read("chat", 0, 3)] == ["user", "assistant"] * 2
