"""What stays over a compaction: squidbot's view beside the summary that a vendor's model wrote, at the same size.

A case is a session of a coding agent, cut where the agent itself compacted (`benchmarks.fetch` brings them): `before`,
`carried` (the texts that it went on with), `after`. Of what the agent writes in its next 40 calls, and can only have
from before, each row has the share that still stands in it:

- literals: names, paths, hashes and numbers: what has to be exact;
- words: rare plain words of its texts. They count only within a sentence, two of whose words nearby are among the 150
  most frequent ones of the session: a list of words is none;
- users: the user's own messages, whole; users4: the same where all of them would take at most a quarter of the room.

V is the vendor's summary. N1 and N2 are squidbot's next request, in as many tokens and in twice as many; M1 is N1 with
the vendor's text as the answer of squidbot's own model. V+ is V, and what squidbot's hook adds to it.
"""

from __future__ import annotations

import json
import re
import statistics
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import squidbot
from benchmarks.report import OWN_COUNT, Bar, Result, Table
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.core.carryover import CarriedMessage, carryover
from squidbot.core.messages import Completion
from squidbot.core.tokens.counters import TEMPLATE_TOKENS, builtin_counter
from squidbot.core.view.steps import categorized
from squidbot.replay.metrics import literals_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from squidbot.hookspecs import Register

__all__ = ["KINDS", "Amount", "held", "measure", "needed"]

KINDS = ("literals", "words", "users", "users4")
# What is asked of the medians.
_ASKED = {
    "N1": {"literals": 0.7, "words": 0.3, "users": 0.9},
    "N2": {"literals": 0.9, "words": 0.4, "users": 1.0},
    "M1": {"literals": 0.65, "words": 0.37},
    "V+": {"literals": 0.55, "words": 0.38, "users": 0.95},
}
CALLS, _COMMON, _RARE, _NEAR = 40, 150, 6, 3
_WORD = re.compile(r"[^\W\d_]+")
_LEAST_CHARS = 6
# What a hook says of recalling more, about as long.
_RECALL = "More of it: history_search finds what was said by words, history_recall shows messages by their ids (m17)."
# Windows are tried until a view takes this share of the size that is asked for, at most so many.
_ENOUGH_FRACTION, _MOST_WINDOWS = 0.97, 12


class Amount(NamedTuple):
    """What is measured: the first `cases` of a folder, None for no folder.

    `tokens_of` counts tokens in a `unit`; None: squidbot's own count.
    """

    folder: Path | None
    cases: int
    tokens_of: Callable[[str], int] | None = None
    unit: str = ""


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


def measure(amount: Amount, progress: Callable[[str], None]) -> Result:
    """Measure all cases."""
    result = Result("carry")
    paths = sorted(amount.folder.glob("*.json"))[: amount.cases] if amount.folder else []
    if not paths:
        result.remarks.append("not measured: name a folder that has compactions with --data")
        return result
    count, found = amount.tokens_of or builtin_counter("classes").count, dict[str, list[dict[str, float | None]]]()
    result.remarks.append(f"Tokens are {amount.unit or OWN_COUNT}.")
    for number, path in enumerate(paths, 1):
        progress(f"carry: {number} of {len(paths)}")
        case = json.loads(path.read_text(encoding="utf-8"))
        wanted, limit = needed(case), _cost(case["carried"], count)
        for name, texts in _views(case, limit, count):
            if texts is not None:
                found.setdefault(name, []).append(held(texts, case, wanted, count))
    lines = []
    for name, each in found.items():
        spread = {kind: _spread([one[kind] for one in each]) for kind in KINDS}
        lines.append((name, tuple(figure for kind in KINDS for figure in spread[kind])))
        for kind, least in _ASKED.get(name, {}).items():
            result.bars.append(Bar(f"carried, {name}: {kind}, median", spread[kind][0] or 0.0, at_least=least))
    of = "the vendor's summary (V), notes of its size (N1), twice that (N2), with it (M1), it and what it left out (V+)"
    columns = tuple(text for kind in KINDS for text in (kind, f"{kind} tenth"))
    title = f"{len(paths)} compactions: {of}"
    result.tables.append(Table(title, columns, tuple(lines), {"cases": len(paths)}))
    return result


def needed(case: Mapping[str, Any]) -> tuple[set[str], set[str]]:
    """Return the literals and the rare words that the agent writes next, and can only have from before."""
    before = [_rendered(message, case) for message in case["before"]]
    known = frozenset[str]().union(*map(literals_in, before)) - literals_in(case["cwd"] or "")
    frequency = Counter(word for text in before for word in _plain(text))
    literals, words, elsewhere, said, calls = set[str](), set[str](), set[str](), set[str](), 0
    for message in case["after"]:
        text = _rendered(message, case)
        if message["role"] != "assistant":
            elsewhere |= literals_in(text) - literals
            said |= _plain(text) - words
            continue
        calls += 1
        if calls > CALLS:
            break
        literals |= (literals_in(text) & known) - elsewhere
        own = message.get("content")
        spoken = _plain(own) if isinstance(own, str) else set()
        words |= {word for word in spoken - said if 0 < frequency[word] <= _RARE}
    return literals, words


