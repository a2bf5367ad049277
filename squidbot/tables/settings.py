"""`Settings`: all tables of squidbot.toml as one value."""

from __future__ import annotations

import attrs

from squidbot.checks import NO_NAMES, Names, Place
from squidbot.prices import Entry
from squidbot.profiles import DEFAULT
from squidbot.tables.answers import Allocation, Prompt
from squidbot.tables.budget import Budget
from squidbot.tables.context import Context
from squidbot.tables.goals import Goals
from squidbot.tables.history import History, Images, Pressure, Snapshots, Summary
from squidbot.tables.journal import Journal
from squidbot.tables.models import Model, Prices
from squidbot.tables.session import SessionLength
from squidbot.tables.stores import Memory, Store
from squidbot.tables.windows import Gpu, Window

__all__ = ["Compat", "Debug", "Settings", "Ui"]

NO_FILE = Place("")


@attrs.frozen
class Compat:
    """`[compat]`: how other systems are met."""

    env: bool = False


@attrs.frozen
class Debug:
    """`[debug]`: what is written for who looks for a fault."""

    turn_log: Place = NO_FILE


@attrs.frozen
class Ui:
    """`[ui]`: what people are shown of a conversation."""

    show_context_messages: bool = False


@attrs.frozen
class Settings:
    """All of squidbot.toml; `profile` is the name of what stands below it (profiles.toml)."""

    profile: str = DEFAULT
    window: Window = attrs.Factory(Window)
    gpu: Gpu = attrs.Factory(Gpu)
    models: dict[str, Model] = attrs.Factory(dict)
    prices: Prices = attrs.Factory(Prices)
    price_table: dict[str, Entry] = attrs.Factory(dict)
    budget: Budget = attrs.Factory(Budget)
    allocation: Allocation = attrs.Factory(Allocation)
    prompt: Prompt = attrs.Factory(Prompt)
    pressure: Pressure = attrs.Factory(Pressure)
    history: History = attrs.Factory(History)
    images: Images = attrs.Factory(Images)
    session: SessionLength = attrs.Factory(SessionLength)
    summary: Summary = attrs.Factory(Summary)
    snapshots: Snapshots = attrs.Factory(Snapshots)
    memory: Memory = attrs.Factory(Memory)
    journal: Journal = attrs.Factory(Journal)
    goals: Goals = attrs.Factory(Goals)
    context: Context = attrs.Factory(Context)
    store: Store = attrs.Factory(Store)
    observers: Names = NO_NAMES
    extensions: Names = NO_NAMES
    compat: Compat = attrs.Factory(Compat)
    debug: Debug = attrs.Factory(Debug)
    ui: Ui = attrs.Factory(Ui)

    def model(self, alias: str) -> Model:
        """Return what is known of a model; nothing but defaults for one that is not named."""
        return self.models.get(alias, Model())
