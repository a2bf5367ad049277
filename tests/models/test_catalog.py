"""The models of an engine: sized once, opened once, with less where they do not load; sessions follow."""

from __future__ import annotations

from dataclasses import replace
from threading import Thread
from time import sleep
from typing import TYPE_CHECKING, cast

import pytest

import squidbot
from squidbot.core.devices import Device, ProbeAttempt, ProbeResult
from squidbot.core.errors import ConfigError, LLMError, ModelFileError, ModelLoadError
from squidbot.core.messages import Completion, Reply
from squidbot.core.sizing.header import RuntimeReport, Tensor
from squidbot.core.tokens.counters import builtin_counter
from squidbot.testing import offline_chat_model
from squidbot.testing.ggufs import write_gguf

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from squidbot.core.events import Event
    from squidbot.core.ports import Embedder, LoadedModel, TokenCounter
    from squidbot.core.sizing.header import Definition
    from squidbot.hookspecs import Register
    from squidbot.testing.ggufs import Item, Typed

GIB = 2**30


class Opened:
    """A model that is open: it answers nothing that matters here."""

    form = "openai.chat"

    def __init__(self, definition: Definition, served: RuntimeReport) -> None:
        self.definition, self.served, self.closed = definition, served, 0
        self.name, self.window_tokens = definition.alias, served.window_tokens
        self.counter: TokenCounter = builtin_counter("bytes")

    def complete(self, _system: str, _prompt: str, _max_output_tokens: int) -> Completion:
        """Answer."""
        return Completion("yes", 1, 1)

    def reply(
        self,
        _messages: Sequence[Mapping[str, object]],
        _max_output_tokens: int,
        _tools: Sequence[Mapping[str, object]] = (),
        _told: Callable[[str], None] | None = None,
        _stable: Sequence[int] = (),
    ) -> Reply:
        """Answer."""
        return Reply({"role": "assistant", "content": "yes"}, "stop", 1, 1)

    def embedder(self) -> Embedder:
        """Make nothing."""
        raise LLMError("refused", "it makes no vectors")

    def close(self) -> None:
        """Count how often."""
        self.closed += 1


class Machine:
    """An extension: a GPU with so much free, a runtime that loads up to so many tokens, and who hears events.

    `free_bytes` None: there is no GPU; below 0: it does not tell.
    """

    def __init__(self, free_bytes: int | None = 24 * GIB, most_tokens: int = 10**9) -> None:
        self.free_bytes, self.most_tokens = free_bytes, most_tokens
        self.served = RuntimeReport(None)
        self.opened: list[Opened] = []
        self.asked: list[Definition] = []
        self.counters: list[str] = []
        self.looks = 0
        self.heard: list[Event] = []
        self.name = "made-up"
        self.takes_seconds = 0.0

    @squidbot.hookimpl
    def register_adapters(self, register: Register) -> None:
        """Offer both under one name."""
        register.runtime(self.name, self._open)
        register.probe(self.name, lambda: self)

    @squidbot.hookimpl
    def on_event(self, event: Event) -> None:
        """Keep it."""
        self.heard.append(event)

    def probe(self) -> ProbeResult:
        """Return one card, or none."""
        self.looks += 1
        if self.free_bytes is None:
            return ProbeResult((), (ProbeAttempt(self.name, 0, "no card"),))
        free_bytes = self.free_bytes if self.free_bytes >= 0 else None
        card = Device(0, "GPU-1", "Card", "nvidia", 24 * GIB, free_bytes, unified=False, source=self.name)
        return ProbeResult((card,), (ProbeAttempt(self.name, 1, ""),))

    def _open(self, definition: Definition, counter: TokenCounter) -> LoadedModel:
        sleep(self.takes_seconds)
        self.asked.append(definition)
        self.counters.append(counter.name)
        if definition.loading.n_ctx > self.most_tokens:
            raise ModelLoadError("out of memory")
        self.opened.append(Opened(definition, self.served))
        return self.opened[-1]


@pytest.fixture
def path(tmp_path: Path) -> str:
    """The file of a tiny model, trained for 2,048 tokens."""
    return str(offline_chat_model(tmp_path / "tiny.gguf"))


