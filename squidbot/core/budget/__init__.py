"""How much room there is, and who gets it.

| file       | holds |
|------------|-------|
| window     | the lease |
| resolution | which window a session gets, of all that could be |
| caps       | sections cut to words or tokens |
| allocate   | shares of a total |
| categories | what each category of messages may cost |
| dedupe     | summary lines that the memory document says already |
| ladder     | how full the context is, and who is told |
| reliability | how far a model can be relied on with what it is shown |
| complexity | how much room an answer wants |
| response   | the room for the answer of one turn |
| tiers      | names of window sizes |
| layout     | what each part of a request is given, by tier |
| vram       | how full the GPUs under a model are, and who is told |
"""
