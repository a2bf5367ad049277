"""MemoryStore in a file of stores: memories beside the sessions, or in a file of their own.

| file       | holds |
|------------|-------|
| store      | `SqliteMemoryStore`: the port, vectors, and what other views are made from |
| changes    | what adds, forgets and exchanges memories, with their words and vectors |
| queries    | every statement that reads or writes memories and what is left of forgotten ones |
| history    | memories that take the places of others, what takes that back, and which messages say them |
| marks      | how far sessions were read for facts |
| looks      | how much a file holds, looked at without writing |
| searching  | what answers a query, best first |
| candidates | which memories of a view may answer a query, in bounded time |
| index      | what search finds memories by: a view that can be made anew |
| places     | `SqliteVectors`: vectors in the order of their coming, with a stamp, for indexes of them |
| vectors    | vectors of memories by the model that made them |
| beside     | the files beside a store that are views of these |
| rows       | a memory as a row and back, with its checksum |
| saving     | what `doctor` says and saves of memories |
| tables     | how the tables are laid out, made and recognised |
"""

from squidbot.adapters.sqlite3.memory.store import SqliteMemoryStore

__all__ = ["SqliteMemoryStore"]
