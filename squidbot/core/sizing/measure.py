"""How much memory a model takes: its parts put together for each device, for one window after the other."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.sizing.caches import kept
from squidbot.core.sizing.cells import CELLS_STEP, cells, context_of, uses_flash
from squidbot.core.sizing.compute import MIB, Compute, Seat, Work, beside_of, compute_of
from squidbot.core.sizing.memory import Held, Sizing
from squidbot.core.sizing.placement import CPU, held_bytes, place, weights_bytes
from squidbot.core.sizing.tensor_types import row_bytes
from squidbot.core.sizing.validity import check_loading

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from squidbot.core.sizing.cells import Context
    from squidbot.core.sizing.context import Card, CardKind, Loading
    from squidbot.core.sizing.model import Model

__all__ = ["DEFAULT_RESERVED", "Measure", "Reserved", "measure"]


class Reserved(NamedTuple):
    """What is set aside beside what llama.cpp takes, in bytes.

    Attributes:
        margin_bytes: what stays free on each device for what is not counted: the driver's context, workspaces, pools
            (1,536 MiB: C12). Main memory has one only where it is the only device.
        extra_bytes: of further files that are loaded, too, such as a vision projector; on the first device.
    """

    margin_bytes: int = 1536 * MIB
    extra_bytes: int = 0


DEFAULT_RESERVED = Reserved()


def measure(
    model: Model, loading: Loading, cards: Sequence[Card] = (), reserved: Reserved = DEFAULT_RESERVED
) -> Sizing:
    """Return what a model takes on each device; nothing is loaded.

    Args:
        model: the model.
        loading: how it is to be loaded; `n_ctx` 0: with the window it was trained with.
        cards: the GPUs in the order of their numbers; a card "cpu" among them says what main memory has free. Without
            a GPU everything lies in main memory.
        reserved: what is set aside besides.

    Raises:
        ConfigError: llama.cpp would not load it so: a type of the cache, flash attention, a number out of its range.
        SizingError: the type of a tensor is unknown.
        ModelFileError: a key that is needed is missing or out of its range.
    """
    return Measure(model, loading, cards, reserved).at(loading.n_ctx)


class _Group(NamedTuple):
    """Tensors of the context that are alike: of that type and row; rows 0: of attention, as many as there are cells."""

    type_id: int
    row: int
    window: int
    rows: int


class Measure:
    """A model on its devices, all but the window decided: asked for one window after the other."""

    def __init__(
        self, model: Model, loading: Loading, cards: Sequence[Card] = (), reserved: Reserved = DEFAULT_RESERVED
    ) -> None:
        """Place layers and weights; parameters and exceptions are those of `measure`."""
        check_loading(model.header, loading)
        self._model, self._loading, self._cards, self._reserved = model, loading, tuple(cards), reserved
        self._gpus = [number for number, card in enumerate(cards) if card.kind != "cpu"]
        # Of any window: the rows of attention are made anew for each that is asked about.
        self._kept = kept(model.header, replace(loading, n_ctx=CELLS_STEP))
        kinds: set[CardKind] = {"cpu", *(card.kind for card in cards)}
        self._layer_bytes = {kind: model.layer_bytes(kind) for kind in kinds}
        # Of the layers that cache, one for each window: they have the same number of cells.
        self._windows = {layer.window: layer for layer in model.layers if layer.kv_heads}
        self._put(loading)

    def _put(self, loading: Loading) -> None:
        self._loading = loading
        self._places = place(self._model.blocks, loading, self._cards)
        self._weights = self._weigh()
        self._groups = self._group()
        self._growth = self._grows()
        self._partial = bool(self._gpus) and CPU in self._places
        self._copied_bytes = self._copied()
        self._main_rows = self._rows_in_main()

    def with_layers(self, n_gpu_layers: int) -> Measure:
        """Return the same with so many layers on the GPUs; cheaper than from the beginning."""
        other = copy(self)
        other._put(replace(self._loading, n_gpu_layers=n_gpu_layers))  # noqa: SLF001  # its own kind
        return other

    def at(self, n_ctx: int) -> Sizing:
        """Return what the model takes with that window, in tokens of all sequences; 0: as trained.

        Raises:
            ConfigError: no window, batch or sequence is left.
            ModelFileError: the window that it was trained with is asked for, and missing in the file.
        """
        model, loading = self._model, replace(self._loading, n_ctx=n_ctx)
        context = context_of(loading, model.header)
        room = {window: cells(layer, context, loading) for window, layer in self._windows.items()}
        work = self._work(context, room)
        in_main = max((room[window] * row for window, row in self._main_rows.items()), default=0) * context.streams
        devices = tuple(
            self._held(number, context, room, self._compute(number, work, in_main)) for number in (*self._gpus, CPU)
        )
        name = model.shape.architecture
        return Sizing(name, model.blocks, model.trained_tokens, loading, context, devices, self._growth)

    def _weigh(self) -> dict[int, int]:
        """Return the weights of each device: tensors of blocks by their block, the others one by one."""
        weights = weights_bytes(self._model.outside, self._loading, self._cards)
        for layer, number in zip(self._model.layers, self._places, strict=False):  # others stand behind the layers
            weights[number] = weights.get(number, 0) + self._layer_bytes[self._kind(number)][layer.number]
        return weights

    def _group(self) -> dict[int, dict[_Group, int]]:
        """Return by device how many tensors of each group its part of the context has."""
        windows = [layer.window for layer in self._model.layers]
        found: dict[int, dict[_Group, int]] = {}
        for one in self._kept:
            groups = found.setdefault(self._places[one.layer], {})
            group = _Group(one.type_id, one.row, windows[one.layer], 0 if one.attention else one.rows)
            groups[group] = groups.get(group, 0) + 1
        return found

    def _grows(self) -> int:
        """Return the bytes by which the context grows with each token of a window."""
        return sum(
            count * row_bytes(group.type_id, group.row)
            for groups in self._groups.values()
            for group, count in groups.items()
            if not group.rows and (not group.window or self._loading.swa_full)
        )

    def _copied(self) -> int:
        """Return the bytes of the largest tensor that is copied to a GPU for one operation."""
        model = self._model
        sizes = (model.largest_bytes[layer.number] for layer in model.layers if self._places[layer.number] == CPU)
        return max(sizes, default=0) + (model.output_bytes if self._places[-1] == CPU else 0)

    def _card(self, number: int) -> Card | None:
        if number != CPU:
            return self._cards[number]
        return next((card for card in self._cards if card.kind == "cpu"), None)

    def _rows_in_main(self) -> dict[int, int]:
        """Return by window the most bytes that a token takes in one layer of main memory."""
        rows: dict[int, int] = {}
        for one in self._kept:
            if one.attention and self._places[one.layer] == CPU:
                rows[one.layer] = rows.get(one.layer, 0) + row_bytes(one.type_id, one.row)
        found: dict[int, int] = {}
        for number, size in rows.items():
            window = self._model.layers[number].window
            found[window] = max(found.get(window, 0), size)
        return found

    def _kind(self, number: int) -> CardKind:
        return "cpu" if number == CPU else self._cards[number].kind

    def _work(self, context: Context, room: Mapping[int, int]) -> Work:
        loading = self._loading
        return Work(
            context.n_tokens,
            context.n_outputs,
            context.n_seq,
            max(room.values(), default=context.n_seq),
            max((tokens for window, tokens in room.items() if window), default=0),
            context.streams,
            uses_flash(self._model.header, loading),
            loading.type_k != "f16",
            loading.type_v != "f16",
            loading.swa_full,
        )

    def _held(self, number: int, context: Context, room: Mapping[int, int], compute: Compute) -> Held:
        kind, gpus = self._kind(number), self._gpus
        kv_bytes = recurrent_bytes = 0
        for group, count in self._groups.get(number, {}).items():
            rows = group.rows or room[group.window] * context.streams
            taken = count * held_bytes(row_bytes(group.type_id, group.row) * rows, group.type_id, group.row, kind)
            if group.rows:
                recurrent_bytes += taken
            else:
                kv_bytes += taken
        first = number == (gpus[0] if gpus else CPU)
        card = self._card(number)
        return Held(
            number,
            card.name if card else "",
            kind,
            self._places.count(number),
            self._weights.get(number, 0),
            kv_bytes,
            recurrent_bytes,
            compute,
            self._reserved.extra_bytes if first else 0,
            0 if number == CPU and gpus else self._reserved.margin_bytes,
            card.free_bytes if card else None,
        )

    def _compute(self, number: int, work: Work, cached_bytes: int) -> Compute:
        shape, places = self._model.shape, self._places
        if number not in places and number != CPU and not self._partial:
            return Compute(0, 0, "guarded")
        seat = Seat(
            self._kind(number),
            logits=places[-1] in (number, CPU),
            devices=max(len(self._gpus), 1),
            first=number == places[0],
            partial=self._partial,
            copied_bytes=self._copied_bytes,
            cached_bytes=cached_bytes,
        )
        return beside_of(shape, work, seat) if number == CPU and self._gpus else compute_of(shape, work, seat)
