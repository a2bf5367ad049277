"""Memories are found again without a language model and without a download: what speaks for a passage, weighed.

| file      | holds |
|-----------|-------|
| index     | passages in memory, and both steps of a search: candidates, then their order; a model for other stores |
| selection | of what was found, what is told first, and once |
| ranking   | one score from all signals, what each weighs and why |
| signals   | what speaks for a passage: words, neighbours, group, speaker, days, shape |
| likeness  | what speaks for a passage by vectors, which others bring along |
| matching  | how much of each term of a query a passage has |
| query     | a question as what is looked for |
| texts     | a passage as what it is found by, made once when it is stored |
| kin       | words that speak of the same |
| dates     | the days that a text speaks of |
| stems     | English words without their inflections |
"""
