"""The token counters that settings name, each made once; what providers have counted is kept beside the sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.builtin import PROVIDERS
from squidbot.core.errors import ConfigError
from squidbot.extensions import PROVIDER, counter_specs, split_spec
from squidbot.offers import KeepsCounts, make

if TYPE_CHECKING:
    from squidbot.config import Loaded
    from squidbot.core.ports import TokenCounter
    from squidbot.offers import Registry

__all__ = ["Counters"]

# Token counters that read a file.
FILE_COUNTERS = ("tiktoken", "llama_cpp")
# What stands behind the name of the sessions' file, for the file with the counts of providers.
COUNTS_SUFFIX = ".counts"


class Counters:
    """The token counters of one engine. Threads may share it."""

    def __init__(self, loaded: Loaded, registry: Registry) -> None:
        """Make those that the settings name.

        Raises:
            ConfigError: there is no such counter, or its package is not installed.
        """
        self._loaded = loaded
        self._registry = registry
        self._made: dict[tuple[str, str], TokenCounter] = {}
        for spec in counter_specs(loaded):
            self.named(spec)
        for alias, model in loaded.settings.models.items():
            if model.tokenizer == PROVIDER:
                self.of(alias)

    def named(self, spec: str) -> TokenCounter:
        """Return the counter of "NAME", "NAME:REST" or "FILE.tiktoken"; the same one each time.

        Raises:
            ConfigError: there is no such counter, or its package is not installed.
        """
        if (spec, "") not in self._made:
            name, rest = split_spec(spec)
            rest = self._loaded.absolute(rest) if name in FILE_COUNTERS else rest
            made = make("token counter", self._registry.counters, name, rest, self._place(spec))
            self._made[spec, ""] = self._kept(made)
        return self._made[spec, ""]

    def of(self, alias: str) -> TokenCounter:
        """Return what the settings count with for a model; "provider" is what its own adapter's API counts.

        Raises:
            ConfigError: as `named`; or no API counts for the model.
        """
        settings = self._loaded.settings
        named = settings.model(alias).tokenizer
        if named != PROVIDER:
            return self.named(named or settings.budget.counter)
        if (PROVIDER, alias) not in self._made:
            model, place = settings.model(alias), f"{self._loaded.source}.models[{alias!r}].tokenizer"
            if model.adapter is None or model.adapter not in PROVIDERS:
                able = ", ".join(PROVIDERS)
                raise ConfigError(f"nobody's API counts for this model, but for one whose adapter is {able} @ {place}")
            given = (model.model or alias, model.url or "", model.key_env or "")
            self._made[PROVIDER, alias] = self._kept(make("token counter", PROVIDERS, model.adapter, given, place))
        return self._made[PROVIDER, alias]

    def close(self) -> None:
        """Close the connections of those that have any."""
        for one in self._made.values():
            if isinstance(one, KeepsCounts):
                one.close()

    def _kept(self, made: TokenCounter) -> TokenCounter:
        """Have a counter that asks others keep what they say, where sessions are kept."""
        path = self._loaded.settings.store.path
        if path and isinstance(made, KeepsCounts):
            made.keep(f"{self._loaded.absolute(path)}{COUNTS_SUFFIX}")
        return made

    def _place(self, spec: str) -> str:
        """Return the key that names a counter."""
        settings, source = self._loaded.settings, self._loaded.source
        aliases = [alias for alias, model in settings.models.items() if model.tokenizer == spec]
        is_common = settings.budget.counter == spec or not aliases
        return f"{source}.{'budget.counter' if is_common else f'models[{aliases[0]!r}].tokenizer'}"
