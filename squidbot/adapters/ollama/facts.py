"""What the server says of a model: the facts of its file's header, where the file is, and the window it runs with."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.sizing.header import Header, LongArray, Tensor
from squidbot.core.sizing.tensor_types import TENSOR_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from squidbot.adapters.ollama.wire import Wire
    from squidbot.core.sizing.header import Value

__all__ = ["Facts", "named", "read_facts", "read_pulled", "read_version", "running_window"]

# As `Header` has it: longer arrays are kept as their type and length.
MOST_ITEMS = 4_096
# What says that a model is larger counts something else.
MOST_PARAMETERS = 10**15
# How GGUF numbers the types of an array's items.
_ITEM_TYPES: dict[type, int] = {bool: 7, int: 5, float: 6, str: 8}
_TYPE_IDS = {kind.name.upper(): number for number, kind in TENSOR_TYPES.items()}
# A model's file on the server's disk; whatever else a modelfile may name is none of ours.
_BLOB = re.compile(r'^FROM\s++"?(.*[/\\]blobs[/\\]sha256-[0-9a-f]{64})"?\s*$', re.MULTILINE)
_NUM_CTX = re.compile(r"^num_ctx\s+(\d{1,9})\s*$", re.MULTILINE)
_SIZE = re.compile(r"^(\d+(?:\.\d+)?)\s*([MB])$")


class Facts(NamedTuple):
    """What a server says of a model.

    Attributes:
        model: its name there.
        header: the metadata of its file, and its tensors where the server tells them.
        quantization: as Ollama names it, such as "Q4_K_M"; "" where unknown.
        parameters_billion: the size of the model; None where unknown.
        template: what its messages are rendered with; "" where unknown.
        capabilities: such as "completion", "tools", "thinking", "vision", "embedding"; () of servers before 2025.
        path: its file, where the server runs on this machine and the file can be seen; else "".
        own_num_ctx: the window that its modelfile asks for; None where it does not.
    """

    model: str
    header: Header
    quantization: str = ""
    parameters_billion: float | None = None
    template: str = ""
    capabilities: tuple[str, ...] = ()
    path: str = ""
    own_num_ctx: int | None = None

    @property
    def architecture(self) -> str:
        """The name by which llama.cpp knows the layout; "" where the server does not tell."""
        name = self.header.metadata.get("general.architecture")
        return name if isinstance(name, str) else ""

    @property
    def native_tokens(self) -> int | None:
        """The window that the model was trained with; None where unknown. Ollama serves no larger one."""
        tokens = self.header.metadata.get(f"{self.architecture}.context_length")
        return tokens if type(tokens) is int and tokens > 0 else None

    def can(self, capability: str) -> bool:
        """Return whether the model has a capability; a server that tells of none is believed to serve all."""
        return capability in self.capabilities or not self.capabilities


def read_facts(wire: Wire, model: str, *, whole: bool = False) -> Facts:
    """Return what the server says of a model; `whole`: the tensors, too, from which weights follow.

    Ollama leaves arrays out of a short answer. Where one of them is of the cache's layout the whole is asked for.

    Raises:
        LLMError: no server is there, or it has no such model.
    """
    told = wire.ask("/api/show", {"model": model, "verbose": whole})
    if not whole and _lacks_layout(_mapping(told, "model_info")):
        told = wire.ask("/api/show", {"model": model, "verbose": True})
    info, details = _mapping(told, "model_info"), _mapping(told, "details")
    capabilities = told.get("capabilities")
    own = _NUM_CTX.search(_text(told, "parameters"))
    return Facts(
        model=model,
        header=Header(_metadata(info), _tensors(told.get("tensors"))),
        quantization=_text(details, "quantization_level"),
        parameters_billion=_billions(info.get("general.parameter_count"), _text(details, "parameter_size")),
        template=_text(told, "template"),
        capabilities=tuple(map(str, capabilities)) if isinstance(capabilities, list) else (),
        path=_path(_text(told, "modelfile")) if wire.is_here else "",
        own_num_ctx=int(own[1]) if own else None,
    )


def read_pulled(wire: Wire) -> tuple[str, ...]:
    """Return the names of the models that the server has.

    Raises:
        LLMError: no server is there.
    """
    return tuple(_text(entry, "name") for entry in _entries(wire.ask("/api/tags")) if _text(entry, "name"))


def read_version(wire: Wire) -> str:
    """Return the server's version, such as "0.34.0"; "" where it does not tell.

    Raises:
        LLMError: no server is there.
    """
    return _text(wire.ask("/api/version"), "version")


def running_window(wire: Wire, model: str) -> tuple[bool, int | None]:
    """Return whether a model is in memory, and with which window, in tokens; None where the server does not tell.

    Raises:
        LLMError: no server is there.
    """
    for entry in _entries(wire.ask("/api/ps")):
        if named(model) in {named(_text(entry, "name")), named(_text(entry, "model"))}:
            tokens = entry.get("context_length")
            return True, tokens if type(tokens) is int and tokens > 0 else None
    return False, None


def named(model: str) -> str:
    """Return a model's name so that two names of one model are equal: a name without a tag means "latest"."""
    name = model.casefold()
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


def _entries(told: Mapping[str, object]) -> Iterable[dict[str, object]]:
    listed = told.get("models")
    return [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []


def _mapping(told: Mapping[str, object], key: str) -> dict[str, object]:
    value = told.get(key)
    return value if isinstance(value, dict) else {}


def _text(told: Mapping[str, object], key: str) -> str:
    value = told.get(key)
    return value if isinstance(value, str) else ""


def _lacks_layout(info: Mapping[str, object]) -> bool:
    layout = f"{info.get('general.architecture')}."
    return any(value is None and key.startswith(layout) for key, value in info.items())


def _metadata(info: Mapping[str, object]) -> dict[str, Value]:
    found = ((key, _value(value)) for key, value in info.items())
    return {key: value for key, value in found if value is not None}


def _value(value: object) -> Value | None:
    """Return a metadata value; None for what was left out, and for what GGUF has no form for."""
    if isinstance(value, bool | int | float | str):
        return value
    kinds = {type(item) for item in value} if isinstance(value, list) else set()
    if not isinstance(value, list) or len(kinds) > 1 or not kinds <= _ITEM_TYPES.keys():
        return None
    return tuple(value) if len(value) <= MOST_ITEMS else LongArray(_ITEM_TYPES[kinds.pop()], len(value))


def _tensors(told: object) -> tuple[Tensor, ...]:
    """Return all tensors, or none where one of them can't be read: half of them would make wrong sums."""
    made = [_tensor(entry) for entry in told] if isinstance(told, list) else []
    whole = [tensor for tensor in made if tensor is not None]
    return tuple(whole) if len(whole) == len(made) else ()


def _tensor(entry: object) -> Tensor | None:
    if not isinstance(entry, dict):
        return None
    name, shape, kind = entry.get("name"), entry.get("shape"), _TYPE_IDS.get(_text(entry, "type").upper())
    if not isinstance(name, str) or kind is None or not isinstance(shape, list) or not shape:
        return None
    return Tensor(name, tuple(shape), kind) if all(type(size) is int and size > 0 for size in shape) else None


def _billions(count: object, said: str) -> float | None:
    if type(count) is int and 0 < count < MOST_PARAMETERS:
        return count / 1e9
    size = _SIZE.match(said)
    return float(size[1]) / (1000 if size[2] == "M" else 1) if size else None


def _path(modelfile: str) -> str:
    found = _BLOB.search(modelfile)
    try:
        return found[1] if found and Path(found[1]).is_file() else ""
    except (OSError, ValueError):  # a name that no disk can have
        return ""
