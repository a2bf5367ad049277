"""`squidbot model size`: what a model file takes, on devices that are named, and what it says where nothing fits."""

from __future__ import annotations

import importlib.util
import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from squidbot.adapters.llama_cpp.verify import DryRun, DryRunSetting
from squidbot.cli import main
from squidbot.core.devices import MainMemory
from squidbot.core.sizing.header import Tensor
from squidbot.testing.ggufs import offline_chat_model, write_gguf

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from click.testing import Result

    from squidbot.core.sizing.header import Loading
    from squidbot.testing.ggufs import Item, Metadata, Typed

MIB, GIB = 2**20, 2**30
F32, Q4_K, Q6_K = 0, 12, 14


def llama(path: Path, layers: int = 32, *, name: str = "llama") -> Path:
    """Write the header of Llama-3.1-8B with real dimensions, its tensors a hole: 5 GB that take no room."""
    block = {
        "attn_norm": ((4096,), F32),
        "attn_q": ((4096, 4096), Q4_K),
        "attn_k": ((4096, 1024), Q4_K),
        "attn_v": ((4096, 1024), Q6_K),
        "attn_output": ((4096, 4096), Q4_K),
        "ffn_norm": ((4096,), F32),
        "ffn_gate": ((4096, 14336), Q4_K),
        "ffn_up": ((4096, 14336), Q4_K),
        "ffn_down": ((14336, 4096), Q6_K),
    }
    tensors = [Tensor("token_embd.weight", (4096, 128256), Q4_K), Tensor("output_norm.weight", (4096,), F32)]
    tensors += [Tensor("output.weight", (4096, 128256), Q6_K)]
    for layer in range(layers):
        tensors += [Tensor(f"blk.{layer}.{part}.weight", *shape) for part, shape in block.items()]
    metadata: Metadata = {
        "general.architecture": name,
        f"{name}.block_count": layers,
        f"{name}.context_length": 131072,
        f"{name}.embedding_length": 4096,
        f"{name}.feed_forward_length": 14336,
        f"{name}.attention.head_count": 32,
        f"{name}.attention.head_count_kv": 8,
        f"{name}.rope.dimension_count": 128,
        f"{name}.attention.layer_norm_rms_epsilon": 1e-5,
        "tokenizer.ggml.model": "none",
    }
    write_gguf(path, metadata, tensors)
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stub of Llama-3.1-8B."""
    return llama(tmp_path_factory.mktemp("models") / "llama-8b.gguf")


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No squidbot.toml but the test's own, and main memory that does not depend on who runs it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("squidbot.adapters.gpus.main_memory", lambda *_: MainMemory(64 * GIB, 48 * GIB))


def sized(*arguments: object, code: int = 0) -> Result:
    """Run the command, and return what it printed."""
    done = CliRunner().invoke(main, ["model", "size", *map(str, arguments)])
    assert done.exit_code == code, done.output
    return done


def answer(*arguments: object, code: int = 0) -> dict[str, Any]:
    """Return its JSON."""
    found: dict[str, Any] = json.loads(sized(*arguments, "--json", code=code).stdout)
    return found


def test_size_says_the_largest_window_and_what_goes_where(model: Path) -> None:
    """The example of the design: a card with 15,500 MiB free holds 71,680 tokens of f16 cache beside the weights."""
    found = answer(model, "--vram", "15500MiB")
    assert (found["largest_window"], found["bound_by"], found["fits"], found["source"]) == (
        71680,
        "vram",
        True,
        "header",
    )
    assert (found["architecture"], found["kv_bytes_per_token"], found["recurrent_bytes"]) == ("llama", 131072, 0)
    card, host = found["devices"]
    assert (card["kv_bytes"], round(card["weights_bytes"] / MIB), host["kv_bytes"]) == (8960 * MIB, 4651, 0)
    parts = ("weights_bytes", "kv_bytes", "recurrent_bytes", "compute_bytes")
    for device in (card, host):
        assert device["total_bytes"] == sum(device[part] for part in parts)
    for part in (*parts, "total_bytes"):
        assert found[part] == card[part] + host[part]
    assert card["left_bytes"] == 15500 * MIB - card["total_bytes"] - card["margin_bytes"] >= 0
    assert {"change": "q8_0", "window": 129024}.items() <= found["others"][0].items()


def test_size_prints_a_table_that_adds_up(model: Path) -> None:
    """Free, each part, the margin and what is left, in MiB; and what would give more."""
    printed = sized(model, "--vram", "15500MiB").stdout
    assert "llama-8b.gguf: llama, 32 layers, trained for 131,072 tokens" in printed
    assert "largest window 71,680 tokens, bound by GPU memory" in printed
    device = printed.split("device 0 (cuda)")[1].split("main memory")[0]
    rows = {}
    for line in device.splitlines():
        cells = [cell for cell in line.split("  ") if cell.strip()]
        if len(cells) >= 2 and cells[1].strip().replace(",", "").replace(".", "").isdigit():
            rows[cells[0].strip()] = float(cells[1].replace(",", ""))
    assert rows["free"] == 15500
    taken = sum(rows[part] for part in ("weights", "KV cache", "compute", "margin", "left"))
    assert abs(rows["free"] - taken) < 0.5
    assert "q8_0 KV cache" in printed
    assert "129,024" in printed


def test_size_of_one_window_says_whether_it_fits(model: Path) -> None:
    """Exit 1 where it does not, with what would."""
    small = answer(model, "--vram", "15500MiB", "--window", "8k")
    assert (small["window"], small["fits"], small["largest_window"]) == (8192, True, 71680)  # n_ctx in steps of 256
    large = answer(model, "--vram", "15500MiB", "--window", "128Ki", code=1)
    assert (large["window"], large["fits"], large["largest_window"]) == (131072, False, 71680)
    assert large["devices"][0]["left_bytes"] < 0
    assert {one["change"] for one in large["others"]} >= {"q4_0"}
    printed = sized(model, "--vram", "15500MiB", "--window", "128Ki", code=1).stdout
    assert "a window of 131,072 tokens does not fit" in printed
    assert "too little" in printed


def test_size_lists_all_smaller_types_of_the_cache_and_a_smaller_margin(model: Path) -> None:
    """The most exact first; those for which llama.cpp may compute attention on the CPU say so."""
    others = {one["change"]: one["window"] for one in answer(model, "--vram", "7.6GiB")["others"]}
    types = ["q8_0", "q5_1", "q5_0", "q4_1", "q4_0"]
    assert [change for change in others if change in types] == types
    windows = [others[change] for change in types]
    assert windows == sorted(set(windows))
    assert others["margin"] > answer(model, "--vram", "7.6GiB")["largest_window"]
    printed = sized(model, "--vram", "7.6GiB").stdout
    assert "tokens; slow on NVIDIA unless" in printed
    assert "a margin of 512 MiB" in printed


def test_size_names_the_changes_that_do_together(model: Path) -> None:
    """Where none does alone; the options for them make it fit."""
    asked = (model, "--vram", "7600MiB", "--window", "40960")
    together = [one for one in answer(*asked, code=1)["others"] if one["also"]]
    assert [(one["change"], one["also"]) for one in together] == [("q5_1", ["margin"]), ("q4_0", ["margin"])]
    assert "q4_0 KV cache and a margin of 512 MiB" in sized(*asked, code=1).stdout
    assert answer(*asked, "--kv", "q4_0", "--margin", "512")["fits"] is True
    assert answer(*asked, "--kv", "q4_0", code=1)["fits"] is False


def test_size_refuses_memory_without_a_unit(model: Path) -> None:
    """7.6 bytes are meant by nobody; bytes as a whole number are."""
    assert "'7.6' is less than 1 MiB; name the unit, as in 7.6GiB" in sized(model, "--vram", "7.6", code=2).stderr
    assert answer(model, "--vram", str(8 * GIB))["fits"] is True


def test_size_says_that_the_window_of_the_settings_does_not_fit(model: Path, tmp_path: Path) -> None:
    """Exit 1, although a smaller one does; not where the option asks for another one."""
    table = f'[models.big]\npath = "{model}"\nkv_type = "q8_0"\ncontext_window = 32768\n'
    (tmp_path / "squidbot.toml").write_text(table, encoding="utf-8")
    printed = sized("big", "--vram", "7.6GiB", code=1).stdout
    assert "largest window 18,432 tokens, bound by GPU memory" in printed
    assert "the settings ask for 32,768 tokens, which do not fit" in printed
    assert answer("big", "--vram", "7.6GiB", code=1)["fits"] is False
    assert answer("big", "--vram", "7.6GiB", "--window", "16384")["fits"] is True
    assert "the settings ask" not in sized("big", "--vram", "12GiB").stdout


def test_size_says_what_would_fit_when_nothing_does(model: Path) -> None:
    """The reason with its numbers, and fewer layers on the GPU; "auto" takes them."""
    none = answer(model, "--vram", "4GB", code=1)
    assert (none["largest_window"], none["fits"]) == (None, False)
    assert "MiB are free" in none["reason"]
    fewer = next(one for one in none["others"] if one["change"] == "n_gpu_layers")
    auto = answer(model, "--vram", "4GB", "--gpu-layers", "auto")
    assert (auto["fits"], auto["loading"]["n_gpu_layers"]) == (True, fewer["n_gpu_layers"])
    assert (auto["bound_by"], auto["window"]) == ("vram", auto["largest_window"])
    assert 0 < fewer["n_gpu_layers"] < 33


def test_auto_puts_as_many_layers_there_as_fit_with_the_window_that_is_asked_for(model: Path) -> None:
    """More tokens, fewer layers: one more would not fit with that window."""
    small = answer(model, "--vram", "4GB", "--gpu-layers", "auto")["loading"]["n_gpu_layers"]
    large = answer(model, "--vram", "4GB", "--gpu-layers", "auto", "--window", "8192")
    assert (large["fits"], large["window"]) == (True, 8192)
    layers = large["loading"]["n_gpu_layers"]
    assert 0 < layers < small
    more = answer(model, "--vram", "4GB", "--gpu-layers", str(layers + 1), "--window", "8192", code=1)
    assert more["fits"] is False


def test_size_says_so_when_nothing_would_fit(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither on the card nor beside it: what is left to do stands there."""
    monkeypatch.setattr("squidbot.adapters.gpus.main_memory", lambda *_: MainMemory(4 * GIB, GIB))
    printed = " ".join(sized(model, "--vram", "1GB", code=1).stdout.split())
    assert "makes it fit: free some memory or choose a smaller model" in printed
    assert "does not fit: 2,048 tokens take 5,221.5 MiB of device 0 (weights 4,651.0 MiB)" in printed


