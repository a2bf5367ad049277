"""The log of turns: what each sent, which tools it called, what was answered, what it cost; a file to look into.

| file    | holds |
|---------|-------|
| turns   | a turn as it goes on: its requests, its tool calls, its answer |
| text    | a turn as text and as JSON, without secrets |
| logfile | the file that turns are written to |
"""
