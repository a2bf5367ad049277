"""What a file looks like that is no GGUF: the usual mistakes, each with what to do about it."""

from __future__ import annotations

from typing import Final

__all__ = ["LOOKED_AT_BYTES", "look"]

# As much of a file's beginning as `look` wants.
LOOKED_AT_BYTES: Final = 512

_CONVERT: Final = "convert it with llama.cpp's convert_hf_to_gguf.py, or download the model as GGUF"
_AGAIN: Final = "download it again"
_BEGINNINGS: Final = (
    (
        b"version https://git-lfs",
        "a Git LFS pointer, which stands for the file",
        "run `git lfs pull` where it was cloned",
    ),
    (b"PK\x03\x04", "a ZIP archive, as PyTorch checkpoints are", _CONVERT),
    (b"\x80\x02", "a Python pickle, as old PyTorch checkpoints are", _CONVERT),
    (b"\x89HDF", "an HDF5 file, as Keras models are", _CONVERT),
    (b"lmgg", "a GGML file from before GGUF", _CONVERT),
    (b"fmgg", "a GGML file from before GGUF", _CONVERT),
    (b"tjgg", "a GGML file from before GGUF", _CONVERT),
    (b"\x1f\x8b", "compressed with gzip", "unpack it"),
    (b"\x28\xb5\x2f\xfd", "compressed with Zstandard", "unpack it"),
    (b"\xfd7zXZ", "compressed with xz", "unpack it"),
    (b"7z\xbc\xaf", "a 7-Zip archive", "unpack it"),
)


def look(beginning: bytes) -> str:
    """Return what a file that is no GGUF looks like, and what to do, by its first `LOOKED_AT_BYTES` bytes."""
    for magic, what, todo in _BEGINNINGS:
        if beginning.startswith(magic):
            return f"it is {what}; {todo}"
    if beginning[8:10] in {b'{"', b"{}", b"{ "}:
        return f"it is a safetensors file; {_CONVERT}"
    return _text(beginning.lstrip(b"\xef\xbb\xbf \t\r\n").lower()) or _rest(beginning)


def _text(text: bytes) -> str:
    if text.startswith((b"<!doctype", b"<html", b"<?xml")):
        return f"it is a web page, which a download that was refused leaves behind; {_AGAIN}, logged in if need be"
    if text.startswith((b"{", b"[")):
        return f"it is JSON, perhaps a server's error; {_AGAIN}"
    return ""


def _rest(beginning: bytes) -> str:
    if not beginning:
        return f"it is empty; {_AGAIN}"
    if not beginning.strip(b"\0"):
        return f"it begins with zeros, as a download that was never filled; {_AGAIN}"
    if b"GGUF".startswith(beginning):
        return f"it ends within the word that begins it, an incomplete download; {_AGAIN}"
    return f"it begins with {beginning[:8]!r}; give a file that ends in .gguf"