def engine_of(
    machine: Machine, path: str, window: Mapping[str, object] | None = None, **model: object
) -> squidbot.Engine:
    """Return an engine on a machine whose one model is "tiny"."""
    settings = {
        "gpu": {"probe": machine.name, "watch_seconds": 0},
        "window": {"min": 256, **(window or {})},
        "models": {"tiny": {"path": path, "adapter": machine.name, **model}},
    }
    return squidbot.load(settings, extensions=[machine])


def test_session_gets_the_window_that_fits_before_anything_is_opened(
    path: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Sized from the header and the card, once an engine, whatever happens on the card afterwards (W-19).

    B-08: "Startup logging of VRAM detection and context sizing decisions".
    """
    caplog.set_level("INFO", "squidbot")
    machine = Machine()
    with engine_of(machine, path) as engine:
        window = engine.session("s", model="tiny").window
        assert (window.window_tokens, window.source) == (2048, "auto-vram")
        assert window.detail.startswith("2,048 tokens fit, bound by the length the model was trained for")
        machine.free_bytes = 0
        assert engine.session("t", model="tiny").window == window
        (line,) = [record.getMessage() for record in caplog.records if "window of tiny" in record.getMessage()]
        assert line.startswith("window of tiny: 2,048 tokens, auto-vram: 2,048 tokens fit, bound by the length")
        assert (machine.looks, machine.asked) == (1, [])
        loading = engine.loading("tiny")
        assert (loading.n_ctx, loading.flash_attn, loading.swa_full) == (2048, True, False)


def test_window_comes_from_the_next_source_when_nothing_fits(path: str) -> None:
    """B-09, V8: no exception, no window of 0; the reason is told."""
    for machine, settings, source in (
        (Machine(free_bytes=0), {"vram_margin_mib": 1536}, "native-limit"),
        (Machine(free_bytes=0), {"default": 1024}, "global-config"),
    ):
        with engine_of(machine, path, settings) as engine:
            window = engine.session("s", model="tiny").window
            assert window.source == source
            assert window.window_tokens in {1024, 2048}
            assert "does not fit" in window.detail


def test_window_is_capped_by_the_definition_and_tiers_by_the_settings(path: str) -> None:
    """The caps of B-03 and O-02's tier below."""
    with engine_of(Machine(), path, context_window=1500) as engine:
        window = engine.session("s", model="tiny").window
        assert (window.window_tokens, window.source) == (1500, "model-cap")
    with engine_of(Machine(), path, {"sizing": "manual", "default": 777}) as engine:
        assert engine.session("s", model="tiny").window.source == "global-config"
        assert engine.wired.models.sized("tiny") is None


def test_nothing_is_above_what_the_model_was_trained_with_unless_somebody_picks_it(path: str) -> None:
    """With "manual" nothing is sized, and 32,768 is nobody's choice; a window that is set may be larger."""
    with engine_of(Machine(), path, {"sizing": "manual"}) as engine:
        window = engine.session("s", model="tiny").window
        assert (window.window_tokens, window.source) == (2048, "native-limit")
    with engine_of(Machine(), path, {"sizing": "manual"}, context_window=4096) as engine:
        window = engine.session("s", model="tiny").window
        assert (window.window_tokens, window.source) == (4096, "model-definition")


def test_model_is_opened_once_with_everything_named(path: str) -> None:
    """By what the settings call its adapter; the second call gives the same; closed with the engine."""
    machine = Machine()
    engine = engine_of(machine, path, max_tokens=99, model="its-name", url="http://there")
    model = engine.model("tiny")
    assert engine.model("tiny") is model
    (asked,) = machine.asked
    assert (asked.alias, asked.path, asked.model, asked.url) == ("tiny", path, "its-name", "http://there")
    assert (asked.max_output_tokens, asked.loading.n_ctx, asked.checked) == (99, 2048, True)
    assert machine.looks == 1
    engine.close()
    assert machine.opened[0].closed == 1


def large(path: Path) -> str:
    """Write a model of 8 layers and 1.6 GB of weights, a hole; a token takes 64 KiB of cache."""
    tensors = [Tensor("token_embd.weight", (4096, 32000), 1), Tensor("output_norm.weight", (4096,), 0)]
    for layer in range(8):
        square = [Tensor(f"blk.{layer}.{part}.weight", (4096, 4096), 1) for part in ("attn_q", "attn_k", "attn_v")]
        tensors += [*square, Tensor(f"blk.{layer}.ffn_down.weight", (11008, 4096), 1)]
    keys = {"block_count": 8, "context_length": 65536, "embedding_length": 4096, "feed_forward_length": 11008}
    metadata: dict[str, Item | Sequence[Item] | Typed] = {f"llama.{key}": value for key, value in keys.items()}
    write_gguf(path, {"general.architecture": "llama", "llama.attention.head_count": 32, **metadata}, tensors)
    return str(path)


def test_automatic_size_is_one_tier_below_the_largest_and_the_cache_is_quantized(tmp_path: Path) -> None:
    """O-02, O-15: `autoSize: boolean`: "Calculate Optimal Size, Pick One Tier Below Max, LOCK for Session", or by hand.

    `kvQuantization: boolean; // Enable KV cache quantization`: more tokens fit the same memory.
    """
    model, known = large(tmp_path / "large.gguf"), {"vramBuffer": 1024, "kvQuantization": False}
    for window, tokens, source in (
        ({"autoSize": True, "maxSize": 131_072}, 32_768, "tier"),
        ({"autoSize": True, "maxSize": 16_384}, 8_192, "tier"),
        ({"autoSize": False, "targetSize": 16_000}, 16_000, "global-config"),
    ):
        with engine_of(Machine(), model, {**known, **window}) as engine:
            opened = engine.session("s", model="tiny").window
            assert (opened.window_tokens, opened.source) == (tokens, source)
    fitting = {}
    for quantized, kind in ((False, "f16"), (True, "q8_0")):
        with engine_of(Machine(6 * GIB), model, {"kvQuantization": quantized}) as engine:
            assert {engine.loading("tiny").type_k, engine.loading("tiny").type_v} == {kind}
            fitting[quantized] = engine.session("s", model="tiny").window.window_tokens
    assert fitting[True] > 1.5 * fitting[False]


def test_devices_are_looked_at_again_right_before_a_model_is_opened(tmp_path: Path) -> None:
    """A session was sized an hour ago; less is free now: the model is opened with what fits now, and so on."""
    machine = Machine(free_bytes=6 * GIB)
    with engine_of(machine, large(tmp_path / "large.gguf")) as engine:
        before = engine.session("s", model="tiny").window
        machine.free_bytes = 4 * GIB
        engine.model("tiny")
        after = engine.session("t", model="tiny").window
        assert machine.looks == 2
        assert machine.asked[0].loading.n_ctx == after.window_tokens < before.window_tokens < 65536
        # What is gone is the cache of so many tokens, and what the buffers take less.
        assert 0 <= 2 * GIB - (before.window_tokens - after.window_tokens) * 2**17 < 64 * 2**20


def test_second_model_is_sized_by_what_the_first_one_leaves(tmp_path: Path) -> None:
    """Two on one card: sized before, in between or never, the second gets the rest, and so do its sessions."""
    path = large(tmp_path / "large.gguf")
    windows = []
    for before in (True, False):
        machine = Machine(free_bytes=8 * GIB)
        two = {name: {"path": path, "adapter": machine.name} for name in ("one", "two")}
        settings = {"gpu": {"probe": machine.name, "watch_seconds": 0}, "models": two}
        with squidbot.load(settings, extensions=[machine]) as engine:
            alone = engine.session("s", model="two").window if before else None
            engine.model("one")
            machine.free_bytes = 5 * GIB
            windows.append(engine.session("t", model="two").window)
            engine.model("two")
            assert machine.asked[1].loading.n_ctx == windows[-1].window_tokens < machine.asked[0].loading.n_ctx
            assert alone is None or alone.window_tokens == machine.asked[0].loading.n_ctx
            assert engine.session("u", model="one").window.window_tokens == machine.asked[0].loading.n_ctx
    assert windows[0] == windows[1]


def test_as_many_layers_go_onto_the_card_as_fit_when_that_is_asked(tmp_path: Path) -> None:
    """Where not all fit: with "auto" fewer, with a number never."""
    machine, path = Machine(free_bytes=3 * GIB), large(tmp_path / "large.gguf")
    with engine_of(machine, path, {"min": 2048}) as engine:
        window = engine.session("s", model="tiny").window
        assert (window.window_tokens, window.source) == (32768, "default")
        assert 'n_gpu_layers = "auto" would put' in window.detail
    with engine_of(machine, path, {"min": 2048}, n_gpu_layers="auto") as engine:
        window = engine.session("s", model="tiny").window
        assert (window.window_tokens, window.source) == (4096, "auto-vram")
        assert "bound by the free memory of the GPUs" in window.detail
        assert 0 < engine.loading("tiny").n_gpu_layers < 9
        assert f"{engine.loading('tiny').n_gpu_layers} of 9 layers on GPUs" in window.detail


def test_model_that_was_sized_for_main_memory_is_not_put_onto_a_gpu(path: str) -> None:
    """One that no probe has found, or that the settings forbid: no layer goes there, but a number that is set stays."""
    machine = Machine(free_bytes=None)
    with engine_of(machine, path) as engine:
        assert engine.session("s", model="tiny").window.source == "auto-ram"
        engine.model("tiny")
        assert machine.asked[0].loading.n_gpu_layers == 0
        assert "layers on GPUs" not in engine.session("s", model="tiny").window.detail
    with engine_of(Machine(free_bytes=None), path, n_gpu_layers=7) as engine:
        assert engine.loading("tiny").n_gpu_layers == 7


def test_window_comes_from_the_next_source_when_a_card_does_not_tell_what_is_free(path: str) -> None:
    """Free main memory says nothing of a model that goes onto the card."""
    machine = Machine(free_bytes=-1)
    with engine_of(machine, path) as engine:
        window = engine.session("s", model="tiny").window
        assert (window.window_tokens, window.source) == (2048, "native-limit")
        assert "see squidbot status; 32,768 by default; limited to 2,048" in window.detail
        assert engine.loading("tiny").n_gpu_layers == -1


def test_model_of_an_unknown_layout_gets_no_more_than_it_was_trained_with(tmp_path: Path) -> None:
    """Its cache can't be sized, but its header says that."""
    tensors = [Tensor("token_embd.weight", (32, 64), 0)]
    write_gguf(tmp_path / "new.gguf", {"general.architecture": "deepseek4", "deepseek4.context_length": 4096}, tensors)
    with engine_of(Machine(), str(tmp_path / "new.gguf")) as engine:
        window = engine.session("s", model="tiny").window
        assert (window.window_tokens, window.source) == (4096, "native-limit")
        assert "unknown cache layout 'deepseek4'" in window.detail


def test_load_is_tried_with_less_and_sessions_follow(path: str) -> None:
    """C8: descending, before a window is issued; the source says so, the detail has each try."""
    machine = Machine(most_tokens=1100)
    with engine_of(machine, path) as engine:
        engine.model("tiny")
        assert [asked.loading.n_ctx for asked in machine.asked] == [2048, 1536, 1024][: len(machine.asked)]
        window = engine.session("s", model="tiny").window
        assert window.source == "load-retry"
        assert window.window_tokens == machine.asked[-1].loading.n_ctx == engine.loading("tiny").n_ctx <= 1100
        assert "did not load with 2,048 tokens: out of memory" in window.detail
        with pytest.raises(ConfigError, match="ask for less"):
            engine.session("s", model="tiny", window_tokens=2048)
        assert engine.session("s", model="tiny", window_tokens=512).window.source == "manual"


def test_model_that_never_loads_is_not_kept(path: str) -> None:
    """The next call tries again: memory may be free by then."""
    machine = Machine(most_tokens=0)
    with engine_of(machine, path) as engine:
        with pytest.raises(ModelLoadError, match="does not load with any window"):
            engine.model("tiny")
        machine.most_tokens = 10**9
        assert engine.model("tiny") is cast("object", machine.opened[0])


def test_window_is_what_the_runtime_gives(path: str) -> None:
    """A served window that is smaller than asked is read back, and no request is larger."""
    machine = Machine()
    machine.served = RuntimeReport(1024)
    with engine_of(machine, path) as engine:
        engine.model("tiny")
        window = engine.session("s", model="tiny").window
        assert (window.window_tokens, window.source) == (1024, "served")


def test_sessions_count_with_the_vocabulary_of_an_open_model(path: str) -> None:
    """Before it is opened by the settings' counter; a tokenizer that is named stays (P-07)."""
    machine = Machine()
    with engine_of(machine, path) as engine:
        assert engine.session("s", model="tiny").window.counter == "classes"
        engine.model("tiny")
        assert engine.session("s", model="tiny").window.counter == "bytes"
        assert engine.session("s").window.counter == "classes"
        assert machine.counters == ["classes"]
    machine = Machine()
    with engine_of(machine, path, tokenizer="chars4") as engine:
        engine.model("tiny")
        assert engine.session("s", model="tiny").window.counter == "chars4"
        assert machine.counters == ["chars4"]


def test_what_was_set_up_is_compared_with_what_was_predicted(path: str) -> None:
    """Nothing is told where it is equal; an event for each part that is not."""
    machine = Machine()
    with engine_of(machine, path) as engine:
        predicted = engine.wired.models.sized("tiny")
        assert predicted is not None
        sizing = predicted.predicted(engine.loading("tiny"))
        assert sizing is not None
        machine.served = RuntimeReport(2048, None, {"CUDA0": sizing.kv_bytes}, {}, {"CUDA0": sizing.compute_bytes})
        engine.model("tiny")
        assert [event.name for event in machine.heard if event.name == "sizing-differs"] == []
    machine = Machine()
    twice = {"CUDA0": 2 * sizing.kv_bytes}
    machine.served = RuntimeReport(2048, {"CUDA0": 9 * GIB}, twice, {}, {"CUDA0": sizing.compute_bytes + 1})
    with engine_of(machine, path) as engine:
        engine.model("tiny")
    told = [event.cause for event in machine.heard if event.name == "sizing-differs"]
    assert [cause.split(":")[1].strip() for cause in told] == ["KV cache", "weights on GPUs", "compute buffers"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"adapter": "xllamacpp", "path": None}, "xllamacpp opens files; set path, or repo_id and filename"),
        ({"adapter": None}, "no adapter is set for it; set adapter to one of"),
        ({"adapter": "nobody"}, "unknown runtime 'nobody', known: "),
        ({"flash_attn": False, "kv_type": "q8_0"}, "flash_attn must be true"),
    ],
)
def test_model_is_refused_with_the_path_of_what_is_wrong(path: str, changes: dict[str, object], message: str) -> None:
    """What to set, and where."""
    machine = Machine()
    wanted = {
        key: value for key, value in {"path": path, "adapter": machine.name, **changes}.items() if value is not None
    }
    settings = {"gpu": {"probe": machine.name}, "models": {"tiny": wanted}}
    with squidbot.load(settings, extensions=[machine]) as engine, pytest.raises(ConfigError) as caught:
        engine.model("tiny")
    assert message in str(caught.value)
    assert "@ argument.models['tiny']" in str(caught.value)


