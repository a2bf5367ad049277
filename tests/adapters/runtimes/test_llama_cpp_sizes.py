"""Sizing from the header against llama.cpp itself: its dry run, and what it really sets up."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.gguf import read_header
from squidbot.adapters.llama_cpp.verify import ROUNDING_BYTES, DryRun, verify
from squidbot.core.errors import ConfigError, ModelLoadError
from squidbot.core.sizing.header import Definition, Loading, tensor_bytes
from squidbot.core.sizing.memory import check_loading, measure, model_of
from squidbot.testing import offline_chat_model

from .tiny import ARCHITECTURES, tiny_model

pytestmark = pytest.mark.llama_cpp
pytest.importorskip("llama_cpp", reason="needs llama-cpp-python, which is compiled where it is installed")

from squidbot.adapters.llama_cpp.model import open_model  # noqa: E402  # it imports llama_cpp

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.core.sizing.header import Header

# Windows, batches, types, sequences that have nothing to do with each other.
SETTINGS = [
    Loading(n_ctx=n_ctx, n_ubatch=n_ubatch, type_k=kind, type_v=kind, flash_attn=flash)
    for n_ctx, n_ubatch, kind, flash in product((300, 4096), (64, 512), ("f16", "q8_0", "q4_0"), (True, False))
] + [
    Loading(n_ctx=4096, n_seq_max=3),
    Loading(n_ctx=4096, n_seq_max=3, kv_unified=True, flash_attn=False),
    Loading(n_ctx=2048, n_seq_max=2, swa_full=True),
    Loading(n_ctx=2048, type_k="q5_1", type_v="iq4_nl", n_ubatch=128),
    Loading(n_ctx=2048, type_k="q4_1", flash_attn=False),
    Loading(n_ctx=0),
    Loading(n_ctx=2048, n_seq_max=4, n_outputs_max=4),
    Loading(n_ctx=2048, n_seq_max=4, n_outputs_max=3),
    Loading(n_ctx=2048, n_seq_max=4, n_batch=3),
]
NAMES = ["offline", *ARCHITECTURES]


def made(folder: Path, name: str) -> Path:
    """Write the model of that name."""
    path = folder / f"{name}.gguf"
    return offline_chat_model(path) if name == "offline" else tiny_model(path, name)


def refused(header: Header, loading: Loading) -> bool:
    """Return whether we say that llama.cpp does not load it so."""
    try:
        check_loading(header, loading)
    except ConfigError:
        return True
    return False


@pytest.mark.parametrize("name", NAMES)
def test_header_says_what_the_dry_run_says_to_the_byte(name: str, tmp_path: Path) -> None:
    """Weights, caches and windows are equal; compute is not above ours; what llama.cpp refuses we refuse before."""
    path = made(tmp_path, name)
    header = read_header(path)
    said = [loading for loading in SETTINGS if not refused(header, loading)]
    assert len(said) >= len(SETTINGS) // 3
    run = verify(path, said)
    assert run.model_bytes == sum(tensor_bytes(tensor) for tensor in header.tensors)
    for measured in run.settings:
        assert not measured.failure, measured
        assert measured.exact
        assert measured.context_bytes is not None
        assert measured.weights_bytes is not None
        sizing = measure(model_of(header), measured.loading)
        assert sizing.window_tokens == measured.window_tokens, measured.loading
        assert sizing.weights_bytes == sum(measured.weights_bytes.values())
        assert sizing.kv_bytes + sizing.recurrent_bytes == sum(measured.context_bytes.values()), measured.loading
        assert abs(sizing.kv_bytes - measured.kv_bytes) <= 2 * ROUNDING_BYTES, measured.loading
        assert abs(sizing.recurrent_bytes - measured.recurrent_bytes) <= ROUNDING_BYTES, measured.loading
        if sizing.compute_kind != "unknown":
            assert sizing.compute_bytes >= sum(measured.compute_bytes.values()), measured.loading


@pytest.mark.parametrize("name", NAMES)
def test_what_we_refuse_llama_cpp_refuses_or_dies_of(name: str, tmp_path: Path) -> None:
    """We refuse nothing that it would load."""
    path = made(tmp_path, name)
    header = read_header(path)
    bad = [loading for loading in SETTINGS if refused(header, loading)]
    assert [measured.loading for measured in verify(path, bad).settings if not measured.failure] == []


@pytest.mark.parametrize("name", NAMES)
def test_loaded_model_takes_what_its_header_says(name: str, tmp_path: Path) -> None:
    """The real thing: it loads, answers, and its own buffer lines are ours, but for their rounding."""
    path = made(tmp_path, name)
    header = read_header(path)
    loading = Loading(n_ctx=1024, n_ubatch=128)
    model = open_model(Definition(name, str(path), loading))
    try:
        reply = model.reply([{"role": "user", "content": "word " * 60}], 8)
        served = model.served
    finally:
        model.close()
    assert 1 <= reply.output_tokens <= 8
    sizing = measure(model_of(header), loading)
    assert served.window_tokens == sizing.window_tokens == 1024
    for said, own in (
        (served.weights_bytes, sizing.weights_bytes),
        (served.kv_bytes, sizing.kv_bytes),
        (served.recurrent_bytes, sizing.recurrent_bytes),
    ):
        assert said is not None
        assert abs(sum(said.values()) - own) <= 2 * ROUNDING_BYTES
    assert served.compute_bytes is not None
    if sizing.compute_kind != "unknown":
        assert sum(served.compute_bytes.values()) <= sizing.compute_bytes + ROUNDING_BYTES


def test_an_abort_is_the_result_of_its_setting_and_the_others_are_there(tmp_path: Path) -> None:
    """llama.cpp ends the process where fewer tokens have logits than there are sequences: that is told, and no more."""
    path = tiny_model(tmp_path / "llama.gguf", "llama")
    good, deadly = Loading(n_ctx=1024), Loading(n_ctx=1024, n_seq_max=4, n_outputs_max=1)
    run = verify(path, [good, deadly, good])
    assert isinstance(run, DryRun)
    first, second, third = run.settings
    assert first == third
    assert not first.failure
    assert second.failure.startswith("llama.cpp died of it (exit status -6); its last message: ")
    assert "GGML_ASSERT(n_outputs_max" in second.failure


def test_death_over_a_file_is_an_error_with_what_was_said_last(tmp_path: Path) -> None:
    """A state of another width than llama.cpp believes: it asserts while it loads, in the child."""
    path = tiny_model(tmp_path / "jamba.gguf", "jamba", {"ssm.inner_size": 128})
    with pytest.raises(ModelLoadError, match=r"cannot load .*; its last message: .*GGML_ASSERT\("):
        verify(path, [Loading(n_ctx=1024)])
    with pytest.raises(ModelLoadError, match="GGML_ASSERT"):
        open_model(Definition("jamba", str(path), Loading(n_ctx=1024)), trial=True)


def test_dry_run_names_the_versions_of_package_and_runtime(tmp_path: Path) -> None:
    """A figure is worth what the version is that said it."""
    run = verify(offline_chat_model(tmp_path / "offline.gguf"), [Loading(n_ctx=512)])
    package, runtime = run.version.rstrip(")").split(" (")
    assert package.startswith("0.3.")
    assert runtime
