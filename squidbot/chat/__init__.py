"""`squidbot chat`: a conversation on a terminal with any model of the settings, in a session that is kept.

| file         | holds |
|--------------|-------|
| command      | the command: its options, and how it ends |
| room         | lines in, turns and commands out, until the end |
| starting     | the engine, the model, the session; what to say where there is none |
| commands     | /undo, /compact, /explain and the others |
| journal      | goals, decisions and what is open, of what the session holds |
| screen       | what a turn shows while it goes on, and what it cost |
| wrapping     | text in pieces, folded between words, with nothing that a terminal obeys |
| lines        | what the user types: on a terminal with editing and history, else line by line |
| stopping     | Ctrl-C: it stops an answer, and nothing that is being written |
| conversation | a turn: the prompt recorded, the model asked, its tools called, its answer recorded |
| toolbox      | the tools that the model has, and what a call of one answers |
| cut          | answers that broke off: that they did, and why, beside the transcript |
"""
