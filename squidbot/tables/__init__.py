"""The tables of squidbot.toml as frozen settings: a class for each, a field for each key.

What a key does stands in docs/configuration.md. None means: as the strategy, the counter or the model has it.
"""

from squidbot.tables.answers import Allocation, Prompt, Words
from squidbot.tables.budget import Budget
from squidbot.tables.context import Context
from squidbot.tables.goals import Goals
from squidbot.tables.history import History, Images, Pressure, Snapshots, Summary
from squidbot.tables.journal import Journal
from squidbot.tables.models import Model, Prices
from squidbot.tables.session import SessionLength
from squidbot.tables.settings import Compat, Debug, Settings, Ui
from squidbot.tables.stores import Memory, Store
from squidbot.tables.windows import Gpu, Window

__all__ = [
    "Allocation",
    "Budget",
    "Compat",
    "Context",
    "Debug",
    "Goals",
    "Gpu",
    "History",
    "Images",
    "Journal",
    "Memory",
    "Model",
    "Pressure",
    "Prices",
    "Prompt",
    "SessionLength",
    "Settings",
    "Snapshots",
    "Store",
    "Summary",
    "Ui",
    "Window",
    "Words",
]
