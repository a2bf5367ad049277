"""What several adapters do alike, whichever package they are made with.

| file      | holds |
|-----------|-------|
| kept      | `KeptIndex`: an index of vectors that is kept on disk: opened or found unusable, stamped, saved |
| disk      | files that one process writes at a time, that are their owner's alone, and names that last |
| evens     | what the cosines of known embedders say of an answer |
| counts    | `KeptCounts`: counts of texts that others made, in a file by their digests |
| sentences | what the folder of a sentence model says |
| buffers   | what llama.cpp's log says of its buffers |
"""
