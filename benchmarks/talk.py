"""A long conversation of an agent with tools, made by rule: prose, code, JSON, logs, Chinese, Japanese and Korean.

2,000 turns are about 5,000 model calls and 6 million tokens, as in the table that the bars of `policy` come from. The
same arguments make the same conversation.
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.host import CODEC, NOW, Call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from squidbot.core.messages import Message

__all__ = ["conversation"]

POOL_CHARS = 200_000
# Tools called in a turn: 1.5 on average.
TOOLS_IN_A_TURN = (0, 0, 1, 1, 1, 2, 2, 2, 3, 3)
# A tool's output: log-normal, half of them above 3,900 characters, at most 24,000.
OUTPUT_MU, OUTPUT_SIGMA, MOST_OUTPUT_CHARS = 8.27, 0.8, 24_000

NOUNS = [
    "cache",
    "price",
    "index",
    "page",
    "token",
    "window",
    "budget",
    "store",
    "plan",
    "lease",
    "session",
    "summary",
    "journal",
    "server",
    "request",
    "queue",
    "worker",
    "thread",
    "lock",
    "branch",
    "review",
    "release",
    "parser",
    "schema",
    "column",
    "invoice",
    "customer",
    "ticket",
    "report",
    "deadline",
    "meeting",
    "harbour",
]
VERBS = [
    "checks",
    "moves",
    "keeps",
    "loses",
    "reads",
    "writes",
    "counts",
    "splits",
    "merges",
    "renames",
    "retries",
    "measures",
    "explains",
    "doubts",
]
ENDS = ("before it is used", "after the deploy", "in the second run", "when nobody looks", "as agreed", "once more")
SENTENCES = (
    "我们决定把缓存保留十分钟, 然后再检查一次价格。",
    "请先阅读配置文件, 再说明为什么测试失败。",
    "サーバーの記録を読んでから、原因を説明してください。",
    "昨日の変更は取り消さずに、設定だけを直しました。",
    "세션이 끝나기 전에 요약을 저장하고 다시 확인하세요.",
    "이 오류는 두 번째 실행에서만 나타납니다.",
)


class Output(NamedTuple):
    """What a tool gives back: the tool's name, and the kind of its output."""

    tool: str
    kind: str


OUTPUTS = (Output("read_file", "code"), Output("query", "json"), Output("tail_log", "log"), Output("search", "prose"))


def conversation(turns: int, seed_number: int = 1) -> Iterator[list[Call]]:
    """Yield the calls of each turn; a longer conversation starts with a shorter one's turns."""
    return _Talk(seed_number).turns(turns)


class _Talk:
    def __init__(self, seed_number: int) -> None:
        self._chance = random.Random(seed_number)  # noqa: S311  # text to measure with, no secret
        makers = {"prose": self._sentence, "code": self._code, "json": self._record, "log": self._log, "cjk": self._cjk}
        self._pools = {kind: self._pool(make) for kind, make in makers.items()}

    def turns(self, count: int) -> Iterator[list[Call]]:
        now = NOW
        for number in range(count):
            now += 60.0  # never so long that a provider forgets its cache: breaks are the policy's own
            yield list(self._turn(number, now))

    def _turn(self, number: int, now: float) -> Iterator[Call]:
        asked = _said("user", self._text("cjk" if number % 11 == 0 else "prose", 40, 900))
        incoming = (asked,)
        for step in range(self._chance.choice(TOOLS_IN_A_TURN)):
            output = self._chance.choice(OUTPUTS)
            path = f"src/{self._chance.choice(NOUNS)}/{self._chance.choice(NOUNS)}_{self._chance.randrange(90)}.py"
            call_id = f"call_{number}_{step}"
            function = {"name": output.tool, "arguments": json.dumps({"path": path, "first": number, "limit": 200})}
            calls = [{"id": call_id, "type": "function", "function": function}]
            now += 4.0
            yield Call(incoming, _said("assistant", self._text("prose", 0, 200), tool_calls=calls), now)
            chars = min(MOST_OUTPUT_CHARS, int(self._chance.lognormvariate(OUTPUT_MU, OUTPUT_SIGMA)))
            kind = "cjk" if number % 23 == 0 else output.kind
            result = f"{path} #{number}.{step}\n{self._text(kind, chars, chars)}"
            incoming = (_said("tool", result, tool_call_id=call_id),)
        kind = "cjk" if number % 11 == 0 else "code" if number % 5 == 0 else "prose"
        yield Call(incoming, _said("assistant", self._text(kind, 300, 3000)), now + 8.0)

    def _text(self, kind: str, least: int, most: int) -> str:
        pool = self._pools[kind]
        chars = self._chance.randint(least, most)
        # Chinese, Japanese and Korean take two to three times the tokens a character.
        chars = chars // 3 if kind == "cjk" else chars
        start = pool.find("\n", self._chance.randrange(len(pool) - chars - 400)) + 1
        return pool[start : start + chars]

    def _pool(self, make: Callable[[], str]) -> str:
        lines, chars = [], 0
        while chars < POOL_CHARS:
            lines.append(make())
            chars += len(lines[-1]) + 1
        return "\n".join(lines)

    def _sentence(self) -> str:
        chance = self._chance
        said = [
            f"The {chance.choice(NOUNS)} {chance.choice(VERBS)} the {chance.choice(NOUNS)} {chance.choice(ENDS)}."
            for _ in range(chance.randint(1, 5))
        ]
        return " ".join(said)

    def _code(self) -> str:
        chance = self._chance
        name, other = (f"{chance.choice(NOUNS)}_{chance.choice(NOUNS)}" for _ in range(2))
        return (
            f"def {name}(self, {other}: int = {chance.randrange(5000)}) -> list[str]:\n"
            f"    if {other} > self.{chance.choice(NOUNS)}.limit:\n"
            f'        raise ValueError(f"{name}: {{{other}}} is too large")\n'
            f"    return [item.{chance.choice(VERBS)}() for item in self._{chance.choice(NOUNS)}s[:{other}]]\n"
        )

    def _record(self) -> str:
        chance = self._chance
        row = {
            "id": f"{chance.getrandbits(64):016x}",
            "name": f"{chance.choice(NOUNS)} {chance.choice(NOUNS)}",
            "price": chance.randrange(100_000) / 100,
            "open": chance.random() < 0.5,
            "tags": chance.sample(NOUNS, 3),
        }
        return json.dumps(row)

    def _log(self) -> str:
        chance = self._chance
        day, hour, minute = chance.randint(1, 28), chance.randrange(24), chance.randrange(60)
        clock = f"2026-03-{day:02}T{hour:02}:{minute:02}:07.{chance.randrange(1000):03}Z"
        level = chance.choice(("INFO", "INFO", "DEBUG", "WARN", "ERROR"))
        call = f"GET /v1/{chance.choice(NOUNS)}/{chance.randrange(99999)} {chance.choice((200, 200, 404, 503))}"
        return f"{clock} {level} [{chance.choice(NOUNS)}-{chance.randrange(16)}] {call} {chance.randrange(900)}ms"

    def _cjk(self) -> str:
        return "".join(self._chance.choices(SENTENCES, k=self._chance.randint(1, 4)))


def _said(role: str, content: str, **more: object) -> Message:
    return CODEC.to_message({"role": role, "content": content, **more})