def test_size_says_so_when_a_window_is_larger_than_the_model_was_trained_with(model: Path) -> None:
    """There may be room for it; that it is of use nobody promises."""
    printed = " ".join(sized(model, "--vram", "80GB", "--window", "200000").stdout.split())
    assert "a window of 200,192 tokens fits; the model was trained with 131,072" in printed
    assert "trained with 131,072" not in sized(model, "--vram", "80GB", "--window", "4096").stdout.split("largest")[0]


def test_size_puts_layers_on_several_devices(model: Path) -> None:
    """Shares follow what is free; every device has to have room."""
    found = answer(model, "--vram", "8GiB,8GiB")
    first, second, host = found["devices"]
    assert first["layers"] + second["layers"] == 33
    assert abs(first["layers"] - second["layers"]) <= 1
    assert (host["layers"], host["kind"]) == (0, "cpu")
    assert found["fits"]


def test_options_change_what_they_name(model: Path) -> None:
    """Each reaches how the model is loaded."""
    options = ("--kv", "q8_0", "--gpu-layers", "20", "--batch", "256", "--margin", "0", "--window", "4096")
    found = answer(model, "--vram", "24GB", *options)
    loading = found["loading"]
    assert (loading["type_k"], loading["type_v"], loading["n_gpu_layers"]) == ("q8_0", "q8_0", 20)
    assert (loading["n_ubatch"], loading["n_ctx"], loading["flash_attn"]) == (256, 4096, True)
    assert (found["kv_bytes_per_token"], found["devices"][0]["margin_bytes"]) == (69632, 0)
    assert answer(model, "--vram", "24GB", "--no-flash-attn")["loading"]["flash_attn"] is False


