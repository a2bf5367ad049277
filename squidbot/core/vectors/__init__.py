"""Memories by what they mean: vectors beside the truth, and what finds the nearest of them.

The truth keeps a vector for each memory and model. An index is a view of it that may be lost, damaged or behind at any
time: a stamp says whether it holds what the truth holds, and no hit is returned that the truth does not confirm.

| file    | holds |
|---------|-------|
| nearest | `Nearest`: an index kept up with its truth, and searched |
| values  | entries and stamps, and the ports of indexes and of the truth |
"""
