"""What squidbot is called where distributions are installed, its extras, and what installs one.

There is no release yet, and the name `squidbot` belongs to somebody else's distribution: so no line that a user meets
names one that an index could be asked for, only the clone that he has.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

DISTRIBUTION: Final = "squidbot-context"

# As pyproject.toml has them: with hyphens, since pip up to 23.2 takes no notice of an extra with underscores.
Extra = Literal[
    "anthropic",
    "apscheduler",
    "faiss",
    "hermes",
    "lancedb",
    "langchain",
    "llama-cpp",
    "llm",
    "mcp",
    "onnxruntime",
    "openai",
    "openai-agents",
    "pydantic-ai",
    "tiktoken",
    "xllamacpp",
    "yaml",
]
EXTRAS: Final[tuple[Extra, ...]] = get_args(Extra)


def command(extra: Extra) -> str:
    """Return where to run what, to install squidbot with an extra."""
    return f"in your clone: pip install '.[{extra}]'"


def missing(extra: Extra) -> str:
    """Return that an extra is missing, and what installs it."""
    return f"the extra {extra} is missing; {command(extra)}"


def how_to_get(encoding: str) -> str:
    """Return what brings one of OpenAI's vocabularies onto this machine, by tiktoken itself."""
    ask = f"import tiktoken; tiktoken.get_encoding('{encoding}')"
    return f'this brings it: pip install tiktoken && python -c "{ask}"'


def extra_of(name: str) -> Extra | None:
    """Return the extra for what settings and imports call `name`; None where we have none."""
    spelled = name.replace("_", "-")
    return next((extra for extra in EXTRAS if extra == spelled), None)
