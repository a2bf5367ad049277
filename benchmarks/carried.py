"""What is kept over a compaction with a model's summary: the vendor's own text is what the model answers.

    python -m benchmarks.carried CARRY.py CASE.json ... [--times 1] [--json OUT.json] [--beside]

The script and its cases are those of `--sessions` (see `corpus`); only how squidbot's view is made differs. With
`--beside` it is no view of ours: the vendor's text stays, and what `carryover` gives the agent's hook stands behind it,
whatever the size that is asked for.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import squidbot
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.core.carryover import CarriedMessage, carryover
from squidbot.core.messages import Completion
from squidbot.core.view.steps import categorized

if TYPE_CHECKING:
    from squidbot.hookspecs import Register

# What a hook says of recalling more, about as long.
_RECALL = "More of it: history_search finds what was said by words, history_recall shows messages by their ids (m17)."
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


def _beside(case: dict[str, Any]) -> list[str]:
    """Return the vendor's texts, and what they leave out, within what a hook may say."""
    codec = OpenAIChat()
    messages = [codec.to_message(each) for each in case["before"]]
    read = [categorized(each, codec, opens=seq == 0) for seq, each in enumerate(messages)]
    rows = [
        CarriedMessage(seq, each.role, each.text, each.calls, each.results, each.category)
        for seq, each in enumerate(read)
    ]
    summary = "\n".join(case["carried"])
    return [*case["carried"], carryover(rows, summary, recall=_RECALL, project=case["cwd"] or "")]


def main() -> None:
    """Compare as the script does, with views of our own making."""
    script = Path(sys.argv.pop(1))
    beside = "--beside" in sys.argv
    sys.argv = [word for word in sys.argv if word != "--beside"]
    sys.path.insert(0, str(script.parent))
    carry = importlib.import_module(script.stem)
    made = (lambda case, _limit: _beside(case)) if beside else (lambda case, limit: _view(carry, case, limit))
    carry.view = made  # type: ignore[attr-defined]  # it is found by its name
    carry.main()


if __name__ == "__main__":
    main()
