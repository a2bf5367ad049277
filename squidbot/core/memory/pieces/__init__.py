"""Files become pieces that can be found: paragraphs under their headings, turns of talk, entries of a journal.

| file   | holds |
|--------|-------|
| cards  | what of a file is kept, told by its card: what is new, what stays, what goes |
| talk   | recorded messages and journal entries in pieces |
| prose  | Markdown, plain text and YAML in pieces |
| blocks | what of a text belongs together: paragraphs, lists, code, tables, under their headings |
| sizes  | what a piece is, and how long |
"""
