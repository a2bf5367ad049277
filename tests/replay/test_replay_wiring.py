"""From what the user wrote to what a replay runs on."""

from __future__ import annotations

import base64
import sys
import tempfile
from typing import TYPE_CHECKING

import pytest

from squidbot.core.budget import PolicyCaps
from squidbot.core.errors import BudgetError, ConfigError, DamagedStoreError
from squidbot.core.settings import STRATEGIES, strategy
from squidbot.replay.recording import CODECS
from squidbot.replay.terms import open_counter, open_replay_store, terms_for
from squidbot.testing import made_message

if TYPE_CHECKING:
    from pathlib import Path


def ranks(path: Path) -> str:
    """Write token ranks of single bytes and return the file's path."""
    path.write_bytes(b"".join(base64.b64encode(bytes([byte])) + b" %d\n" % byte for byte in range(256)))
    return str(path)


def test_codecs_are_known_by_their_tags() -> None:
    """As the reader of transcripts names them."""
    assert set(CODECS) == {"openai.chat", "openai.responses", "anthropic.messages"}
    assert all(codec.tag == tag for tag, codec in CODECS.items())


@pytest.mark.parametrize("name", ["words", "chars4", "chars3", "bytes", "classes"])
def test_open_counter_knows_the_built_in_ones(name: str) -> None:
    """By their names."""
    assert open_counter(name).name == name


def test_open_counter_reads_ranks_from_a_local_file(tmp_path: Path) -> None:
    """A file that ends in .tiktoken is the model's own tokenizer: its counts are exact."""
    pytest.importorskip("tiktoken")
    counter = open_counter(ranks(tmp_path / "cl100k_small.tiktoken"))
    assert counter.certificate == "exact"
    assert counter.count("four") == counter.upper_bound("four") == 4


def test_open_counter_names_the_extra_where_the_package_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What to install is said; nothing is fetched."""
    monkeypatch.setitem(sys.modules, "squidbot.adapters.tiktoken", None)
    with pytest.raises(
        ConfigError, match=r"needs the package tiktoken; the extra tiktoken is missing; in your clone: "
    ):
        open_counter(ranks(tmp_path / "cl100k_small.tiktoken"))


@pytest.mark.parametrize("given", ["", "tokens", "Classes", "o200k"])
def test_open_counter_lists_what_there_is_for_any_other_name(given: str) -> None:
    """Names are exact."""
    with pytest.raises(ConfigError, match=r"known: bytes, .*words, or the path of a \*\.tiktoken file"):
        open_counter(given)


def test_open_store_without_a_path_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folder is gone with it, whatever happened inside."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def used() -> None:
        with open_replay_store(None) as store:
            store.append("s", 0, [made_message(0)])
            assert len(list(tmp_path.iterdir())) == 1
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        used()
    assert list(tmp_path.iterdir()) == []


def test_open_store_with_a_path_keeps_the_file(tmp_path: Path) -> None:
    """What was stored is there the next time."""
    for expected in (0, 1):
        with open_replay_store(tmp_path / "s.db") as store:
            assert store.head("s") == (expected, 0)
            store.append("s", expected, [made_message(expected)])


def test_open_store_tells_a_wrong_path_from_a_file_that_is_no_store(tmp_path: Path) -> None:
    """The first is the user's to correct, the second may be damage."""
    (tmp_path / "text").write_text("no database, but text " * 400)
    with pytest.raises(ConfigError, match="missing"), open_replay_store(tmp_path / "missing" / "s.db"):
        pytest.fail("its folder is missing")
    with pytest.raises(DamagedStoreError), open_replay_store(tmp_path / "text"):
        pytest.fail("it is no store")


def test_terms_take_the_default_reserve_and_the_strategy_for_the_room() -> None:
    """C12: min(4096, a quarter of the window)."""
    terms = terms_for(8_000, None, "speed", open_counter("bytes"), "tokens")
    assert (terms.window.window_tokens, terms.window.reserved_output_tokens, terms.limit_tokens) == (
        8_000,
        2_000,
        6_000,
    )
    assert terms.settings == strategy("speed", 6_000)
    assert terms.settings.policy_limit is None
    large = terms_for(128_000, None, "speed", open_counter("bytes"), "tokens")
    assert large.limit_tokens == 128_000 - 4_096


def test_terms_in_words_keep_the_policy_cap_beside_the_window() -> None:
    """Estimates are words then, bounds stay tokens; another strategy keeps the cap."""
    terms = terms_for(32_000, 0, "balanced", open_counter("bytes"), "words")
    assert terms.settings.policy_limit == PolicyCaps().total
    assert terms.meter.text("two words") == (2, 9)
    for name in STRATEGIES:
        assert terms.with_strategy(name).settings.policy_limit == PolicyCaps().total
    assert terms.with_strategy("speed").strategy == "speed"
    assert terms.with_strategy("speed").window == terms.window


def test_terms_refuse_what_can_not_be() -> None:
    """No room for input, and an unknown strategy, each by its own error."""
    counter = open_counter("bytes")
    with pytest.raises(BudgetError):
        terms_for(4_096, 4_096, "balanced", counter, "tokens")
    with pytest.raises(ConfigError, match="known: coherence, balanced, speed"):
        terms_for(4_096, 512, "best", counter, "tokens")
