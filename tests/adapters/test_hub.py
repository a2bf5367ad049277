"""Model files that were downloaded before: the layouts of the usual caches, and what is said where there is none."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.gguf import read_header
from squidbot.adapters.hub import find_model
from squidbot.core.errors import ConfigError
from squidbot.core.sizing.header import Tensor
from squidbot.testing import write_gguf

if TYPE_CHECKING:
    from pathlib import Path

REPO, OLD, NEW = "Org/Tiny-GGUF", "a" * 40, "b" * 40


class Home:
    """A home folder to put downloads into, as the programs do."""

    def __init__(self, folder: Path) -> None:
        """Begin with nothing in it."""
        self.folder = folder
        self.environment = {"HOME": str(folder)}

    def hub(self, *names: str, revision: str = NEW, cache: str = ".cache/huggingface/hub", main: bool = True) -> Path:
        """Put files of the repository into a hub cache, as links into its blobs, and return the snapshot."""
        repository = self.folder / cache / "models--Org--Tiny-GGUF"
        snapshot = repository / "snapshots" / revision
        for name in names:
            blob = repository / "blobs" / f"{revision[0]}{name.replace('/', '')}"
            blob.parent.mkdir(parents=True, exist_ok=True)
            blob.write_text(revision)
            (snapshot / name).parent.mkdir(parents=True, exist_ok=True)
            (snapshot / name).symlink_to(os.path.relpath(blob, (snapshot / name).parent))
        if main:
            (repository / "refs").mkdir(exist_ok=True)
            (repository / "refs" / "main").write_text(revision)
        return snapshot

    def find(self, filename: str, repo_id: str = REPO, **variables: str) -> Path:
        """Look with these variables beside HOME."""
        return find_model(repo_id, filename, self.environment | variables)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Return an empty home folder."""
    return Home(tmp_path)


# -- where ------------------------------------------------------------------------------------------------------------


def test_find_model_takes_the_revision_of_main_from_a_hub_cache(home: Home) -> None:
    """An older main is what a download without a revision gets, whatever else is newer there."""
    main = home.hub("tiny-q8_0.gguf", revision=OLD)
    newer = home.hub("tiny-q8_0.gguf", "tiny-q2_k.gguf", revision=NEW, main=False)
    os.utime(main, (1, 1))
    assert home.find("tiny-q8_0.gguf") == main / "tiny-q8_0.gguf"
    assert home.find("tiny-q8_0.gguf").is_symlink()
    assert home.find("tiny-q2_k.gguf") == newer / "tiny-q2_k.gguf"


def test_find_model_takes_the_newest_revision_where_none_is_main(home: Home) -> None:
    """A revision that was asked for by its hash has no branch."""
    older, newer = (home.hub("t.gguf", revision=revision, main=False) for revision in (NEW, OLD))
    os.utime(older, (1, 1))
    os.utime(newer, (2, 2))
    assert home.find("t.gguf") == newer / "t.gguf"


@pytest.mark.parametrize(
    ("variable", "value", "cache"),
    [
        ("HF_HUB_CACHE", "{}/x", "x"),
        ("HUGGINGFACE_HUB_CACHE", "~/x", "x"),
        ("HF_HOME", "{}/x", "x/hub"),
        ("XDG_CACHE_HOME", "{}/x", "x/huggingface/hub"),
        ("LLAMA_CACHE", "{}/x", "x"),
        ("HF_HOME", "", ".cache/huggingface/hub"),
    ],
)
def test_find_model_looks_where_the_environment_says(home: Home, variable: str, value: str, cache: str) -> None:
    """Each variable that the hub's programs and llama.cpp heed; one that is empty says nothing."""
    snapshot = home.hub("t.gguf", cache=cache)
    assert home.find("t.gguf", **{variable: value.format(home.folder)}) == snapshot / "t.gguf"
    named, usual = home.hub("both.gguf", cache=cache), home.hub("both.gguf", revision=OLD)
    expected = usual if cache.startswith(".cache") or variable == "LLAMA_CACHE" else named
    assert home.find("both.gguf", **{variable: value.format(home.folder)}) == expected / "both.gguf"


