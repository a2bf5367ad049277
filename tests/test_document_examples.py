"""What the source documents show as an example is taken as it stands there, or refused with what to write instead.

The examples of 002 are in tests/exchanges/test_importing.py, those of 004 in tests/test_config.py.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.config import load_settings
from squidbot.core.errors import ConfigError
from squidbot.core.journal import to_line
from squidbot.core.memories import Scope
from squidbot.core.tokens.counters import builtin_counter

if TYPE_CHECKING:
    from pathlib import Path

# -- document 000: models.yaml, tool calls, the estimate --------------------------------------------------------------

MODELS = """\
models:
  qwen:
    type: gguf
    repo_id: bartowski/Qwen2.5-32B-Instruct-GGUF
    filename: Qwen2.5-32B-Instruct-Q4_K_M.gguf
    # --- NEW: per-model context/generation settings ---
    context_window: 32768       # n_ctx for GGUF, context hint for OpenAI
    max_tokens: 4096            # max output tokens for this model
    n_gpu_layers: -1            # GPU offload override

  dolphin:
    type: gguf
    repo_id: dphn/Dolphin3.0-Llama3.1-8B-GGUF
    filename: Dolphin3.0-Llama3.1-8B-Q8_0.gguf
    context_window: 65536       # 8B model, can afford larger context
    max_tokens: 4096

  gpt-5.2-chat-latest:
    type: openai
    model_id: gpt-5.2-chat-latest
    context_window: 128000      # API model's known limit
    max_tokens: 16384           # Can generate longer responses
"""
CAPPED = """\
models:
  qwen:
    type: gguf
    repo_id: bartowski/Qwen2.5-32B-Instruct-GGUF
    filename: Qwen2.5-32B-Instruct-Q4_K_M.gguf
    # context_window: 65536   # optional cap — omit to auto-size from VRAM
    max_tokens: 4096
    native_context_limit: 131072  # model's trained maximum (optional, for capping)
"""


RECENT = {"action": "search", "query": "recent conversations", "n_results": 5}


def test_models_yaml_of_document_000_gives_windows_and_longest_answers(tmp_path: Path) -> None:
    """B-01, B-02, B-07: the file as it stands; `type` and `model_id` are other names of `adapter` and `model`."""
    (tmp_path / "models.yaml").write_text(MODELS, encoding="utf-8")
    loaded = load_settings(tmp_path / "models.yaml")
    models = loaded.settings.models
    assert [(one.adapter, one.context_window, one.max_tokens) for one in models.values()] == [
        ("llama_cpp", 32_768, 4096),
        ("llama_cpp", 65_536, 4096),
        ("openai", 128_000, 16_384),
    ]
    assert models["gpt-5.2-chat-latest"].model == "gpt-5.2-chat-latest"
    assert (models["qwen"].repo_id, models["qwen"].n_gpu_layers) == ("bartowski/Qwen2.5-32B-Instruct-GGUF", -1)
    with squidbot.load(tmp_path / "models.yaml") as engine:
        window = engine.session("s", model="gpt-5.2-chat-latest").window
    assert (window.window_tokens, window.reserved_output_tokens) == (128_000, 16_384)
    (tmp_path / "capped.yml").write_text(CAPPED, encoding="utf-8")
    qwen = load_settings(tmp_path / "capped.yml").settings.model("qwen")
    assert (qwen.context_window, qwen.max_tokens, qwen.native_context_limit) == (None, 4096, 131_072)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("models:\n  a:\n    type: gguf\n    adapter: openai\n", r"type and adapter are the same setting; keep one @ "),
        ("models:\n  a:\n    kind: gguf\n", r"unknown key kind.* @ s\.yaml\.models\['a'\]"),
        ("- a\n", r"must be tables of settings, not \['a'\] @ s\.yaml"),
        ("models: {a: {type: gguf\n", r"s\.yaml, line .*: no YAML"),
    ],
)
def test_yaml_of_settings_is_refused_with_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    """As TOML is."""
    (tmp_path / "s.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        load_settings(tmp_path / "s.yaml")


def test_tool_calls_of_document_000_are_taken(tmp_path: Path) -> None:
    """B-18, B-30, B-34: a search with the parameters there; a recall of no summary says what ids look like."""
    settings = {"store": {"path": str(tmp_path / "a.db")}, "summary": {"scheduler": "none"}}
    with squidbot.load(settings) as engine:
        session = engine.session("s", window_tokens=8192, scope=Scope(user="nick"))
        session.record(session.assemble("I live in Ohio.").incoming, "Noted.")
        engine.run_jobs()
        found = session.memory({"action": "search", "query": "Ohio", "n_results": 5})
        assert "The user: I live in Ohio. (just now" in found.text
        assert "nothing relevant" in session.memory(RECENT).text
        assert "ids look like m17" in session.history({"action": "recall", "summary_id": "..."}).text


def test_estimate_of_document_000_is_a_counter() -> None:
    """B-22: `return len(text) // 4`."""
    assert builtin_counter("chars4").count("Rough token estimate.") == len("Rough token estimate.") // 4


# -- document 003: the tables of config.yml, an entry of the journal --------------------------------------------------

MEMORY = """\
memory:
  provider: sqlite
  storage_path: "${paths.memory_db}"
  embedding_model: sentence-transformers/all-MiniLM-L6-v2
  providers:
    sqlite:
      database_file: penguin_memory.db