def test_size_takes_an_alias_and_what_the_settings_say_of_it(model: Path, tmp_path: Path) -> None:
    """An option goes before the settings."""
    table = f'[models.big]\npath = "{model}"\nkv_type = "q4_0"\nn_ubatch = 128\ncontext_window = 20000\n'
    (tmp_path / "squidbot.toml").write_text(table, encoding="utf-8")
    found = answer("big", "--vram", "15500MiB", "--batch", "64")
    assert (found["loading"]["type_k"], found["loading"]["n_ubatch"]) == ("q4_0", 64)
    assert (found["largest_window"], found["bound_by"]) == (19456, "model-cap")
    (tmp_path / "big").mkdir()
    assert answer("big", "--vram", "15500MiB")["path"] == str(model)


def test_size_uses_this_machine_when_no_memory_is_named(tmp_path: Path) -> None:
    """A machine of any kind holds 93 kB."""
    found = answer(offline_chat_model(tmp_path / "tiny.gguf"))
    assert (found["largest_window"], found["bound_by"], found["fits"]) == (2048, "native-limit", True)


def test_unknown_layout_is_refused_by_name(tmp_path: Path) -> None:
    """Never guessed: exit 1, and the way to know it."""
    found = answer(llama(tmp_path / "new.gguf", 1, name="deepseek9"), "--vram", "15500MiB", code=1)
    assert (found["fits"], found["largest_window"], found["kv_bytes"]) == (False, None, None)
    assert "unknown cache layout 'deepseek9'" in found["reason"]
    assert "--verify" in found["reason"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("gone.gguf",), 2, "gone.gguf: no such file"),
        (
            ("llama-8b.gguf", "--vram", "much"),
            2,
            "'much' is not a number of bytes; write 16000000000, 16GB or 15500MiB",
        ),
        (("llama-8b.gguf", "--vram", "8GB,"), 2, "'' is not a number of bytes"),
        (
            ("llama-8b.gguf", "--gpu-layers", "most"),
            2,
            "'most' is not a number of layers; write 0 or more, all, or auto",
        ),
        (("llama-8b.gguf", "--vram", "8GB", "--kv", "q8_0", "--no-flash-attn"), 2, "flash_attn must be true"),
        (("cut.gguf",), 4, "cut.gguf"),
    ],
)
def test_size_says_what_is_wrong(arguments: tuple[str, ...], code: int, said: str, tmp_path: Path, model: Path) -> None:
    """2 for what was asked, 4 for a file that is damaged; one line."""
    (tmp_path / "llama-8b.gguf").symlink_to(model)
    with model.open("rb") as whole:
        (tmp_path / "cut.gguf").write_bytes(whole.read(1000))
    done = sized(*arguments, code=code)
    assert said in done.stderr
    assert "Traceback" not in done.output


