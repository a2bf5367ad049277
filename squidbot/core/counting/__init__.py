"""What a text costs, and how far to trust it.

| file          | holds |
|---------------|-------|
| chat_template | what the template of a local model costs, measured from it |
| meter         | a message counted as its provider renders it |
| tokens        | the named counters |
| bills         | what reported usage has taught of what was sent |
| excess        | how far what was billed stood above what was counted |
| classes       | the default: tokens by classes of characters, never under |
| class_words   | what words cost, with where that is from |
| class_tables  | marks, letters and characters of one token, and of two |
| wordpiece     | the tokens of BERT's vocabularies, which sentence models read |
"""
