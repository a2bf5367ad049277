"""The name of the distribution, its extras, and how to install one.

`squidbot` on the package index is another project: so every hint names our distribution. Where squidbot is installed,
also from a clone, pip and uv add an extra's packages to what is there, and fetch no other squidbot.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

DISTRIBUTION: Final = "squidbot-context"

# As in pyproject.toml: with hyphens, since pip up to 23.2 ignores extras with underscores.
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
    "opentelemetry",
    "postgresql",
    "pydantic-ai",
    "tiktoken",
    "view",
    "xllamacpp",
    "yaml",
]
EXTRAS: Final[tuple[Extra, ...]] = get_args(Extra)


def command(extra: Extra) -> str:
    """Return the command that installs an extra, however squidbot itself was installed."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def missing(extra: Extra) -> str:
    """Return the message that an extra is missing."""
    return f"the extra {extra} is missing: {command(extra)}"


def how_to_get(encoding: str) -> str:
    """Return the command that makes tiktoken download an OpenAI vocabulary."""
    ask = f"import tiktoken; tiktoken.get_encoding('{encoding}')"
    return f'this brings it: pip install tiktoken && python -c "{ask}"'


def extra_of(name: str) -> Extra | None:
    """Return the extra for an adapter's name in settings and imports; `None` if there is none."""
    spelled = {"psycopg": "postgresql"}.get(name, name.replace("_", "-"))
    return next((extra for extra in EXTRAS if extra == spelled), None)