@pytest.mark.parametrize("sizing", ["max_safe", "manual"])
def test_file_that_is_not_there_is_named_with_its_place(tmp_path: Path, sizing: str) -> None:
    """Whoever reads it finds the key to mend."""
    with engine_of(Machine(), str(tmp_path / "gone.gguf"), {"sizing": sizing}) as engine:
        for asks in (engine.model, engine.loading):
            with pytest.raises(ModelFileError, match=r"gone.gguf is not there.* @ argument.models\['tiny'\]"):
                asks("tiny")


@pytest.mark.parametrize("adapter", ["xllamacpp", "llama_cpp"])
def test_what_llama_cpp_would_end_the_process_over_is_refused_before(path: str, tmp_path: Path, adapter: str) -> None:
    """Batches of one token, and a file without a vocabulary; whether the package is installed or not."""
    bare = large(tmp_path / "bare.gguf")
    models = {"one": {"path": path, "adapter": adapter, "n_batch": 1}, "bare": {"path": bare, "adapter": adapter}}
    with squidbot.load({"gpu": {"probe": "none"}, "models": models}) as engine:
        with pytest.raises(ConfigError, match=r"n_batch must be 2 or more, not 1 @ argument.models\['one'\]"):
            engine.model("one")
        with pytest.raises(ModelFileError, match=r"bare.gguf has no vocabulary.* @ argument.models\['bare'\]"):
            engine.model("bare")