# -- which ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("filename", "expected"),
    [
        ("tiny-Q4_K_M.gguf", "tiny-Q4_K_M.gguf"),
        ("*Q4_K_M.gguf", "tiny-Q4_K_M.gguf"),
        ("*q4_k_m.gguf", "tiny-Q4_K_M.gguf"),
        ("*q8_0*", "Q8_0/tiny-q8_0.gguf"),
        ("tiny-q8_0.gguf", "Q8_0/tiny-q8_0.gguf"),
        ("Q8_0/tiny-q8_0.gguf", "Q8_0/tiny-q8_0.gguf"),
        ("Q8_0\\*", "Q8_0/tiny-q8_0.gguf"),
        ("big-bf16.gguf", "bf16/big-bf16-00001-of-00002.gguf"),
        ("*bf16*.gguf", "bf16/big-bf16-00001-of-00002.gguf"),
        ("*bf16-00001-of-00002.gguf", "bf16/big-bf16-00001-of-00002.gguf"),
        ("bf16/big-bf16-00002-of-00002.gguf", "bf16/big-bf16-00001-of-00002.gguf"),
        ("mmproj*", "mmproj-tiny-f16.gguf"),
    ],
)
def test_find_model_matches_names_and_patterns(home: Home, filename: str, expected: str) -> None:
    """Whole names, folders, patterns as llama-cpp-python has them, any case, and models in parts as one."""
    parts = [f"bf16/big-bf16-0000{number}-of-00002.gguf" for number in (1, 2)]
    names = ["tiny-Q4_K_M.gguf", "Q8_0/tiny-q8_0.gguf", *parts, "mmproj-tiny-f16.gguf", "README.md", "tiny-q8_0.json"]
    snapshot = home.hub(*names)
    assert home.find(filename) == snapshot / expected


def test_find_model_prefers_the_name_as_it_is_written(home: Home) -> None:
    """Another case counts only where there is none in this."""
    snapshot = home.hub("T-q4.gguf", "t-Q4.gguf")
    assert home.find("t-Q4.gguf") == snapshot / "t-Q4.gguf"
    with pytest.raises(ConfigError, match=r'"t-q4.gguf" matches several files of .*: T-q4.gguf, t-Q4.gguf; choose one'):
        home.find("t-q4.gguf")


def test_find_model_refuses_a_pattern_that_is_several(home: Home) -> None:
    """All of them are named."""
    home.hub("a-q4.gguf", "b-q4.gguf", "c-q8.gguf")
    with pytest.raises(ConfigError, match=r'"\*q4.gguf" matches several files of .*: a-q4.gguf, b-q4.gguf; choose one'):
        home.find("*q4.gguf")


def test_find_model_returns_parts_that_can_be_read(home: Home) -> None:
    """The links of a hub cache lead the reader to all parts."""
    snapshot = home.hub("m-00001-of-00002.gguf", "m-00002-of-00002.gguf")
    tensors = [Tensor(f"t{number}", (8,), 0) for number in range(4)]
    for path in write_gguf(home.folder / "m.gguf", {"general.architecture": "llama"}, tensors, parts=2):
        (snapshot / path.name).resolve().write_bytes(path.read_bytes())
    assert read_header(home.find("m.gguf")).tensors == tuple(tensors)


# -- what is not there ------------------------------------------------------------------------------------------------


def test_find_model_says_where_it_looked_and_what_would_download(home: Home) -> None:
    """Nothing is downloaded; the command that would is there to copy."""
    with pytest.raises(ConfigError) as caught:
        home.find("tiny.gguf", HF_HOME=str(home.folder / "hf"))
    text = str(caught.value)
    assert text.startswith("tiny.gguf of Org/Tiny-GGUF was not found, nothing of Org/Tiny-GGUF is there; looked in ")
    folders = ("hf/hub", ".cache/huggingface/hub")
    assert all(str(home.folder / folder) in text for folder in folders)
    assert text.endswith("Nothing is downloaded by itself; this does it: hf download Org/Tiny-GGUF tiny.gguf")


def test_find_model_says_what_else_is_there(home: Home) -> None:
    """A misspelt name is seen beside the right one; a pattern is downloaded as such."""
    home.hub("tiny-q8_0.gguf")
    with pytest.raises(ConfigError, match=r"of Org/Tiny-GGUF there are tiny-q8_0.gguf; looked in") as caught:
        home.find("*q4_k_m.gguf")
    assert str(caught.value).endswith('hf download Org/Tiny-GGUF --include "*q4_k_m.gguf"')


def test_find_model_never_takes_what_is_not_whole(home: Home) -> None:
    """A link to a blob that is still coming, a partial file of any program, one part of two."""
    snapshot = home.hub("a.gguf", "b-00001-of-00002.gguf", "c-00002-of-00002.gguf")
    blob = (snapshot / "a.gguf").resolve()
    blob.rename(f"{blob}.incomplete")
    for filename in ("a.gguf", "*a.gguf*", "b*.gguf", "c*", "*"):
        with pytest.raises(ConfigError, match="was not found, nothing of Org/Tiny-GGUF is there"):
            home.find(filename)


@pytest.mark.parametrize("repo_id", ["", "tiny", "a/b/c", "../..", "org/..", "org/name:Q4_K_M", "/etc/passwd", "a/b\n"])
def test_find_model_refuses_what_is_no_repository(home: Home, repo_id: str) -> None:
    """Nothing is looked for outside of the caches."""
    with pytest.raises(ConfigError, match='must look like "org/name", not'):
        home.find("t.gguf", repo_id)


def test_find_model_refuses_an_empty_filename(home: Home) -> None:
    """It would be anything."""
    with pytest.raises(ConfigError, match="filename is empty"):
        home.find("")
