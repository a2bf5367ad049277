"""The context that llama.cpp makes of batch and window, and how many tokens a layer's cache holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.errors import ConfigError
from squidbot.core.sizing.header import Layer, Loading
from squidbot.core.sizing.memory import ContextShape, cells, context_of, pad

from .stubs import stub, with_keys

LLAMA = stub("llama", context_length=131_072)
SLIDING = Layer(0, 4, 2, 64, 64, window=1024)


def test_context_is_as_asked_when_all_is_even() -> None:
    """A window in whole steps stays, a batch has its defaults."""
    assert context_of(Loading(n_ctx=8192), LLAMA) == ContextShape(8192, 2048, 512, 8192, 1, 512, 512)


@pytest.mark.parametrize(("asked", "given_"), [(1, 256), (256, 256), (257, 512), (5000, 5120)])
def test_window_is_rounded_up_to_whole_steps(asked: int, given_: int) -> None:
    """Of 256 tokens, with flash attention and without."""
    for flash_attn in (True, False):
        assert context_of(Loading(n_ctx=asked, flash_attn=flash_attn), LLAMA).n_ctx == given_


def test_batches_are_cut_to_the_window_that_was_asked_for() -> None:
    """Before it is rounded up; a physical batch of 0 is as large as the logical one."""
    context = context_of(Loading(n_ctx=300, n_batch=2048, n_ubatch=0), LLAMA)
    assert (context.n_ctx, context.n_batch, context.n_ubatch, context.n_tokens) == (512, 300, 300, 300)


def test_sequences_share_the_window_evenly() -> None:
    """Each has its part, rounded up: what is leased is one part, and all of them may be more than was asked for."""
    context = context_of(Loading(n_ctx=8192, n_seq_max=3), LLAMA)
    assert (context.n_seq, context.n_ctx, context.streams) == (2816, 8448, 3)
    assert context.n_tokens == 513


def test_sequences_share_all_of_it_when_unified() -> None:
    """One cache for all: each sequence may take the whole window."""
    context = context_of(Loading(n_ctx=8192, n_seq_max=3, kv_unified=True), LLAMA)
    assert (context.n_seq, context.n_ctx, context.streams) == (8192, 8192, 1)


def test_logits_are_made_for_as_many_tokens_as_wanted() -> None:
    """For all of a batch, or fewer."""
    assert context_of(Loading(n_ctx=8192), LLAMA).n_outputs == 512
    assert context_of(Loading(n_ctx=8192, n_outputs_max=1), LLAMA).n_outputs == 1
    assert context_of(Loading(n_ctx=8192, n_outputs_max=4096), LLAMA).n_outputs == 512


@pytest.mark.parametrize("loading", [Loading(n_ctx=-1), Loading(n_batch=0, n_ubatch=0), Loading(n_seq_max=0)])
def test_context_is_refused_when_nothing_is_left(loading: Loading) -> None:
    """No window, no batch, no sequence."""
    with pytest.raises(ConfigError, match="must be 1 or more"):
        context_of(loading, LLAMA)


@pytest.mark.parametrize(
    ("loading", "held"),
    [
        (Loading(n_ctx=8192), 1536),
        (Loading(n_ctx=8192, n_ubatch=64), 1280),
        (Loading(n_ctx=1280), 1280),
        (Loading(n_ctx=8192, n_seq_max=2), 1536),
        (Loading(n_ctx=8192, n_seq_max=2, kv_unified=True), 2560),
        (Loading(n_ctx=8192, swa_full=True), 8192),
    ],
)
def test_sliding_layer_holds_its_window_and_one_batch(loading: Loading, held: int) -> None:
    """In whole steps, never more than all; unified, a window for each sequence; in full, if so asked."""
    assert cells(SLIDING, context_of(loading, LLAMA), loading) == held


def test_other_layers_hold_all_of_the_window() -> None:
    """Of one sequence."""
    loading = Loading(n_ctx=8192, n_seq_max=2)
    assert cells(SLIDING._replace(window=0), context_of(loading, LLAMA), loading) == 4096


@given(
    n_ctx=st.integers(1, 2**20),
    n_seq_max=st.integers(1, 16),
    n_ubatch=st.integers(1, 4096),
    kv_unified=st.booleans(),
    window=st.sampled_from([0, 128, 4096]),
)
def test_cells_are_never_fewer_for_a_larger_window(
    n_ctx: int, n_seq_max: int, n_ubatch: int, *, kv_unified: bool, window: int
) -> None:
    """What bisection relies on; and what is leased is in whole steps, and its cells hold no more than it."""
    small = Loading(n_ctx=n_ctx, n_seq_max=n_seq_max, n_ubatch=n_ubatch, kv_unified=kv_unified)
    large = Loading(n_ctx=n_ctx + 256, n_seq_max=n_seq_max, n_ubatch=n_ubatch, kv_unified=kv_unified)
    layer = SLIDING._replace(window=window)
    one, other = context_of(small, LLAMA), context_of(large, LLAMA)
    assert one.n_seq <= other.n_seq
    assert one.n_seq % 256 == 0 == one.n_ctx % 256
    assert one.n_tokens % n_seq_max == 0
    assert 0 < cells(layer, one, small) <= min(cells(layer, other, large), one.n_seq)


def test_pad_is_the_next_multiple() -> None:
    """At least the number itself."""
    assert [pad(number, 32) for number in (0, 1, 32, 33)] == [0, 32, 32, 64]


def test_context_says_when_the_trained_window_is_missing() -> None:
    """Only where it is needed."""
    header = with_keys(LLAMA, context_length=None)
    assert context_of(Loading(n_ctx=512), header).n_seq == 512
    with pytest.raises(Exception, match=r"llama\.context_length is missing"):
        context_of(Loading(), header)
