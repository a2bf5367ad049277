"""When a request stops extending the one before it, and what it becomes.

| file       | holds |
|------------|-------|
| undo       | an earlier plan made to stand again |
| moment     | the circumstances of a call: the room for history, and what does not fit |
| event      | when the plan changes, and to what |
| better     | a language model's texts in the place of notes by rule |
| compaction | one batch from high to low water |
| capping    | what the caps of document 001 leave of history |
| floors     | what stays raw whatever the low-water mark leaves |
| folding    | everything told anew, the newest blocks by level |
| images     | pictures that give way before anything else |
| limiting   | what the model said at length, where a text has more than its share |
| outputs    | what tools put out, where it has more than its share |
| upkeep     | when going on costs more than an event |
| scene      | what a batch is chosen from, and how hard an event tries |
| pricing    | what a break costs, and what it brings |
"""
