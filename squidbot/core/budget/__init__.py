"""How much room there is, and who gets it.

| file       | holds |
|------------|-------|
| window     | the lease |
| caps       | sections cut to words or tokens |
| allocate   | shares of a total |
| dedupe     | summary lines that the memory document says already |
| complexity | how much room an answer wants |
| tiers      | names of window sizes |
"""
