"""The header of a model file in the format GGUF, with the standard library alone: metadata and table of tensors.

| file    | holds |
|---------|-------|
| reader  | `read_header`: a model in one file or several, remembered while its files stay as they are |
| parsing | one file's metadata and table of tensors |
| cursor  | reading forward, with bounds and in bounded memory; errors name file, byte and what to do |
| looks   | what a file looks like that is none |
"""

from squidbot.adapters.gguf.reader import read_header

__all__ = ["read_header"]
