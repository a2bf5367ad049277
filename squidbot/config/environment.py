"""The environment: variables of other systems, if enabled; and secrets, which belong nowhere else."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Final

from squidbot.adapters.common.providers import USUAL_KEYS
from squidbot.config.checks import Place, read_value
from squidbot.config.schema import Settings, keys_of
from squidbot.core.errors import ConfigError
from squidbot.core.redaction import NAMES

_SECRET: Final = re.compile(rf"(?i)(?:.*[_-])?(?:{'|'.join(NAMES)})")
# Keys of known issuers by their form, and a password in a URL.
_SHAPE: Final = re.compile(r"\bsk-[\w-]{16,}|://[^\s/:@]+:[^\s/@]+@")


def from_environment() -> Iterator[tuple[str, Place, object]]:
    """Yield the known environment variables that are set: name, key, value.

    Raises:
        ConfigError: one has a wrong value for its key.
    """
    for key in keys_of(Settings):
        name = key.field.metadata["env"]
        if name in os.environ:
            wrong = list[tuple[Place, str]]()
            value = read_value(key.kind, _number(os.environ[name]), (key.path, f"env {name}"), wrong)
            if wrong:
                raise ConfigError(wrong[0][1])
            yield name, key.path, value


def _number(text: str) -> object:
    """Return a text as a number if it is one, else the text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def check_secrets(raw: Mapping[str, object], source: str) -> None:
    """Check that no key and no value is a secret: files are copied, committed and shown.

    Raises:
        ConfigError: a line for each secret, with its path and a remedy; it does not repeat the secret.
    """
    wrong = list(_secrets(raw, source, ""))
    if wrong:
        raise ConfigError("\n".join(wrong))


def _secrets(raw: Mapping[str, object], place: str, adapter: str) -> Iterator[str]:
    said = raw.get("adapter", adapter)
    adapter = said if isinstance(said, str) else adapter
    usual = USUAL_KEYS.get(adapter, " or ".join(USUAL_KEYS.values()))
    for key, value in raw.items():
        path = f"{place}.{key}"
        variable = "PGPASSWORD" if path.endswith(".store.url") else usual
        if isinstance(value, Mapping):
            yield from _secrets(value, path, adapter)
        elif _SECRET.fullmatch(str(key)):
            yield f"{key} is a secret: remove it, and set {variable} in the environment instead @ {path}"
        elif isinstance(value, str) and _SHAPE.search(value):
            other = ", or write it into ~/.pgpass" if variable == "PGPASSWORD" else ""
            yield f"the value holds a secret: remove it, and set {variable} in the environment{other} @ {path}"