@pytest.mark.skipif(importlib.util.find_spec("llama_cpp") is None, reason="llama-cpp-python is not installed")
def test_verify_sets_llama_cpp_beside_it(tmp_path: Path) -> None:
    """Its own dry run says the same, to the byte."""
    whole = answer(offline_chat_model(tmp_path / "tiny.gguf"), "--verify")
    found = whole["verified"]
    assert (found["failure"], found["tensor_difference_bytes"], found["kv_difference_bytes"]) == (None, 0, 0)
    # On this machine's devices its compute figure takes the place of ours; for a card that was named it can't.
    assert (whole["source"], whole["compute_kind"]) == ("dry run", "dry run")
    assert whole["compute_bytes"] == sum(found["compute"].values())
    other = answer(tmp_path / "tiny.gguf", "--verify", "--vram", "8GB")
    assert (other["source"], other["verified"]["kv_difference_bytes"]) == ("header", 0)
    assert "equal" in sized(tmp_path / "tiny.gguf", "--verify").stdout


@pytest.mark.skipif(importlib.util.find_spec("llama_cpp") is not None, reason="llama-cpp-python is installed")
def test_verify_says_what_it_needs(tmp_path: Path) -> None:
    """Which package, and how to get it; nothing is half said."""
    done = sized(offline_chat_model(tmp_path / "tiny.gguf"), "--verify", code=1)
    assert "pip install 'squidbot-context[llama-cpp]'" in done.stderr


@pytest.mark.parametrize("fitting", [0, 1, 2, 16, 17, 31, 64])
def test_largest_window_is_found_by_dry_runs_where_no_header_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fitting: int
) -> None:
    """Of 64 windows the last that fits, to the step: llama.cpp's compute buffers decide, in few children."""
    asked: list[int] = []

    def dry_run(_: str, loadings: Sequence[Loading]) -> DryRun:
        asked.append(len(loadings))
        said = [
            DryRunSetting(
                loading, loading.n_ctx, (), {"CPU": MIB if loading.n_ctx <= 1024 * fitting else 999 * GIB}, None, None
            )
            for loading in loadings
        ]
        return DryRun("made up", 0, tuple(said))

    monkeypatch.setattr("squidbot.cli.model.verify", dry_run)
    (tmp_path / "squidbot.toml").write_text("[window]\nmin = 1024\n[gpu]\nprobe = 'none'\n", encoding="utf-8")
    keys = {"ssm.conv_kernel": 4, "ssm.inner_size": 64, "ssm.state_size": 4, "ssm.time_step_rank": 2}
    keys |= {"block_count": 1, "context_length": 64 * 1024, "embedding_length": 32, "attention.head_count": 0}
    metadata: dict[str, Item | Sequence[Item] | Typed] = {f"mamba.{key}": value for key, value in keys.items()}
    embedding = Tensor("token_embd.weight", (32, 64), F32)
    write_gguf(tmp_path / "mamba.gguf", {"general.architecture": "mamba", **metadata}, [embedding])
    found = answer("mamba.gguf", "--verify", code=0 if fitting else 1)
    assert found["largest_window"] == (1024 * fitting or None)
    assert found["fits"] is bool(fitting)
    assert found["bound_by"] == {0: None, 64: "native-limit"}.get(fitting, "memory")
    assert (found["compute_kind"], found["source"]) == ("dry run", "dry run")
    assert len(asked) <= 4
    assert max(asked) <= 16
