"""What was said before, brought back: found, recalled whole, in pages that fit the room there is.

| file    | holds |
|---------|-------|
| recall  | one session's history: search, recall, expand |
| hits    | what a search found, as text |
| pages   | messages as they were said, as much as fits |
| names   | the ids that requests show, and what they stand for |
| when    | times in words |
"""
