"""What each layer of a model keeps: the layout of its cache."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Layer"]


class Layer(NamedTuple):
    """One layer, as its cache sees it.

    Attributes:
        number: from 0.
        heads: query heads (`attention.head_count`).
        kv_heads: heads that are cached; 0: no attention cache here.
        key_length, value_length: elements of one cached head; of MLA the latent (`value_length` 0: no V is kept).
        window: tokens that a sliding layer keeps in sight; 0: all.
        recurrent: whether it keeps state that does not grow with the window.
        conv_elements, state_elements: f32 elements of that state, of one sequence (n_r, n_s).
    """

    number: int
    heads: int
    kv_heads: int
    key_length: int
    value_length: int
    window: int = 0
    recurrent: bool = False
    conv_elements: int = 0
    state_elements: int = 0
