"""What a model file says of itself, as values: metadata and the table of tensors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.errors import ModelFileError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Header", "LongArray", "Tensor", "Value"]


class Tensor(NamedTuple):
    """One tensor: `shape` with the fastest dimension first (ne0, ne1, ...), `type_id` as GGUF numbers its types."""

    name: str
    shape: tuple[int, ...]
    type_id: int


class LongArray(NamedTuple):
    """An array that was not kept, because it is long: the GGUF type of its items, and how many there are."""

    type_id: int
    length: int


# A metadata value. Arrays of up to 4,096 items are tuples of one type.
Value = bool | int | float | str | tuple[bool | int | float | str, ...] | LongArray


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a model, of all its parts.

    Attributes:
        metadata: by full key, such as "general.architecture" or "llama.block_count".
        tensors: in the order of the file, those of further parts behind.
        file_bytes: of all parts together; 0 where unknown.
        parts: how many files the model is in.
    """

    metadata: Mapping[str, Value]
    tensors: tuple[Tensor, ...]
    file_bytes: int = 0
    parts: int = 1
    _by_name: dict[str, Tensor] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_name", {tensor.name: tensor for tensor in self.tensors})

    @property
    def architecture(self) -> str:
        """The name by which llama.cpp knows the layout.

        Raises:
            ModelFileError: the file names none.
        """
        name = self.metadata.get("general.architecture")
        if not isinstance(name, str) or not name:
            raise ModelFileError("general.architecture is missing; this is no model that llama.cpp loads")
        return name

    def tensor(self, name: str) -> Tensor | None:
        """Return the tensor of that name, or None."""
        return self._by_name.get(name)

    def value(self, key: str) -> Value | None:
        """Return the value of "<architecture>.<key>", or None where the file has none."""
        return self.metadata.get(f"{self.architecture}.{key}")

    def number(self, key: str, default: int | None = None) -> int:
        """Return the whole number of "<architecture>.<key>"; `default` where the file has none.

        Raises:
            ModelFileError: the value is no whole number of 0 or more, or it is missing and there is no default.
        """
        value = self.value(key)
        if value is None and default is not None:
            return default
        return self._whole(key, value)

    def numbers(self, key: str, layers: int, default: int | None = None) -> tuple[int, ...]:
        """Return "<architecture>.<key>" for each of `layers` layers: one number stands for all, an array for each.

        Raises:
            ModelFileError: the value is no whole number of 0 or more, an array is shorter than the layers are, or it is
                missing and there is no default.
        """
        value = self.value(key)
        if not isinstance(value, tuple):
            return (self.number(key, default),) * layers
        if len(value) < layers:
            raise ModelFileError(f"{self.architecture}.{key} has {len(value)} items for {layers} layers")
        return tuple(self._whole(key, item) for item in value[:layers])

    def _whole(self, key: str, value: Value | None) -> int:
        if not isinstance(value, int) or value < 0:
            said = "is missing" if value is None else f"must be a whole number of 0 or more, not {value!r:.40}"
            raise ModelFileError(f"{self.architecture}.{key} {said}")
        return int(value)
