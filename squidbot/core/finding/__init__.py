"""Messages are found again by their words.

| file     | holds |
|----------|-------|
| ranking  | which messages answer a query best, in bounded time, for every store |
| matching | the words of a query without those that tell nothing |
| words    | a text as terms; how a query is read |
| sayings  | what of a payload is searched |
"""
