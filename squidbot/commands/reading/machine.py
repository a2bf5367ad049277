"""What squidbot finds on this machine: settings, devices, models and their windows, packages, the store."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from squidbot.adapters.common.providers import USUAL_KEYS
from squidbot.bootstrap import wire
from squidbot.commands.reading.hosts import HostFound, forms_in, hosts_found
from squidbot.commands.reading.installed import PACKAGES, Package, installed, strangers
from squidbot.commands.reading.vectors import FactsFound, facts_found
from squidbot.commands.texts import count
from squidbot.core.budget import tier_of
from squidbot.core.errors import ConfigError, SquidbotError
from squidbot.wiring.gpus import Machine
from squidbot.wiring.registry import check_offered, collected

if TYPE_CHECKING:
    from collections.abc import Iterator

    from squidbot.bootstrap import Wired
    from squidbot.config import Loaded
    from squidbot.core.devices import MainMemory, Probed
    from squidbot.core.messages import Lease
    from squidbot.core.prompts import SystemPrompt
    from squidbot.core.sizing.header import Loading
    from squidbot.models import Sized

__all__ = ["Found", "ModelFound", "StoreFound", "found_here", "looked"]

# A larger store is not read whole to tell that it is well: that takes more than a second.
CHECKED_BYTES = 64 * 2**20
# Taking theirs away takes files of the same names from ours, so that these are written again.
STRANGE = (
    "is somebody else's and has the same import name: `pip uninstall squidbot`, then in your clone: "
    "`pip install --force-reinstall --no-deps .`"
)


class ModelFound(NamedTuple):
    """One model of the settings.

    Attributes:
        alias: its name there.
        lease: the window that a session would get, with its source and how that came about; None where it gets none.
        tier: the label of the window's tier; "" where there is none.
        sized: how the window was worked out; None where it was not.
        loading: how the model is loaded; None where it is not a local one.
        problem: why something is wrong with it; "" where nothing is.
        prompt: the text of `prompt.mode` in that window; None for none.
        counted: why it is counted as it is, and what would count exactly; "" where the settings say so.
    """

    alias: str
    lease: Lease | None
    tier: str
    sized: Sized | None
    loading: Loading | None
    problem: str
    prompt: SystemPrompt | None = None
    counted: str = ""


class StoreFound(NamedTuple):
    """Where sessions are kept: the adapter, its file ("" in memory), and what is wrong with it ("" where nothing is).

    `health` says in a sentence what there is; "" where there is no file yet.
    """

    adapter: str
    path: str
    health: str
    problem: str


class Found(NamedTuple):
    """All of it; `packages` with their installed versions, None where not; `main` None where unknown.

    `strangers` are distributions of somebody else's that bring files of our import name.
    """

    loaded: Loaded
    probed: Probed
    main: MainMemory | None
    models: tuple[ModelFound, ...]
    packages: tuple[tuple[Package, str | None], ...]
    store: StoreFound
    facts: FactsFound
    hosts: tuple[HostFound, ...]
    strangers: tuple[str, ...]

    @property
    def problems(self) -> list[str]:
        """What has to be mended, in a sentence each."""
        wrong = [f"model {one.alias}: {one.problem}" for one in self.models if one.problem]
        wrong += [f"store: {self.store.problem}"] if self.store.problem else []
        is_own = self.facts.problem not in ("", self.store.problem)  # both may be in one file
        wrong += [f"{one} {STRANGE}" for one in self.strangers]
        return [*wrong, *([f"durable facts: {self.facts.problem}"] if is_own else [])]


def found_here(loaded: Loaded) -> Found:
    """Return what there is. Nothing is loaded, downloaded or written.

    Raises:
        ConfigError: an adapter or extension of the settings is not there.
    """
    with looked(loaded) as wired:
        probed = wired.models.probed()
        models = tuple(_model(wired, name) for name in ("", *loaded.settings.models))
        facts = facts_found(wired, loaded)
    packages = tuple((package, installed(package)) for package in PACKAGES)
    store = _store(loaded)
    return Found(
        loaded, probed, Machine().main_memory(), models, packages, store, facts, _hosts(store), (*strangers(),)
    )


@contextmanager
def looked(loaded: Loaded) -> Iterator[Wired]:
    """Give what settings wire, with sessions in memory: looking must not make a store.

    Raises:
        ConfigError: an adapter or extension of the settings is not there.
    """
    wired = wire(loaded.changed(store={"path": "", "adapter": None}))
    try:
        yield wired
    finally:
        wired.close()


def _model(wired: Wired, alias: str) -> ModelFound:
    lease = sized = loading = prompt = None
    problem = counted = ""
    try:
        sized = wired.models.sized(alias)
        lease = wired.lease(alias)
        counted = wired.why_counted(alias)
        wired.models.check(alias)
        if sized is not None or wired.loaded.settings.model(alias).adapter not in {None, *USUAL_KEYS}:
            loading = wired.models.loading(alias)
        if sized is not None and sized.window_tokens is None:
            problem = sized.reason
        mode, counter = wired.loaded.settings.prompt.mode, wired.meter(alias).physical
        prompt = wired.prompts.prompt(mode, lease.window_tokens, counter)
    except SquidbotError as error:
        problem = str(error)
    label = tier_of(lease.window_tokens).label if lease else ""
    return ModelFound(alias, lease, label, sized, loading, problem, prompt, counted)


def _store(loaded: Loaded) -> StoreFound:
    store = loaded.settings.store
    adapter = store.adapter or ("sqlite3" if store.path else "stdlib")
    if adapter == "stdlib":
        return StoreFound(adapter, "", "sessions live in memory, and are gone with the process", "")
    if adapter != "sqlite3":
        return _others(loaded, adapter)
    path = Path(loaded.absolute(store.path))
    if not path.exists():
        return StoreFound(adapter, str(path), "there is no file yet; the first session makes it", "")
    size_bytes = path.stat().st_size
    if size_bytes > CHECKED_BYTES:
        return StoreFound(adapter, str(path), f"{size_bytes:,} bytes; squidbot doctor reads them all", "")
    return _checked(path)


def _hosts(store: StoreFound) -> tuple[HostFound, ...]:
    path = store.path if store.adapter == "sqlite3" and Path(store.path).exists() else ""
    return tuple(hosts_found(forms_in(path) if path else {}, store.path, (Path.cwd(), Path.home())))


def _others(loaded: Loaded, adapter: str) -> StoreFound:
    """Return the store of an extension, which is not opened."""
    path = loaded.settings.store.path
    try:
        check_offered("store", collected(loaded)[1].stores, adapter, f"{loaded.source}.store.adapter")
    except ConfigError as error:
        return StoreFound(adapter, path, "", str(error))
    return StoreFound(adapter, path, "an extension's", "")


def _checked(path: Path) -> StoreFound:
    from squidbot.adapters.sqlite3.doctor import check  # noqa: PLC0415  # few stores are looked into

    try:
        health = check(str(path))
    except SquidbotError as error:
        return StoreFound("sqlite3", str(path), "", str(error))
    said = f"{count(len(health.sessions), 'session')}, {count(health.messages, 'message')}, {health.file_bytes:,} bytes"
    return StoreFound("sqlite3", str(path), said, "" if health.whole else "damaged; squidbot doctor says what")
