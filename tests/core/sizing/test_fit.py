"""The largest window that fits, against published answers, and what would fit where none does."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from squidbot.core.errors import ConfigError
from squidbot.core.sizing.fit import Alternative, Bounds, Fit, WindowSearch
from squidbot.core.sizing.header import Card, Loading
from squidbot.core.sizing.memory import CPU, MIB, ModelLayout, ReservedMemory, SizingCalculator, measure, model_of

from .models import MODELS, header_of
from .stubs import stub, with_keys

# The largest window by free MiB of one card, or the layers on it with which 2,048 tokens fit.
ANSWERS: dict[str, tuple[int | str, ...]] = {
    "Llama-3.1-8B": (8192, 71_680, 131_072, 131_072),
    "Qwen2.5-32B": ("17 layers", "42 layers", 7168, 32_768),
    "Gemma-3-27B": ("16 layers", "46 layers", 51_200, 131_072),
    "Mistral-Small-24B": ("15 layers", "38 layers", 32_768, 32_768),
    "Phi-4": ("25 layers", 16_384, 16_384, 16_384),
    "gpt-oss-20b": ("12 layers", 103_424, 131_072, 131_072),
    "Qwen3-30B-A3B": ("16 layers", "39 layers", 40_960, 40_960),
    "Llama-3.3-70B": ("9 layers", "24 layers", "40 layers", "55 layers"),
}
FREE_MIB = (7600, 15_500, 23_600, 31_500)
BY_NAME = {name: model_of(header_of(dims)) for name, dims in MODELS.items()}
LLAMA = BY_NAME["Llama-3.1-8B"]
PLAIN = Loading()


def on(free_mib: float, model: ModelLayout = LLAMA, loading: Loading = PLAIN, **bounds: int | None) -> Fit:
    """Return what fits on one card."""
    return WindowSearch(model, loading, [card(free_mib)], Bounds(**bounds)).fit()  # type: ignore[arg-type]


def layers(found: Fit) -> int:
    """Return how many layers would do where nothing fits; -1 where not even none."""
    return -1 if found.n_gpu_layers is None else found.n_gpu_layers


def card(free_mib: float) -> Card:
    """Return a card with so much free."""
    return Card("cuda", int(free_mib * MIB))


@pytest.mark.parametrize("name", ANSWERS)
def test_fit_gives_the_published_answers(name: str) -> None:
    """Eight models on four cards: the same window, or as many layers (B-06)."""
    found = [on(free, BY_NAME[name]) for free in FREE_MIB]
    assert tuple(one.window_tokens or f"{one.n_gpu_layers} layers" for one in found) == ANSWERS[name]


@given(name=st.sampled_from(sorted(MODELS)), free_mib=st.integers(0, 500_000), margin_mib=st.integers(0, 4000))
def test_window_that_is_found_fits_and_the_next_does_not(name: str, free_mib: int, margin_mib: int) -> None:
    """It is the largest: 1,024 tokens more are too much, or more than the model was trained with (B-06)."""
    model, reserved, cards = BY_NAME[name], ReservedMemory(margin_mib * MIB), [card(free_mib)]
    found = WindowSearch(model, Loading(), cards, Bounds(1024), reserved).fit()
    if found.window_tokens is None:
        assert not measure(model, Loading(n_ctx=1024), cards, reserved).fits
        assert (found.bound_by, found.sizing.window_tokens) == (None, 1024)
        assert found.reason
        return
    assert found.window_tokens % 1024 == 0
    assert found.sizing == measure(model, Loading(n_ctx=found.window_tokens), cards, reserved)
    assert found.sizing.fits
    top = min(model.trained_tokens, 131_072)
    beyond = measure(model, Loading(n_ctx=found.window_tokens + 1024), cards, reserved)
    assert found.window_tokens == top or not beyond.fits
    assert found.bound_by in ({"native-limit", "window.max"} if found.window_tokens == top else {"vram"})


@given(
    name=st.sampled_from(sorted(MODELS)),
    free_mib=st.integers(0, 400_000),
    more_mib=st.integers(0, 4000),
    way=st.sampled_from([Loading(), Loading(flash_attn=False), Loading(type_k="q8_0", type_v="q8_0", n_ubatch=256)]),
)
def test_more_free_memory_never_gives_less(name: str, free_mib: int, more_mib: int, way: Loading) -> None:
    """No smaller window, and no fewer layers; and a larger margin is the same as less that is free."""
    model = BY_NAME[name]
    less, more = on(free_mib, model, way), on(free_mib + more_mib, model, way)
    if more.window_tokens is None:
        assert less.window_tokens is None
        assert layers(less) <= layers(more)
    elif less.window_tokens is not None:
        assert less.window_tokens <= more.window_tokens
    wider = WindowSearch(
        model, way, [card(free_mib + more_mib)], Bounds(), ReservedMemory((1536 + more_mib) * MIB)
    ).fit()
    assert wider.window_tokens == less.window_tokens


@given(name=st.sampled_from(sorted(MODELS)), free_mib=st.integers(0, 60_000), cap=st.integers(1, 200_000))
@example(name="Phi-4", free_mib=60_000, cap=10_000)
@example(name="Phi-4", free_mib=15_500, cap=200_000)
@example(name="Phi-4", free_mib=60_000, cap=2047)
def test_cap_gives_the_smaller_of_both(name: str, free_mib: int, cap: int) -> None:
    """The window is what fits without a cap, or the last step up to it; a cap below the least is tried as it is."""
    model = BY_NAME[name]
    capped, free = on(free_mib, model, cap_tokens=cap), on(free_mib, model)
    if cap < 2048:
        fits = measure(model, Loading(n_ctx=cap), [card(free_mib)]).fits
        assert (capped.window_tokens, capped.bound_by) == ((cap, "model-cap") if fits else (None, None))
    elif free.window_tokens is None:
        assert capped.window_tokens is None
    else:
        assert capped.window_tokens == min(free.window_tokens, cap // 1024 * 1024)
        if capped.window_tokens < free.window_tokens:
            assert capped.bound_by == "model-cap"
        elif cap >= free.window_tokens + 1024:
            assert capped.bound_by == free.bound_by


@given(
    name=st.sampled_from(["Llama-3.1-8B", "Qwen2.5-7B", "SmolLM2-1.7B", "gpt-oss-20b"]), free_mib=st.integers(0, 9000)
)
@example(name="gpt-oss-20b", free_mib=12_900)  # all but the output
@example(name="gpt-oss-20b", free_mib=14_000)  # all
@settings(max_examples=40)  # each tries all layers
def test_layers_that_are_found_fit_and_one_more_does_not(name: str, free_mib: int) -> None:
    """Of a search by halves the same comes as of trying them all."""
    model = BY_NAME[name]
    found = on(free_mib, model)
    measured = SizingCalculator(model, Loading(), [card(free_mib)])
    fitting = [number for number in range(model.blocks + 2) if measured.with_layers(number).at(2048).fits]
    assert fitting == list(range(len(fitting)))
    if len(fitting) == model.blocks + 2:
        assert found.window_tokens is not None
        assert found.n_gpu_layers is None
    else:
        assert found.window_tokens is None
        assert found.n_gpu_layers == max(fitting, default=None)


def test_nothing_fits_when_weights_and_margin_take_all() -> None:
    """B-09, V8: a value with a reason and numbers, and no exception; nor a window of 0."""
    found = on(4651 + 1536)
    assert found.window_tokens is None
    assert found.bound_by is None
    assert "4,651.0 MiB" in found.reason
    assert "6,187.0 MiB are free" in found.reason
    assert found.n_gpu_layers is not None
    assert on(0).n_gpu_layers is None


def test_fit_says_unknown_when_the_compute_buffer_is() -> None:
    """No window is guessed: the sentence says what would tell."""
    found = WindowSearch(model_of(stub("mamba")), Loading(), [card(80_000)]).fit()
    assert found.window_tokens is None
    assert "--verify" in found.reason


def test_every_device_has_to_have_room() -> None:
    """A second card with little takes its share of the layers, or stands in the way."""
    one = on(7600)
    two = WindowSearch(LLAMA, Loading(), [card(7600), card(7600)]).fit()
    assert two.window_tokens is not None
    assert one.window_tokens is not None
    assert two.window_tokens > one.window_tokens
    uneven = WindowSearch(LLAMA, Loading(tensor_split=(1.0, 1.0)), [card(30_000), card(2600)]).fit()
    assert uneven.window_tokens is None
    assert uneven.sizing.tightest.number == 1
    assert "device 1" in uneven.reason


def test_fewer_layers_are_found_on_several_devices() -> None:
    """The most with which the least window fits on each."""
    cards = [card(7600), card(5000)]
    model = BY_NAME["Qwen2.5-32B"]
    found = WindowSearch(model, Loading(), cards).fit()
    assert found.n_gpu_layers is not None
    measured = SizingCalculator(model, Loading(), cards)
    assert measured.with_layers(found.n_gpu_layers).at(2048).fits
    assert not any(measured.with_layers(more).at(2048).fits for more in range(found.n_gpu_layers + 1, 66))


def test_layers_that_are_set_are_the_most_that_are_tried() -> None:
    """Of 10 that do not fit, fewer are proposed; the search itself keeps what is set."""
    found = WindowSearch(BY_NAME["Llama-3.3-70B"], Loading(n_gpu_layers=10), [card(7600)]).fit()
    assert (found.window_tokens, found.n_gpu_layers) == (None, 9)
    kept = WindowSearch(BY_NAME["Llama-3.3-70B"], Loading(n_gpu_layers=9), [card(7600)]).fit()
    assert (kept.window_tokens or 0) >= 2048
    assert kept.sizing.loading.n_gpu_layers == 9


def test_main_memory_bounds_the_window_where_there_is_no_gpu_or_where_it_is_short() -> None:
    """It says "memory" then, and "vram" where a GPU is what is full."""
    alone = WindowSearch(LLAMA, Loading(), [Card("cpu", 16_000 * MIB)]).fit()
    assert alone.bound_by == "memory"
    assert alone.n_gpu_layers is None
    both = WindowSearch(LLAMA, Loading(n_gpu_layers=16), [card(80_000), Card("cpu", 6000 * MIB)]).fit()
    assert both.bound_by == "memory"
    assert both.window_tokens is not None
    assert "main memory" in WindowSearch(LLAMA, Loading(n_gpu_layers=0), [card(80_000), Card("cpu", MIB)]).fit().reason


def test_window_is_what_the_model_was_trained_with_when_that_is_less_than_the_least() -> None:
    """A model of 512 tokens has no multiple of 1,024: its own limit is tried."""
    small = model_of(with_keys(stub("llama"), context_length=512))
    found = WindowSearch(small, Loading(), [card(8000)]).fit()
    assert (found.window_tokens, found.bound_by) == (512, "native-limit")


def test_window_that_is_asked_for_is_tried_as_it_is() -> None:
    """Least and most alike: that window or none, multiple or not."""
    assert on(15_500, least_tokens=5000, most_tokens=5000).window_tokens == 5000
    assert on(15_500, least_tokens=131_072, most_tokens=131_072).window_tokens is None


def test_window_has_no_limit_but_the_settings_when_the_file_says_none() -> None:
    """Without `context_length` the most of all windows counts."""
    found = WindowSearch(model_of(with_keys(stub("llama"), context_length=None)), Loading(), [card(80_000)]).fit()
    assert (found.window_tokens, found.bound_by) == (131_072, "window.max")


def test_window_is_that_of_one_sequence() -> None:
    """Four sequences of their own leave a quarter, but for steps; in one cache they share it."""
    each = on(15_500, loading=Loading(n_seq_max=4))
    assert each.window_tokens == 17_408
    assert each.sizing.context.n_ctx == 4 * 17_408
    assert on(15_500, loading=Loading(n_seq_max=4, kv_unified=True)).window_tokens == 71_680


@pytest.mark.parametrize("bounds", [Bounds(0), Bounds(2048, 0), Bounds(2048, 4096, 0), Bounds(-5, -5)])
def test_fit_refuses_a_bound_that_is_no_window(bounds: Bounds) -> None:
    """It has to be above 0."""
    with pytest.raises(ConfigError, match="above 0"):
        WindowSearch(LLAMA, Loading(), [card(8000)], bounds).fit()


@given(
    name=st.sampled_from(["Llama-3.1-8B", "Gemma-3-27B", "gpt-oss-20b"]),
    free_mib=st.integers(0, 60_000),
    number=st.sampled_from([-1, 0, 5, 16]),
)
@example(name="Llama-3.1-8B", free_mib=8000, number=16)
@settings(max_examples=40)
def test_what_gpu_and_main_memory_share_is_given_once(name: str, free_mib: int, number: int) -> None:
    """Of unified memory both parts come from the same bytes: together, and with the margin, they are no more."""
    free, loading = free_mib * MIB, Loading(n_gpu_layers=number)
    cards = [Card("metal", free, unified=True), Card("cpu", free)]
    found = WindowSearch(BY_NAME[name], loading, cards).fit()
    apart = WindowSearch(BY_NAME[name], loading, [card._replace(unified=False) for card in cards]).fit()
    if found.window_tokens is None:
        assert apart.window_tokens is None or apart.sizing.total_bytes + 1536 * MIB > free
    else:
        assert found.sizing.total_bytes + 1536 * MIB <= free
        assert found.window_tokens <= (apart.window_tokens or 0)
        assert found.sizing.devices[-1].shared


# -- what would fit besides -----------------------------------------------------------------------------------------


def others(
    free_mib: float,
    loading: Loading = PLAIN,
    model: ModelLayout = LLAMA,
    **bounds: int,
) -> dict[str, Alternative]:
    """Return by name what would fit on one card."""
    cards = [card(free_mib), Card("cpu", 64_000 * MIB)]
    return {
        alternative.change: alternative
        for alternative in WindowSearch(model, loading, cards, Bounds(**bounds)).alternatives()
    }


def test_smaller_cache_gives_the_published_window() -> None:
    """Llama-3.1-8B on 15,500 MiB: 129,024 tokens with q8_0, all of them with q4_0."""
    found = others(15_500)
    assert found["q8_0"].window_tokens == 129_024
    assert found["q4_0"].window_tokens == 131_072
    assert found["q8_0"].sizing.loading.type_v == "q8_0"
    assert {"window", "cpu", "n_gpu_layers"}.isdisjoint(found)


def test_alternatives_of_what_does_not_fit_are_listed_with_numbers() -> None:
    """A window that was asked for: a smaller one, other caches, a smaller batch, fewer layers, no GPU."""
    found = others(15_500, least_tokens=100_352, most_tokens=100_352)
    assert found["window"].window_tokens == 71_680
    assert set(found) == {"window", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "n_gpu_layers", "cpu"}
    assert (
        found["n_gpu_layers"].sizing.loading.n_gpu_layers
        == on(15_500, least_tokens=100_352, most_tokens=100_352).n_gpu_layers
    )
    assert found["cpu"].sizing.devices[0].number == CPU
    for one in found.values():
        assert one.sizing.fits
        assert one.sizing.window_tokens == one.window_tokens
    assert {one.window_tokens for name, one in found.items() if name != "window"} == {100_352}


@pytest.mark.parametrize(
    ("free_mib", "window_tokens", "expected"),
    [
        (6200, 2048, []),  # a margin of 512 MiB is enough
        (7600, 40_960, [("q5_1", "margin"), ("q4_0", "margin")]),  # the most exact, and one that is quick everywhere
        (7600, 31_744, [("q8_0", "margin")]),
        (5600, 2048, [("n_ubatch", "margin")]),
        (7600, 65_536, []),  # not even all of them are enough
    ],
)
def test_fewest_changes_that_do_together_are_named_where_none_does_alone(
    free_mib: int, window_tokens: int, expected: list[tuple[str, ...]]
) -> None:
    """For a window that was asked for; the sizing is with all of them."""
    cards = [card(free_mib), Card("cpu", 64_000 * MIB)]
    search = WindowSearch(LLAMA, PLAIN, cards, Bounds(window_tokens, window_tokens))
    together = [one for one in search.alternatives() if one.also]
    assert [(one.change, *one.also) for one in together] == expected
    for one in together:
        assert one.window_tokens == window_tokens
        assert one.sizing.fits
        loading, margin = one.sizing.loading, one.sizing.devices[0].margin_bytes
        assert margin == (512 * MIB if "margin" in one.also else 1536 * MIB)
        assert (loading.type_k == one.change) == (one.change in {"q8_0", "q5_1", "q4_0"})
        assert loading.n_ubatch == (256 if "n_ubatch" in (one.change, *one.also) else 512)


@pytest.mark.parametrize(
    ("free_mib", "expected"),
    [(19_000, ("swa_full", "q8_0", "margin")), (18_100, ("swa_full", "q4_0", "n_ubatch", "margin"))],
)
def test_each_change_is_in_a_combination_once(free_mib: int, expected: tuple[str, ...]) -> None:
    """Three and four where two are too few, with one type of the cache."""
    loading, model = Loading(flash_attn=False, swa_full=True), BY_NAME["Gemma-3-27B"]
    found = others(free_mib, loading, model, least_tokens=16_384, most_tokens=16_384)
    assert [(one.change, *one.also) for one in found.values() if one.also] == [expected]


def test_window_of_the_settings_is_reached_by_a_combination_too() -> None:
    """A smaller window fits; the one that the model is to have needs two changes. Without one, none is named."""
    loading, cards = Loading(type_k="q8_0", type_v="q8_0"), [card(7782), Card("cpu", 64_000 * MIB)]
    search = WindowSearch(LLAMA, loading, cards, Bounds(cap_tokens=49_152))
    found = {(one.change, *one.also): one.window_tokens for one in search.alternatives()}
    assert found["q5_1", "margin"] == 49_152
    assert max(tokens for changes, tokens in found.items() if len(changes) == 1) < 49_152
    assert not any(one.also for one in WindowSearch(LLAMA, loading, cards).alternatives())


def test_smaller_batch_helps_where_the_compute_buffer_is_large() -> None:
    """Gemma's logits alone are half a GiB with 512 tokens at once."""
    model = BY_NAME["Gemma-3-27B"]
    tight = others(19_600, model=model)
    assert tight["n_ubatch"].window_tokens > (on(19_600, model).window_tokens or 0)
    assert tight["n_ubatch"].sizing.compute_bytes < on(19_600, model).sizing.compute_bytes * 0.6


