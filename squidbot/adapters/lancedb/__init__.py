"""The nearest of many vectors by LanceDB: in a folder beside the store, and not in memory.

| file   | holds |
|--------|-------|
| index  | `LanceIndex`: what lies in the folder, what came since, and what has gone since |
| held   | what came since: its rows and vectors in memory, each compared |
| table  | a table of LanceDB: written whole or grown, and searched |
| folder | which of the tables counts, and whether its files are as they were written |
"""

from squidbot.adapters.lancedb.index import LanceIndex

__all__ = ["LanceIndex"]
