"""How a model is to be loaded, in llama.cpp's words."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Card", "CardKind", "Definition", "Loading", "Served"]

CardKind = Literal["cuda", "hip", "metal", "vulkan", "sycl", "cpu"]


class Card(NamedTuple):
    """One device to put a model on: which rules it allocates by, and its free bytes; "cpu" is main memory.

    What a `unified` one takes is taken from main memory.
    """

    kind: CardKind
    free_bytes: int
    name: str = ""
    unified: bool = False


@dataclass(frozen=True, slots=True)
class Loading:
    """The parameters of llama.cpp that decide how much memory a model takes, by its own names.

    Attributes:
        n_ctx: the window that is asked for, in tokens; 0: as trained.
        n_batch, n_ubatch: tokens of a logical and of a physical batch.
        n_seq_max: how many sequences the cache serves.
        kv_unified: one cache for all sequences, else one for each.
        type_k, type_v: the types of cached keys and values: f16, bf16, q8_0, q5_1, q5_0, q4_1, q4_0, iq4_nl.
        flash_attn: whether flash attention is on.
        swa_full: whether sliding layers keep the whole window.
        n_gpu_layers: how many layers, the output counted as one, are on GPUs; -1: all.
        tensor_split: the devices' shares; (): by their free bytes.
        n_outputs_max: for how many tokens of a batch logits are made; None: for all.
        n_rs_seq: further rows of recurrent state for each sequence.
    """

    n_ctx: int = 0
    n_batch: int = 2048
    n_ubatch: int = 512
    n_seq_max: int = 1
    kv_unified: bool = False
    type_k: str = "f16"
    type_v: str = "f16"
    flash_attn: bool = True
    swa_full: bool = False
    n_gpu_layers: int = -1
    tensor_split: tuple[float, ...] = ()
    n_outputs_max: int | None = None
    n_rs_seq: int = 0


class Definition(NamedTuple):
    """A model, as an adapter is asked to open it.

    Attributes:
        alias: its name in the settings.
        path: its file, absolute, the first one of several; "" where a server has it.
        loading: how; `n_ctx` is always set.
        model: what its server calls it; "" where it is a file.
        url: its server's; "" for the adapter's usual one.
        api: which way its server is asked, where there are several; "" for the adapter's usual one.
        key_env: the variable of the environment that holds the server's key; "" for the adapter's usual one.
        options: what goes into each request as it is, beside what requests say anyway.
        max_output_tokens: the longest answer; None where unknown.
        checked: whether its file is known to load in this way; where it is not, a runtime may end the process over it.
    """

    alias: str
    path: str
    loading: Loading
    model: str = ""
    url: str = ""
    max_output_tokens: int | None = None
    checked: bool = False
    api: str = ""
    key_env: str = ""
    options: Mapping[str, object] = MappingProxyType({})


class Served(NamedTuple):
    """What a runtime really set up, read back from it; None where it does not tell.

    Attributes:
        window_tokens: of one sequence.
        weights_bytes, kv_bytes, recurrent_bytes, compute_bytes: by the name of the runtime's buffer type ("CUDA0").
    """

    window_tokens: int | None
    weights_bytes: dict[str, int] | None = None
    kv_bytes: dict[str, int] | None = None
    recurrent_bytes: dict[str, int] | None = None
    compute_bytes: dict[str, int] | None = None
