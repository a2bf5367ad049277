"""What is kept over a compaction with a model's summary: the vendor's own text is what the model answers.

    python -m benchmarks.carried CARRY.py CASE.json ... [--times 1] [--json OUT.json]

The script and its cases are those of `--sessions` (see `corpus`); only how squidbot's view is made differs.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import squidbot
from squidbot.core.messages import Completion

if TYPE_CHECKING:
    from squidbot.hookspecs import Register

# Windows are tried until a view takes this share of the size that is asked for, at most so many.
_ENOUGH_FRACTION, _MOST_WINDOWS = 0.97, 12


class _Vendor:
    """A language model that answers what a vendor's did."""

    name = "vendor"

    def __init__(self, text: str) -> None:
        self._text = text

    def complete(self, _system: str, _prompt: str, _max_output_tokens: int) -> Completion:
        return Completion(f"<summary>\n{self._text}\n</summary>", 1, 1)


class _Brings:
    def __init__(self, model: _Vendor) -> None:
        self._model = model

    @squidbot.hookimpl
    def register_adapters(self, register: Register) -> None:
        register.llm("vendor", lambda _rest: self._model)


def _view(carry: Any, case: dict[str, Any], limit: int) -> list[str] | None:  # noqa: ANN401  # the caller's own script
    """Return the largest next request of at most so many tokens, as texts; None where no window gives one."""
    best: tuple[int, list[str]] | None = None
    low, high = 600, limit * 6 + 4000
    for _ in range(_MOST_WINDOWS):
        window = (low + high) // 2
        texts = _request(carry, case, window)
        size = carry.cost(texts) if texts else 0
        if texts and size > limit:
            high = window
            continue
        low = window
        if texts and (best is None or size > best[0]):
            best = size, texts
        if size >= _ENOUGH_FRACTION * limit:
            break
    return best and best[1]


def _request(carry: Any, case: dict[str, Any], window: int) -> list[str] | None:  # noqa: ANN401  # as above
    """Return the next request in a window, once the model has written what was due; None where it does not fit."""
    settings = {"summary": {"llm": "vendor", "scheduler": "none"}}
    with squidbot.load(settings, extensions=[_Brings(_Vendor("\n".join(case["carried"])))]) as engine:
        session = engine.session("case", window_tokens=window)
        session.record(*case["before"])
        engine.run_jobs(session, reason="request")
        try:
            return [carry.rendered(message) for message in session.preview().messages]
        except squidbot.BudgetError:
            return None


def main() -> None:
    """Compare as the script does, with views of our own making."""
    script = Path(sys.argv.pop(1))
    sys.path.insert(0, str(script.parent))
    carry = importlib.import_module(script.stem)
    carry.view = lambda case, limit: _view(carry, case, limit)  # type: ignore[attr-defined]  # it is found by its name
    carry.main()


if __name__ == "__main__":
    main()
