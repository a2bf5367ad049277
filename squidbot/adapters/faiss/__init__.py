"""The nearest of many vectors by FAISS, in memory, with a file beside the store.

| file  | holds |
|-------|-------|
| index | `FaissIndex`: exact up to some ten thousand, in lists of coarse vectors above |
| rows  | whose vector is which: places, marks and views, as arrays |
| files | a file that is whole, or found not to be |
"""

from squidbot.adapters.faiss.index import FaissIndex

__all__ = ["FaissIndex"]
