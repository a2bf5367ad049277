"""The commands of the command line: options in, one call, text or JSON out. cli.py names them.

| file      | holds |
|-----------|-------|
| replay    | `replay`: a recorded conversation through the engine |
| profiles  | `profiles`: what one word in squidbot.toml sets |
| status    | `status`: devices, models and their windows, packages, stores |
| size      | `size`: what a model file takes of memory |
| sized     | the size of a model as a table, and as JSON |
| sessions  | `sessions`: what a store holds |
| show      | `show`: what was said, and requests part by part |
| explain   | `explain`: what the next request holds, and why |
| log       | `log`: turns with requests, tool calls, usage, budget |
| export    | `export`: a session as a file |
| model_files | `export --format workspaceai`: a store as a folder of files, one for each model |
| bringing  | `import`, `migrate`: such files, and older ones, into a store, and back |
| recall    | `recall`, `search`: the words as they were said |
| changes   | `undo`, `compact`: the view plan, changed by hand |
| remaking  | vectors and what words are found by, brought up or made anew |
| reindex   | `memory reindex`: what is found of files, brought to their state |
| whose     | whose facts a command is about, and the store that they are in |
| memory    | `memory`: durable facts, searched, listed, added, forgotten |
| journal   | `journal`: entries of the journal, by day or newest first |
| continued | `continued`: a session that goes on another one's context |
| context   | `context`: the documents in a session's head |
| goals     | `goals`: what a session is after |
| noted     | `memory notes`: facts and the journal as notes in YAML |
| merged    | `memory merge`, `memory restore`, `memory show` |
| jobs      | `jobs`: messages to be read for facts, summaries that are due |
| snapshots | `snapshot`, `snapshots`, `restore` |
| forget    | `forget`: messages removed for good |
| upkeep    | `doctor`, `backup`: whether a store is whole, and copies of it |
| mcp       | `mcp`: memory and history for clients of the Model Context Protocol |
| options   | options that several commands have |
| ending    | exit codes, and the line on standard error |
| events    | an event as one sentence |
| paper     | tables and texts on a terminal or in a pipe |
| texts     | counts, ids, times, what a terminal may show |
"""