def test_flash_attention_and_windows_that_slide_are_proposed_where_they_are_off() -> None:
    """What costs nothing comes first."""
    model = BY_NAME["Gemma-3-27B"]
    loading = Loading(flash_attn=False, swa_full=True)
    found = others(31_500, loading, model)
    assert list(found)[:2] == ["flash_attn", "swa_full"]
    assert found["swa_full"].sizing.loading == replace(
        loading, swa_full=False, n_ctx=found["swa_full"].sizing.loading.n_ctx
    )
    assert "swa_full" not in others(9000, Loading(swa_full=True))


def test_alternatives_leave_out_what_llama_cpp_would_not_load() -> None:
    """Heads of 40 are no whole blocks of q8_0."""
    model = model_of(with_keys(stub("llama", vocabulary=128_000), attention__key_length=40, attention__value_length=40))
    found = others(1800, model=model)
    assert {"q8_0", "q5_1", "q5_0", "q4_1", "q4_0"}.isdisjoint(found)
    assert "n_ubatch" in found


def test_nothing_is_proposed_when_all_that_is_wanted_fits() -> None:
    """The window is bound by the model: no change would give more."""
    assert others(80_000) == {}


def test_main_memory_is_proposed_with_its_size_where_it_does_not_tell() -> None:
    """Without a card for it nothing says that it is too small: what it would take is in the sizing."""
    found = {
        alternative.change: alternative for alternative in WindowSearch(LLAMA, Loading(), [card(100)]).alternatives()
    }
    assert set(found) == {"cpu"}
    assert found["cpu"].sizing.devices[0].left_bytes is None
    assert found["cpu"].sizing.total_bytes > 4651 * MIB
