"""The dry run: what llama.cpp says of a model's memory, and its failures, which are results or errors of ours."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.llama_cpp.verify import verify
from squidbot.core.errors import SizingError
from squidbot.core.sizing.header import Loading

if TYPE_CHECKING:
    from pathlib import Path

# -- without llama-cpp-python ----------------------------------------------------------------------------------------


def python_that_says(folder: Path, script: str) -> str:
    """Return a program that stands for the interpreter of the child."""
    program = folder / "python"
    program.write_text(f"#!{sys.executable}\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    return str(program)


def test_a_package_that_is_missing_is_named_with_what_installs_it(tmp_path: Path) -> None:
    """The child says that it can't import it; the parent never needs it."""
    python = python_that_says(tmp_path, "raise ModuleNotFoundError(\"No module named 'llama_cpp'\")")
    with pytest.raises(
        SizingError, match=r"No module named 'llama_cpp'; .* pip install 'squidbot-context\[llama-cpp\]'$"
    ):
        verify(tmp_path / "model.gguf", [Loading()], python=python)


def test_a_child_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    """A file on a dead network drive must not hold the command for ever."""
    python = python_that_says(tmp_path, "import time; time.sleep(60)")
    with pytest.raises(SizingError, match=r"took longer than 0\.2 s$"):
        verify(tmp_path / "model.gguf", [Loading()], python=python, timeout_seconds=0.2)


def test_an_interpreter_that_is_not_there_is_an_error_of_ours(tmp_path: Path) -> None:
    """The operating system's error is chained."""
    with pytest.raises(SizingError, match="cannot start") as caught:
        verify(tmp_path / "model.gguf", [Loading()], python=str(tmp_path / "none"))
    assert isinstance(caught.value.__cause__, OSError)


def test_settings_that_place_weights_differently_are_refused(tmp_path: Path) -> None:
    """One child makes one model, and its weights lie in one way."""
    with pytest.raises(SizingError, match="one n_gpu_layers"):
        verify(tmp_path / "model.gguf", [Loading(n_gpu_layers=1), Loading(n_gpu_layers=2)])
    with pytest.raises(SizingError, match="at least one"):
        verify(tmp_path / "model.gguf", [])