def test_runtime_is_asked_for_a_whole_step_where_a_window_is_smaller(path: str) -> None:
    """llama.cpp would make batches of the few tokens, and not all runtimes live with that; the window is as it was."""
    machine = Machine()
    with engine_of(machine, path, context_window=8) as engine:
        engine.model("tiny")
        assert machine.asked[0].loading.n_ctx == engine.loading("tiny").n_ctx == 256
        assert engine.session("s", model="tiny").window.window_tokens == 8


def test_model_is_checked_before_it_is_opened_when_it_was_not_sized(path: str) -> None:
    """llama.cpp would end the process; with "manual" nobody has looked at the file before."""
    machine = Machine()
    with (
        engine_of(machine, path, {"sizing": "manual"}, flash_attn=False, kv_type="q8_0") as engine,
        pytest.raises(ConfigError, match=r"flash_attn must be true.* @ argument.models\['tiny'\]"),
    ):
        engine.model("tiny")
    assert machine.asked == []


def test_unknown_probe_is_refused_by_name(path: str) -> None:
    """With those there are."""
    settings = {"gpu": {"probe": "crystal-ball"}, "models": {"tiny": {"path": path}}}
    with (
        squidbot.load(settings) as engine,
        pytest.raises(ConfigError, match="unknown GPU probe 'crystal-ball', known: "),
    ):
        engine.session("s", model="tiny")


