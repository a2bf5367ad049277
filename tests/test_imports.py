"""What importing squidbot loads, and what that costs: no adapter's package before settings name it."""

from __future__ import annotations

import resource
import subprocess
import sys
from functools import cache
from pathlib import Path

ADAPTERS = Path(__file__).parent.parent / "squidbot" / "adapters"
# Rooms are named after the packages that they are for; beside these, what SDKs bring along.
ROOMS = {path.stem for path in ADAPTERS.iterdir() if path.suffix == ".py" or path.is_dir()} - {
    "__init__",
    "__pycache__",
}
OWN = {"gguf", "gpus", "hub", "servers", "stdlib"}
PACKAGES = (ROOMS - OWN) | {"httpx", "httpx2", "pydantic", "requests", "torch", "transformers", "rich", "click"}
LOADED = """
import sys
import squidbot
{more}
print("\\n".join(sorted(sys.modules)))
"""
TURN = """
engine = squidbot.load({})
session = engine.session("s")
session.record(session.assemble("Hello").incoming, "Hi.")
"""


@cache
def loaded(more: str = "") -> set[str]:
    """Return the modules that are there once squidbot was imported, and more was done."""
    command = [sys.executable, "-c", LOADED.format(more=more)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.split())


def rooms_in(modules: set[str]) -> set[str]:
    """Return which rooms of adapters are among modules."""
    return {name.split(".")[2] for name in modules if name.startswith("squidbot.adapters.")}


def test_the_packages_that_are_looked_for_are_those_of_the_adapters() -> None:
    """Else nothing would be found, and nothing be proved."""
    assert {"anthropic", "openai", "tiktoken", "onnxruntime", "faiss", "lancedb", "llama_cpp", "sqlite3"} <= PACKAGES


def test_a_turn_with_the_defaults_loads_no_sdk_and_no_adapter_but_the_standard_library_s() -> None:
    """Nor the command line, what it prints with, what notebooks show, and the replay (Q-09)."""
    modules = loaded(TURN)
    assert {"squidbot.cli", "squidbot.display", "squidbot.replay", "sqlite3"} & modules == set()
    assert {name.partition(".")[0] for name in modules} & PACKAGES == set()
    assert rooms_in(modules) == {"common", "stdlib"}  # common: what several adapters share


def test_a_turn_with_the_defaults_loads_nothing_for_notes_and_pasted_texts() -> None:
    """Compiling their patterns took a third of a start; they come with the first note, and the first marked line."""
    late = {"squidbot.core.own_words", "squidbot.core.notes.notebook", "squidbot.core.kinds"}
    assert loaded(TURN) & late == set()


def test_importing_squidbot_costs_no_more_than_what_it_stands_on() -> None:
    """CPU time, the least of five: at most three times `import pluggy, dataclasses`."""
    own = min(_cpu_seconds("import squidbot") for _ in range(5))
    base = min(_cpu_seconds("import pluggy, dataclasses") for _ in range(5))
    assert 0 < own <= 3 * base


def _cpu_seconds(code: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(after[:2]) - sum(before[:2])
