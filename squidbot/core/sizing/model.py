"""What a model's header says of memory, worked out once, for any window on any devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.sizing.compute import shape_of
from squidbot.core.sizing.header import Header, Tensor
from squidbot.core.sizing.layers import blocks_of, layers_of
from squidbot.core.sizing.placement import held_bytes
from squidbot.core.sizing.tensor_types import tensor_bytes

if TYPE_CHECKING:
    from squidbot.core.sizing.compute import Shape
    from squidbot.core.sizing.context import CardKind
    from squidbot.core.sizing.layers import Layer

__all__ = ["Form", "Model", "model_of"]

# The shape and the type of a tensor: what its bytes follow from.
Form = tuple[tuple[int, ...], int]


class Model(NamedTuple):
    """A model, as far as its memory goes.

    Attributes:
        header: all of it; outside: the same without the tensors of layers.
        layers: what each keeps, in order; blocks that only predict further tokens are left out.
        blocks: all of the file; the output counts as one more behind them.
        shape: what the compute buffer depends on.
        trained_tokens: the window it was trained with; 0 where the file does not say.
        forms: of each layer, how many tensors there are of each shape and type.
        largest_bytes: of each layer, its largest tensor.
        output_bytes: the matrix that makes logits.
    """

    header: Header
    outside: Header
    layers: tuple[Layer, ...]
    blocks: int
    shape: Shape
    trained_tokens: int
    forms: tuple[dict[Form, int], ...]
    largest_bytes: tuple[int, ...]
    output_bytes: int

    def layer_bytes(self, kind: CardKind) -> list[int]:
        """Return the bytes of weights that each layer takes on a device of that kind."""
        held: dict[Form, int] = {}
        for form in {form for forms in self.forms for form in forms}:
            shape, type_id = form
            held[form] = held_bytes(tensor_bytes(Tensor("", shape, type_id)), type_id, shape[0], kind)
        return [sum(count * held[form] for form, count in forms.items()) for forms in self.forms]


def model_of(header: Header) -> Model:
    """Return what the header of a model says of memory.

    Raises:
        SizingError: the layout of its cache is unknown, or the type of a tensor.
        ModelFileError: a key that is needed is missing or out of its range.
    """
    layers = layers_of(header)
    blocks, _ = blocks_of(header)
    forms, largest, outside = _sorted(header, len(layers))
    matrix = header.tensor("output.weight") or header.tensor("token_embd.weight")
    return Model(
        header,
        Header(header.metadata, tuple(outside), header.file_bytes, header.parts),
        layers,
        blocks,
        shape_of(header, layers),
        header.number("context_length", 0),
        forms,
        largest,
        tensor_bytes(matrix) if matrix else 0,
    )


def _sorted(header: Header, layers: int) -> tuple[tuple[dict[Form, int], ...], tuple[int, ...], list[Tensor]]:
    """Return the forms and the largest tensor of each layer, and the tensors that are in none of them."""
    forms: tuple[dict[Form, int], ...] = tuple({} for _ in range(layers))
    outside: list[Tensor] = []
    sizes: dict[Form, int] = {}
    for tensor in header.tensors:
        place, _, rest = tensor.name.partition(".")
        number = rest.partition(".")[0] if place == "blk" else ""
        if not number.isdecimal() or int(number) >= layers:
            outside.append(tensor)
        else:
            form, own = (tensor.shape, tensor.type_id), forms[int(number)]
            if form not in sizes:
                sizes[form] = tensor_bytes(tensor)
            own[form] = own.get(form, 0) + 1
    return forms, tuple(max((sizes[form] for form in own), default=0) for own in forms), outside
