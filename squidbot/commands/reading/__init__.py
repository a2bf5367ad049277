"""What the commands find in a store, and on a machine, as values: nothing here prints, and nothing writes.

| file      | holds |
|-----------|-------|
| opened    | a store that is looked into; a session by the beginning of its id |
| terms     | the lease that a session ran under |
| listing   | what a store holds, session by session |
| entries   | messages with what is said in them |
| requests  | recorded requests |
| records   | records that the engine can't read |
| sending   | a request as it is sent, part by part |
| explained | what the next request holds, run by run, and why; the budget |
| parts     | what each part of a request uses of its share, by tier |
| modes     | the system text of a mode |
| stories   | what became of one message |
| recalled  | what was said, brought back by ids and by words |
| turns     | the turn log: steps, tool calls with their results, requests |
| due       | summaries that are due of a language model, of one session or of all |
| unread    | messages that were not read for facts yet |
| memories  | durable facts as JSON lines, and back |
| machine   | what there is on this machine: devices, models, packages, the store |
| vectors   | who keeps durable facts and makes their vectors, and what waits |
| installed | the packages of adapters, and what would install them |
| hosts     | which hosts are installed, whether squidbot takes part in them, and if not, why |
| verified  | what llama.cpp's own dry run says of a model, beside its header |
| sizes     | what a model file takes, and the largest window that fits |
| forms     | a session in the forms of hosts |
"""
