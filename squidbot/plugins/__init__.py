"""One file per host: squidbot's face inside an agent program that exists already."""