def test_projector_is_counted(path: str, tmp_path: Path) -> None:
    """A vision model's second file adds its size to the first device."""
    second = offline_chat_model(tmp_path / "projector.gguf")
    with engine_of(Machine(), path, projector=str(second)) as engine:
        sized = engine.wired.models.sized("tiny")
    assert sized is not None
    assert sized.fit is not None
    assert sized.fit.sizing.extra_bytes == second.stat().st_size


def test_definition_differs_in_the_window_alone_when_it_is_tried_again(path: str) -> None:
    """All else that was asked for stays."""
    machine = Machine(most_tokens=300)
    with engine_of(machine, path, n_batch=99) as engine:
        engine.model("tiny")
    first, *others = machine.asked
    for other in others:
        assert other == first._replace(loading=replace(first.loading, n_ctx=other.loading.n_ctx))


def test_summaries_are_written_by_a_model_of_the_settings(path: str) -> None:
    """By its alias; opened at the first summary, not before; what keeps it from that is told, and is no text."""
    machine = Machine(most_tokens=0)
    settings = {
        "gpu": {"probe": machine.name, "watch_seconds": 0},
        "models": {"tiny": {"path": path, "adapter": machine.name}},
        "summary": {"llm": "tiny", "scheduler": "none"},
    }
    with squidbot.load(settings, extensions=[machine]) as engine:
        llm = engine.wired.llm()
        assert (llm.name, machine.asked) == ("tiny", [])
        with pytest.raises(LLMError, match="unreachable: 'tiny' does not load with any window"):
            llm.complete("s", "p", 10)
        machine.most_tokens = 10**9
        assert llm.complete("s", "p", 10).text == "yes"
        assert len(machine.opened) == 1
        llm.complete("s", "p", 10)
        assert engine.model("tiny") is cast("object", machine.opened[0])
    assert machine.opened[0].closed == 1


def test_threads_that_open_the_same_model_share_it(path: str) -> None:
    """It is loaded once, however long that takes."""
    machine, found = Machine(), list[object]()
    machine.takes_seconds = 0.05
    with engine_of(machine, path) as engine:
        threads = [Thread(target=lambda: found.append(engine.model("tiny"))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [machine.opened[0]] * 4
    assert machine.opened[0].closed == len(machine.asked) == 1


def test_model_without_an_adapter_writes_no_summaries(path: str) -> None:
    """Its alias is known, but nobody opens it: what would do is named."""
    models = {"mute": {"path": path}, "able": {"path": path, "adapter": "xllamacpp"}}
    with pytest.raises(ConfigError, match=r"model .mute., known: .*\bable\b.*; .*adapter.* @ argument.summary.llm"):
        squidbot.load({"models": models, "summary": {"llm": "mute"}})
