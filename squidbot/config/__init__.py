"""The settings: squidbot.toml, the environment, profiles and prices."""

from squidbot.config.checks import meant, structured
from squidbot.config.loading import Loaded, Origin, load_settings
from squidbot.config.schema import ModelTable, Settings, StoreTable, core_values

__all__ = [
    "Loaded",
    "ModelTable",
    "Origin",
    "Settings",
    "StoreTable",
    "core_values",
    "load_settings",
    "meant",
    "structured",
]
