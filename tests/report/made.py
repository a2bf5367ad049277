"""Sessions made up for tests of the page: a conversation that is compacted every few calls, as large as is wanted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from squidbot.report.data import GROUPS, ReportData

TOOLS = ("read_file", "run", "search")
READ, WRITE, OUTPUT = 0.1, 1.25, 5.0
# A copy of the second and third message, which is brought back when only a note stands for them.
COPY = 34


@dataclass
class Made:
    """A session that grows: `calls` calls of the model, each behind a message of the user or a tool's result.

    Attributes:
        calls: how many calls; every: how many of them between two compactions.
        words: the text of each message, by its number.
        name: what every name in the session is made of: its id, its tools, its notes.
    """

    calls: int = 40
    every: int = 10
    words: str = "message {} says where the reports are kept"
    name: str = "made"
    parts: list[dict[str, Any]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def data(self) -> ReportData:
        """Return its report."""
        messages = [self._message(number) for number in range(2 * self.calls)]
        raw = [self._raw(one) for one in messages]
        calls, changes = self._calls(messages, raw)
        prices = [call["price"] for call in calls]
        values: dict[str, Any] = {
            "format": 1,
            "squidbot": "0.1.0",
            "made_at": 1_700_000_000.0,
            "source": "replay",
            "recording": None,
            "session": self.name,
            "window": {
                "tokens": 8000,
                "reserve": 2000,
                "limit": 6000,
                "model": "",
                "counter": "classes",
                "source": "test",
            },
            "prices": {"name": "default", "as_of": None, "read": READ, "write": WRITE, "output": OUTPUT}
            | {"least_tokens": 0, "ttl_seconds": 300.0, "per_million": 3.0},
            "with_text": True,
            "groups": [*GROUPS],
            "messages": messages,
            "parts": self.parts,
            "calls": calls,
            "compactions": changes,
            "lines": self._lines(len(messages)),
            "policies": [self._policy("send everything", prices, 3.0), self._policy("trim", [None, *prices[1:]], 0.5)],
            "missing": [{"call": 5, "name": f"{self.name}.txt", "age": 120, "said": 1}],
            "errors": [{"call": 7, "next": 7, "kind": "budget", "text": f"{self.name} does not fit"}],
            "heaviest": [{"message": 1, "tokens": 30, "calls": 9, "sent_tokens": 270}],
            "tools": [{"tool": self._tool(0), "results": 4, "tokens": 80, "sent_tokens": 300}],
            "recalled": [{"message": COPY, "call": COPY // 2, "tokens": 20, "of": "m1-m2"}],
        }
        return ReportData(values | {"totals": self._totals(values)}, self.texts)

    def _tool(self, number: int) -> str:
        return f"{TOOLS[number % 3]}{'' if self.name == 'made' else self.name}"

    def _text(self, text: str) -> int:
        self.texts.append(text)
        return len(self.texts) - 1

    def _message(self, number: int) -> dict[str, Any]:
        role = "assistant" if number % 2 else "user" if number % 10 == 0 else "tool"
        follows_with_tool = role == "assistant" and (number + 1) % 10
        return {
            "id": number,
            "turn": number // 10,
            "line": 1 if number >= 2 * self.calls - 8 else 0,
            "role": role,
            "category": "recalled" if number == COPY else "forgotten" if number == 4 else "dialog",
            "time": 1_700_000_000.0 + number,
            "tokens": 20 + number % 30,
            "sent_tokens": 20 + number % 30,
            "tools": [self._tool(number)] if role == "tool" or follows_with_tool else [],
            "flags": ["forgotten"] if number == 4 else ["truncated"] if number == 6 else [],
            "text": self._text(self.words.format(number)),
        }

    def _part(self, kind: str, how: str, group: str, span: tuple[int, int], **others: Any) -> int:  # noqa: ANN401
        part = {
            "kind": kind,
            "role": "user",
            "how": how,
            "group": group,
            "level": None,
            "first": span[0],
            "last": span[1],
        }
        part |= {"summary": None, "name": None, "tokens": 40, "bound": 50, "reason": None, "text": None}
        self.parts.append(part | others)
        return len(self.parts) - 1

    def _raw(self, message: dict[str, Any]) -> int:
        group = {"assistant": "model"}.get(message["role"], message["role"])
        how = {COPY: "recalled", 4: "forgotten", 6: "truncated"}.get(message["id"], "raw")
        place = (message["id"], message["id"])
        others = {"role": message["role"], "tokens": message["tokens"], "text": message["text"]}
        return self._part("message", how, "recalled" if how == "recalled" else group, place, **others)

    def _note(self, first: int, last: int, level: str) -> int:
        text = self._text(f"[s{first}-{last}: notes of {self.name}]")
        others = {
            "level": level,
            "summary": f"s{first}-{last}.{self.name}",
            "reason": f"notes of {self.name}",
            "text": text,
        }
        return self._part("summary", "note", level, (first, last), **others)

    def _head(self, said: int) -> list[int]:
        """Return the notes that stand for all but the newest messages."""
        merged, detailed = said * 3 // 5, said * 4 // 5
        absent = [self._part("notice", "absent", "absent", (0, said // 5 - 1), tokens=10)] if said > 40 else []
        first = said // 5 if absent else 0
        return [*absent, self._note(first, merged - 1, "merged"), self._note(merged, detailed - 1, "detailed")]

    def _calls(
        self, messages: list[dict[str, Any]], raw: list[int]
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        calls, changes = list[dict[str, Any]](), list[dict[str, Any]]()
        head, since, before = list[int](), 0, list[int]()
        known: set[int] = set()
        for at in range(self.calls):
            said, is_changed = 2 * at + 1, at > 0 and at % self.every == 0
            if is_changed:
                head, since = self._head(said), said * 4 // 5
            stack = [*head, *(raw[one] for one in range(since, said) if self._is_on(messages[said - 1]["line"], one))]
            kept = next((n for n, (one, other) in enumerate(zip(before, stack, strict=False)) if one != other), 0)
            kept = len(before) if before == stack[: len(before)] else kept
            calls.append(self._call(at, stack, kept, known) | {"line": messages[said - 1]["line"]})
            if is_changed:
                changes.append(self._change(len(changes), at, self._tokens(before), self._tokens(stack), since))
            before = stack
            known.update(stack)
        return calls, changes

    def _tokens(self, stack: list[int]) -> int:
        return sum(self.parts[number]["tokens"] for number in stack)

    def _call(self, at: int, stack: list[int], kept: int, known: set[int]) -> dict[str, Any]:
        groups = Counter[str]()
        for number in stack:
            groups[self.parts[number]["group"]] += self.parts[number]["tokens"]
        tokens, cached = self._tokens(stack), self._tokens(stack[:kept])
        new = self._tokens([number for number in stack[kept:] if number not in known])
        call: dict[str, Any] = {
            "call": at,
            "request": at,
            "answer": 2 * at + 1,
            "time": 1_700_000_000.0 + at,
            "model": None,
            "plan": None,
            "keep": kept,
        }
        call |= {"add": stack[kept:], "tokens": tokens, "bound": tokens + 50, "limit": 6000, "outside": 0}
        call |= {"by": dict(groups), "is_same": True, "problem": None, "output": 20, "cause": None}
        call |= {
            "reported": {"input_tokens": tokens + 5, "output_tokens": 20, "cached_tokens": cached} if at == 3 else None
        }
        call |= {"cached": cached, "new": new, "rewritten": tokens - cached - new}
        return call | {"price": READ * cached + WRITE * (tokens - cached), "output_price": OUTPUT * 20}

    def _change(self, plan: int, at: int, before: int, after: int, since: int) -> dict[str, Any]:
        cause = {1: "undo", 2: "branch"}.get(plan, "high-water") if self.calls < 100 else "high-water"
        change: dict[str, Any] = {
            "line": 0,
            "plan": plan,
            "call": at,
            "cause": cause,
            "time": None,
            "made_at": 2 * at,
            "before": before,
        }
        change |= {"after": after, "kept": 0, "from": since, "price": 1.15 * after, "summary_price": 0.0}
        return change | {"pays_after": 3.5, "paid_at": at + 4, "restores": 0 if cause == "undo" else None}

    def _is_on(self, line: int, message: int) -> bool:
        """Return whether a line has a message: the second one left the first before its two newest."""
        left = 2 * self.calls - 8
        return line == 0 or not left - 2 <= message < left

    def _lines(self, messages: int) -> list[dict[str, Any]]:
        left = messages - 8
        first = {"number": 0, "parent": None, "left_at": None, "messages": left, "last_seq": left - 1, "at": None}
        second = {"number": 1, "parent": 0, "left_at": left - 2, "messages": messages - 2, "last_seq": messages - 1}
        return [
            first | {"is_current": False, "runs": [[0, left - 1]]},
            second | {"at": 1_700_000_500.0, "is_current": True, "runs": [[0, left - 3], [left, messages - 1]]},
        ]

    def _policy(self, name: str, prices: list[float | None], factor: float) -> dict[str, Any]:
        tokens = [None if price is None else int(price) for price in prices]
        priced = [None if price is None else factor * price for price in prices]
        label = name if self.name == "made" else f"{name}{self.name}"
        return {"name": label, "ours": False, "is_this": False, "tokens": tokens, "cached": tokens, "price": priced}

    @staticmethod
    def _totals(values: dict[str, Any]) -> dict[str, Any]:
        keys = ("tokens", "cached", "new", "rewritten", "output", "price", "output_price")
        return {
            "calls": len(values["calls"]),
            "messages": len(values["messages"]),
            "said_tokens": sum(one["tokens"] for one in values["messages"]),
            **{key: sum(call[key] for call in values["calls"]) for key in keys},
            "everything_price": sum(values["policies"][0]["price"]),
            "compactions": len(values["compactions"]),
            "rebuilt": len(values["calls"]),
            "reported": 1,
        }
