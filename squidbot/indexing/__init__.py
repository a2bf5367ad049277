"""Files of notes, journals and recorded conversations, found as memories are: read where they changed, by digest.

| file    | holds |
|---------|-------|
| indexed | `reindex`: what has changed is exchanged, what is gone is forgotten; what became of each file |
| paths   | what is indexed: settings, journals, what is asked for |
| reading | a file as pieces |
| walking | the files that a path, a folder or a pattern means, and those that are passed over |
"""

from squidbot.indexing.indexed import Became, Indexed, Outcome, reindex
from squidbot.indexing.paths import Paths

__all__ = ["Became", "Indexed", "Outcome", "Paths", "reindex"]
