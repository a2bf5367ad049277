"""A chat with a local model on a card, or a computer, of 8 GB.

It shows how squidbot sizes a GGUF file before it is loaded: by the file's header, and by the memory that is free now. A
smaller type of cache holds a larger window; the program takes the first one that holds 16,384 tokens. Run it in your
clone, with a model that you have downloaded. The first command says what would fit, and loads nothing:

    pip install '.[xllamacpp]' && squidbot model size ~/models/qwen3-8b-q4_k_m.gguf --vram 8GB
    python examples/local_model.py ~/models/qwen3-8b-q4_k_m.gguf

You see a window for each type of cache, then a chat. Below each answer stands how full its request was. Ctrl-D ends it,
and the same command goes on with it. `xllamacpp` comes for the CPU; docs/models.md says how to get it for a GPU.
"""

import sys
from pathlib import Path

import squidbot

CACHES = ("f16", "q8_0", "q4_0")  # from the most exact one to the smallest
WANTED_TOKENS = 16_384


def settings(path: Path, kv_type: str) -> dict[str, object]:
    """Return the settings for a model with a cache of that type."""
    model = {"path": str(path), "adapter": "xllamacpp", "kv_type": kv_type}
    return {"models": {"local": model}, "store": {"path": "squid.db"}}


def best_cache(path: Path) -> str:
    """Return the most exact cache whose window is large enough, else the one with the largest window."""
    windows: dict[str, int] = {}
    for kv_type in CACHES:
        try:
            with squidbot.load(settings(path, kv_type)) as engine:
                window = engine.session("chat", model="local").window
        except squidbot.ConfigError as error:  # a model of few dimensions, for which only f16 is possible
            if not windows:
                raise
            print(f"{kv_type}: {error}")
            continue
        windows[kv_type] = window.window_tokens
        print(f"{kv_type}: {window.window_tokens:,} tokens ({window.source})")
        if window.window_tokens >= WANTED_TOKENS:
            break
    return max(windows, key=windows.__getitem__)


def chat(path: Path, kv_type: str) -> None:
    """Answer each line of the standard input."""
    with squidbot.load(settings(path, kv_type)) as engine:
        model = engine.model("local")  # loaded with the window that fits
        session = engine.session("chat", model="local", form=model.form)
        while line := sys.stdin.readline():
            assembly = session.assemble(line.strip())
            reply = model.reply(assembly.messages, assembly.max_output_tokens, on_text=write)
            usage = squidbot.Usage(reply.input_tokens, reply.output_tokens, reply.cached_tokens)
            session.record(assembly.incoming, reply.message, usage=usage)
            print(f"\n[{assembly}]")


def write(text: str) -> None:
    """Write a piece of the answer; a model must not control the terminal."""
    print("".join(char if char.isprintable() or char == "\n" else "?" for char in text), end="", flush=True)


if __name__ == "__main__":
    file = Path(sys.argv[1]).expanduser()
    chat(file, best_cache(file))
