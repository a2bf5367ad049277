"""Calls the hooks of extensions, each on its own: what one raises or returns by mistake stays with it, and is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from squidbot.hookspecs import PRIORITY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pluggy

    from squidbot.relay import Relay

__all__ = ["Answered", "Hooks", "Implementation", "RubbishError", "implementations"]

Value = TypeVar("Value")


class RubbishError(ValueError):
    """What a hook returned is nothing that it may return; the text says what would be."""


class Implementation(NamedTuple):
    """A hook of one extension: whose it is, what is called, and the arguments that it takes."""

    name: str
    function: Callable[..., object]
    arguments: Sequence[str]

    def called(self, given: Mapping[str, object]) -> object:
        """Return what it returns; raises what it raises."""
        return self.function(*[given[argument] for argument in self.arguments])


def implementations(plugins: pluggy.PluginManager, hook: str) -> tuple[Implementation, ...]:
    """Return the hooks of that name, in the order in which they are called: by priority, then by name."""
    found = getattr(plugins.hook, hook).get_hookimpls()
    ordered = sorted(found, key=lambda one: (-getattr(one.function, PRIORITY, 0), one.plugin_name))
    return tuple(Implementation(one.plugin_name, one.function, one.argnames) for one in ordered)


class Answered(NamedTuple, Generic[Value]):
    """What an extension's hook answered: None where it had nothing to say, or failed."""

    name: str
    value: Value | None
    failed: bool = False


class Hooks:
    """The hooks of one engine. Where nobody has one, asking for it costs a look into a table."""

    def __init__(self, plugins: pluggy.PluginManager, relay: Relay) -> None:
        """Take the extensions, and what tells of those that fail."""
        every = {one.name: implementations(plugins, one.name) for one in vars(plugins.hook).values()}
        self._found = {name: found for name, found in every.items() if found}
        self._relay = relay

    def has(self, *hooks: str) -> bool:
        """Return whether anybody has one of these hooks."""
        return any(hook in self._found for hook in hooks)

    def answers(self, hook: str, check: Callable[[object], Value | None], **given: object) -> Iterator[Answered[Value]]:
        """Yield what each extension's hook answers to what is given, in order; where it fails, nothing but that.

        What a hook raises, and what `check` refuses, is told as the event `degraded` of the `session_id` in `given`.
        """
        session_id = str(given.get("session_id", ""))
        for one in self._found.get(hook, ()):
            try:
                value = one.called(given)
                answered = Answered(one.name, None if value is None else check(value))
            except Exception as error:  # noqa: BLE001  # a stranger's failure never fails a turn (promise 10)
                self._relay.degraded(one.name, hook, session_id, error)
                answered = Answered(one.name, None, failed=True)
            yield answered

    def each(self, hook: str, check: Callable[[object], Value | None], **given: object) -> Iterator[tuple[str, Value]]:
        """Yield what is answered and not None, each with whose it is."""
        for one in self.answers(hook, check, **given):
            if one.value is not None:
                yield one.name, one.value

    def through(
        self, hook: str, check: Callable[[Value, object], Value], value: Value, argument: str, **given: object
    ) -> Value:
        """Return a value that each hook in turn had as its `argument`; `check` makes the next of what it answers."""
        session_id = str(given.get("session_id", ""))
        for one in self._found.get(hook, ()):
            try:
                said = one.called({**given, argument: value})
                value = value if said is None else check(value, said)
            except Exception as error:  # noqa: BLE001  # as above
                self._relay.degraded(one.name, hook, session_id, error)
        return value

    def refuse(self, name: str, hook: str, session_id: str, why: str) -> None:
        """Tell that what an extension's hook gave was not used."""
        self._relay.degraded(name, hook, session_id, RubbishError(why))

    def tell(self, hook: str, **given: object) -> None:
        """Call all listeners of a hook. Never raises an Exception."""
        for _ in self.answers(hook, lambda _: None, **given):
            pass