"""
JOURNAL = """\
journal:
  enabled: true
  interval_minutes: 20
  max_entries_per_day: 200
  inject_latest_on_start: true
  token_threshold_fraction: 0.75
  summary_token_budget: 1200
  include_files: true
  include_errors: true
  redact_patterns: ["api_key", "secret"]
"""
ENTRY = """\
{
  "timestamp": "2026-01-27T12:34:56Z",
  "agent_id": "default",
  "run_id": "run_...",
  "summary": "...",
  "decisions": ["..."],
  "progress": ["..."],
  "open_questions": ["..."],
  "files_touched": ["..."],
  "tags": ["context", "memory"],
  "source_session": "session_...",
  "token_usage": {"total": 12345}
}
"""


def test_memory_table_of_document_003_is_refused_with_what_to_write_and_then_taken(tmp_path: Path) -> None:
    """P-11: its placeholder and its model are another program's; what is written instead is in the error."""
    file = tmp_path / "config.yml"
    file.write_text(MEMORY, encoding="utf-8")
    with pytest.raises(ConfigError, match="write the folder itself"):
        load_settings(file)
    file.write_text(MEMORY.replace("${paths.memory_db}", "memory_db"), encoding="utf-8")
    with pytest.raises(ConfigError, match="onnxruntime:FOLDER"):
        load_settings(file)
    file.write_text(MEMORY.replace("${paths.memory_db}", "memory_db").replace("sentence-", "onnxruntime:sentence-"))
    memory = load_settings(file).settings.memory
    assert (memory.provider, memory.path) == ("sqlite3", "memory_db/penguin_memory.db")


def test_journal_table_of_document_003_is_taken_and_says_its_defaults(tmp_path: Path) -> None:
    """J-03: each value is that of the document, and, but for `enabled`, squidbot's default."""
    file = tmp_path / "config.yml"
    file.write_text(JOURNAL, encoding="utf-8")
    settings, plain = load_settings(file).settings, load_settings({}).settings
    assert settings.journal == replace(plain.journal, enabled=True)
    assert (settings.pressure.journal_fraction, settings.journal.interval_minutes) == (0.75, 20)


def test_journal_entry_of_document_003_is_read_and_written_as_it_stands(tmp_path: Path) -> None:
    """J-01: the example of the schema, in the file of its day."""
    folder = tmp_path / "notes" / "journal"
    folder.mkdir(parents=True)
    line = json.dumps(json.loads(ENTRY))
    (folder / "2026-01-27.jsonl").write_text(line + "\n", encoding="utf-8")
    with squidbot.load({"journal": {"enabled": True, "folder": str(folder)}}) as engine:
        (entry,) = engine.journal().of_day("2026-01-27").entries
    assert (entry.timestamp, entry.tags, entry.total_tokens) == ("2026-01-27T12:34:56Z", ("context", "memory"), 12_345)
    assert json.loads(to_line(entry)) == json.loads(ENTRY)