def held(
    texts: Sequence[str], case: Mapping[str, Any], wanted: tuple[set[str], set[str]], count: Callable[[str], int]
) -> dict[str, float | None]:
    """Return the shares that stand in some texts; None for what nothing was needed of."""
    literals, words = wanted
    text = _stripped("\n".join(texts), case)
    flat, users = " ".join(text.split()), case["users"]
    whole = sum(" ".join(_stripped(one, case).split()) in flat for one in users) / len(users) if users else None
    is_small = users and _cost(users, count) <= _cost(case["carried"], count) / 4
    return {
        "literals": len(literals & literals_in(text)) / len(literals) if literals else None,
        "words": len(words & _spoken(text, _common(case))) / len(words) if words else None,
        "users": whole,
        "users4": whole if is_small else None,
    }


# -- words -------------------------------------------------------------------------------------------------------------


def _plain(text: str) -> set[str]:
    """Return the plain words of six letters or more: no parts of paths and names."""
    return {text[start:end].lower() for start, end in _places(text) if _is_plain(text, start, end)}


def _spoken(text: str, common: set[str]) -> set[str]:
    """Return those of them that stand in a sentence."""
    places = _places(text)
    said = [text[start:end].lower() for start, end in places]
    return {
        said[at]
        for at, (start, end) in enumerate(places)
        if _is_plain(text, start, end)
        and sum(word in common for word in (*said[max(0, at - _NEAR) : at], *said[at + 1 : at + 1 + _NEAR])) > 1
    }


def _places(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in _WORD.finditer(text)]


def _is_plain(text: str, start: int, end: int) -> bool:
    before, after = text[max(0, start - 1) : start], text[end : end + 1]
    is_part = before.isalnum() or before in {"_", ".", "/", "-"} or after.isalnum() or after in {"_", "/"}
    return end - start >= _LEAST_CHARS and not (is_part and before + after)


def _common(case: Mapping[str, Any]) -> set[str]:
    """Return the most frequent words of what people and the model said."""
    said = (one["content"] for one in case["before"] if one["role"] != "tool" and isinstance(one.get("content"), str))
    counted = Counter(word.lower() for text in said for word in _WORD.findall(text))
    return {word for word, _ in counted.most_common(_COMMON)}


def _rendered(message: Mapping[str, Any], case: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
    functions = [call["function"] for call in message.get("tool_calls") or ()]
    return _stripped(text + "".join(f"\n{each['name']} {each['arguments']}" for each in functions), case)


def _stripped(text: str, case: Mapping[str, Any]) -> str:
    """Return a text with paths below the agent's folder as it writes them there."""
    return text.replace(f"{case['cwd']}/", "") if case["cwd"] else text


def _cost(texts: Iterable[str], count: Callable[[str], int]) -> int:
    return sum(count(text) + TEMPLATE_TOKENS for text in texts)


def _spread(values: Iterable[float | None]) -> tuple[float | None, float | None]:
    found = sorted(value for value in values if value is not None)
    return (statistics.median(found), found[len(found) // 10]) if found else (None, None)


# -- views -------------------------------------------------------------------------------------------------------------


def _views(case: Mapping[str, Any], limit: int, count: Callable[[str], int]) -> Iterable[tuple[str, list[str] | None]]:
    yield "V", case["carried"]
    yield "N1", _view(case, limit, count)
    yield "N2", _view(case, 2 * limit, count)
    yield "M1", _view(case, limit, count, by_model=True)
    yield "V+", _beside(case)


def _view(
    case: Mapping[str, Any], limit: int, count: Callable[[str], int], *, by_model: bool = False
) -> list[str] | None:
    """Return the largest next request of at most so many tokens, as texts; None where no window gives one."""
    best: tuple[int, list[str]] | None = None
    low, high = 600, limit * 6 + 4000
    for _ in range(_MOST_WINDOWS):
        window = (low + high) // 2
        texts = _request(case, window, by_model=by_model)
        size = _cost(texts, count) if texts else 0
        if texts and size > limit:
            high = window
            continue
        low = window
        if texts and (best is None or size > best[0]):
            best = size, texts
        if size >= _ENOUGH_FRACTION * limit:
            break
    return best and best[1]


def _request(case: Mapping[str, Any], window: int, *, by_model: bool) -> list[str] | None:
    """Return the next request in a window, once a model has written what was due; None where it does not fit."""
    settings = {"summary": {"llm": "vendor", "scheduler": "none"}} if by_model else {}
    extensions = [_Brings(_Vendor("\n".join(case["carried"])))] if by_model else []
    with squidbot.load(settings, extensions=extensions) as engine:
        session = engine.session("case", window_tokens=window)
        session.record(*case["before"])
        if by_model:
            engine.run_jobs(session, reason="request")
        try:
            return [_rendered(message, {"cwd": ""}) for message in session.preview().messages]
        except squidbot.BudgetError:
            return None


def _beside(case: Mapping[str, Any]) -> list[str]:
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
