"""Messages are found again by their words.

| file     | holds |
|----------|-------|
| ranking  | which messages answer a query best, in bounded time, for every store |
| matching | how well short texts answer a query, for every store |
| words    | a text as terms; how a query is read |
| sayings  | what of a payload is searched |
"""
