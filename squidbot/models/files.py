"""Where a model's file is, and how the settings want it loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.core.errors import ConfigError, ModelFileError
from squidbot.core.sizing.context import Loading

if TYPE_CHECKING:
    from squidbot.config import Loaded
    from squidbot.core.sizing.header import Header
    from squidbot.tables import Model

__all__ = ["header_of", "loading_of", "model_file", "projector_bytes"]


def model_file(loaded: Loaded, alias: str) -> str:
    """Return the absolute path of a model's file, the first one of several; "" for a model that a server has.

    A model of a hub is looked for in the folders to which the usual tools download; nothing is ever downloaded.

    Raises:
        ConfigError: the settings name half a file, or two; or the file of a hub is not there.
    """
    model, place = loaded.settings.model(alias), f"{loaded.source}.models[{alias!r}]"
    if (model.repo_id is None) != (model.filename is None):
        missing = "filename" if model.filename is None else "repo_id"
        raise ConfigError(f"repo_id and filename name a model together; {missing} is missing @ {place}")
    if model.path is not None and model.repo_id is not None:
        raise ConfigError(f"path and repo_id both name a file; keep one @ {place}")
    if model.path is not None:
        return loaded.absolute(model.path)
    if model.repo_id is None or model.filename is None:
        return ""
    from squidbot.adapters.hub import find_model  # noqa: PLC0415  # few models are from a hub

    try:
        return str(find_model(model.repo_id, model.filename))
    except ConfigError as error:
        raise ConfigError(f"{error} @ {place}") from error


def header_of(loaded: Loaded, alias: str) -> Header | None:
    """Return the header of a model's file; None for a model that a server has.

    Raises:
        ConfigError: as `model_file` does.
        ModelFileError: the file is damaged, or not there.
    """
    path = model_file(loaded, alias)
    if not path:
        return None
    from squidbot.adapters.gguf import read_header  # noqa: PLC0415  # a model that a server has needs none

    try:
        return read_header(path)
    except ModelFileError as error:
        raise ModelFileError(f"{error} @ {loaded.source}.models[{alias!r}]") from error


def loading_of(loaded: Loaded, model: Model, n_ctx: int = 0) -> Loading:
    """Return how a model is to be loaded with a window of `n_ctx` tokens (0: as trained); "auto" layers are all."""
    own = Loading()
    kv_type = model.kv_type or loaded.settings.window.kv_type
    return Loading(
        n_ctx=n_ctx,
        n_batch=model.n_batch or own.n_batch,
        n_ubatch=model.n_ubatch or own.n_ubatch,
        type_k=kv_type,
        type_v=model.kv_type_v or kv_type,
        flash_attn=model.flash_attn,
        n_gpu_layers=max(model.n_gpu_layers, -1),
        tensor_split=model.tensor_split,
    )


def projector_bytes(loaded: Loaded, alias: str) -> int:
    """Return the bytes of a vision model's projector; 0 where the settings name none.

    Raises:
        ConfigError: the file is not there.
        ModelFileError: the file is damaged.
    """
    projector = loaded.settings.model(alias).projector
    if not projector:
        return 0
    from squidbot.adapters.gguf import read_header  # noqa: PLC0415  # as above

    return read_header(loaded.absolute(projector)).file_bytes
