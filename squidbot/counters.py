"""The token counters that settings name, or that models have, each made once; which of them counts, and why.

What providers have counted is kept beside the sessions.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from squidbot.builtin import PROVIDERS
from squidbot.core.errors import ConfigError
from squidbot.extensions import AUTO, DEFAULT, PROVIDER, counter_specs, split_spec
from squidbot.extras import how_to_get
from squidbot.offers import KeepsCounts, make

if TYPE_CHECKING:
    from squidbot.config import Loaded
    from squidbot.core.ports import TokenCounter
    from squidbot.offers import Registry

__all__ = ["Counters", "vocabulary_of"]

# Token counters that read a file.
FILE_COUNTERS = ("tiktoken", "llama_cpp")
# What stands behind the name of the sessions' file, for the file with the counts of providers.
COUNTS_SUFFIX = ".counts"
# The vocabularies that OpenAI publishes, by what its models are called; as tiktoken's own table has them. In front of
# the name stands who serves it, with some hosts; behind it a date or a kind.
VOCABULARIES = {
    "o200k_base": re.compile(r"(?:ft:)?(?:gpt-5|(?:gpt-(?:4o|4\.1|4\.5|oss)|chatgpt-4o|o1|o3|o4-mini)(?![^:-]))"),
    "cl100k_base": re.compile(r"(?:ft:)?gpt-(?:4|3\.5|3\.5-turbo|35-turbo)(?![^:-])"),
}
NEWEST = "o200k_base"
_SERVED_BY = re.compile(r"(?:openai|azure)[/:]")
# The adapters of a model that is what it is called; None where the host asks it. One with a file or a url may be any.
_OPENAIS = {None, "openai"}


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
            rest = self._loaded.absolute(rest) if name in FILE_COUNTERS and rest not in VOCABULARIES else rest
            made = make("token counter", self._registry.counters, name, rest, self._place(spec))
            self._made[spec, ""] = self._kept(made)
        return self._made[spec, ""]

    def of(self, alias: str) -> TokenCounter:
        """Return what the settings count with for a model; "provider" is what its own adapter's API counts.

        Raises:
            ConfigError: as `named`; or no API counts for the model.
        """
        settings = self._loaded.settings
        named = self._named(alias)
        if named == AUTO:
            return self._own(alias)
        if named != PROVIDER:
            return self.named(named)
        if (PROVIDER, alias) not in self._made:
            model, place = settings.model(alias), f"{self._loaded.source}.models[{alias!r}].tokenizer"
            if model.adapter is None or model.adapter not in PROVIDERS:
                able = ", ".join(PROVIDERS)
                raise ConfigError(f"nobody's API counts for this model, but for one whose adapter is {able} @ {place}")
            given = (model.model or alias, model.url or "", model.key_env or "")
            self._made[PROVIDER, alias] = self._kept(make("token counter", PROVIDERS, model.adapter, given, place))
        return self._made[PROVIDER, alias]

    def why(self, alias: str) -> str:
        """Return in one line why a model is counted as it is, and what would count it exactly; "" where settings say.

        Raises:
            ConfigError: as `of`.
        """
        if self._named(alias) != AUTO:
            return ""
        model, encoding = self._loaded.settings.model(alias), self._vocabulary(alias)
        if encoding:
            if self._own(alias).certificate == "exact":
                return "the model's own vocabulary"
            return f"its own vocabulary is not at hand; {how_to_get(encoding)}"
        if model.path or model.repo_id:
            exact = f'by its own vocabulary with models.{alias}.tokenizer = "llama_cpp:{model.path or "FILE.gguf"}"'
            return "by its own vocabulary once it is open" if model.adapter else exact
        return "no vocabulary of it is known" if alias else self._of_openai()

    def _of_openai(self) -> str:
        """Return what counts a model of OpenAI's that a host names."""
        try:
            from squidbot.adapters.tiktoken import cached  # noqa: PLC0415  # where it is installed
        except ImportError:
            known = None
        else:
            known = cached(NEWEST)
        said = "a model of OpenAI's, where a host names it, by its own vocabulary"
        return said if known else f"{said}, which is not at hand; {how_to_get(NEWEST)}"

    def _named(self, alias: str) -> str:
        settings = self._loaded.settings
        return settings.model(alias).tokenizer or settings.budget.counter

    def _own(self, alias: str) -> TokenCounter:
        """Return the counter of a model's own vocabulary, the default one where that is not at hand."""
        encoding = self._vocabulary(alias)
        if encoding and (AUTO, encoding) not in self._made:
            try:
                self._made[AUTO, encoding] = self.named(f"tiktoken:{encoding}")
            except ConfigError:  # neither here: `why` says what brings it
                self._made[AUTO, encoding] = self.named(DEFAULT)
        return self._made[AUTO, encoding] if encoding else self.named(DEFAULT)

    def _vocabulary(self, alias: str) -> str:
        """Return the published vocabulary of a model; "" where none is known."""
        model = self._loaded.settings.model(alias)
        is_called_so = model.adapter in _OPENAIS and not (model.path or model.repo_id or model.url)
        return vocabulary_of(model.model or alias) if is_called_so else ""

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


def vocabulary_of(model: str) -> str:
    """Return which vocabulary that OpenAI publishes a model of that name has; "" where none is known."""
    name = _SERVED_BY.sub("", model.lower(), count=1)
    return next((encoding for encoding, names in VOCABULARIES.items() if names.match(name)), "")
