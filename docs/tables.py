"""Write the tables of docs/configuration.md and docs/experts.md from the schema: `python docs/tables.py`."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from squidbot.cli.config import default_of, written
from squidbot.config.loading import ALIASES
from squidbot.config.presets import shipped
from squidbot.config.schema import Key, Settings, keys_of

PAGES = tuple(Path(__file__).with_name(name) for name in ("configuration.md", "experts.md"))
MARK = re.compile(r"(<!-- table: (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def with_tables(page: str) -> str:
    """Return the page with its tables as the schema has them."""
    return MARK.sub(lambda found: found[1] + "\n".join(_table(found[2])) + "\n" + found[3], page)


def _table(wanted: str) -> Iterator[str]:
    keys = list(keys_of(Settings))
    if wanted == "entries":
        yield "| entry | read | write | output | forgotten after | from | as of |"
        yield "|---|---|---|---|---|---|---|"
        for name, one in shipped().items():
            pause = "never" if one.ttl_seconds == float("inf") else f"{one.ttl_seconds:,.0f} s"
            figures = f"{one.read:g} | {one.write:g} | {one.output:g} | {pause} | {one.least_tokens:,} tokens"
            yield f"| {name} | {figures} | {one.as_of} |"
    elif wanted == "names":
        yield from ("| name | key |", "|---|---|")
        yield from (f"| {'.'.join(name)} | `{'.'.join(path)}` |" for name, path in ALIASES.items())
        named = {key.field.metadata["env"]: key for key in keys}
        yield from (f"| {name} (environment) | `{'.'.join(key.path)}` |" for name, key in named.items() if name)
    elif wanted == "experts":
        yield from _rows(key for key in keys if key.field.metadata["expert"])
    else:
        tables = wanted.split()
        yield from _rows(key for key in keys if key.path[0] in tables and not key.field.metadata["expert"])


def _rows(keys: Iterable[Key]) -> Iterator[str]:
    yield from ("| key | default | values | what it does |", "|---|---|---|---|")
    for key in keys:
        values = ", ".join(key.choices) or key.unit
        yield f"| `{'.'.join(key.path)}` | {written(default_of(key))} | {values} | {key.field.metadata['doc']} |"


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(with_tables(page.read_text(encoding="utf-8")), encoding="utf-8")
