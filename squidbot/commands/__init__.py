"""The commands of the command line: options in, one call, text or JSON out. cli.py names them.

| file     | holds |
|----------|-------|
| replay   | `replay`: a recorded conversation through the engine |
| sessions | `sessions`: what a store holds |
| show     | `show`: what was said |
| options  | options that several commands have |
| ending   | exit codes, and the line on standard error |
| paper    | tables and texts on a terminal or in a pipe |
| texts    | counts, ids, times, what a terminal may show |
"""
