"""Notes made by rule: what stands for messages that are no longer sent.

| file     | holds |
|----------|-------|
| rewind   | notes as they were behind an earlier plan |
| notebook | the notes of one session, and what they are made from |
| retold   | notes made once more, after messages were forgotten |
| extract  | readings as text within a budget |
| ledger   | readings of many blocks, fading with age |
| reading  | messages read into lines |
| quotes   | what notes quote of a message |
| calls    | what a call of a tool says, and which file it changes |
| naming   | ids of notes |
| literals | names, paths, numbers: what is kept to the letter |
"""
