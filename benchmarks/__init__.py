"""What squidbot costs, measured in one run beside the least that it could cost: `python -m benchmarks`.

| file     | holds |
|----------|-------|
| turn     | assemble, record and events at 1,000 to 1,000,000 stored messages, beside plain SQLite |
| bench    | one file under one window, and what was measured on it |
| floor    | plain SQLite that reads what is sent, or stores the same bytes |
| process  | fresh processes: opening a session, memory, import time |
| probes   | looking for GPUs, where there is none and here |
| sizing   | a model's memory, and its largest window, from its file |
| disk     | bytes and syncs of real exchanges |
| latency  | the six times of W-18 at 1,000 exchanges, through the Python face |
| faults   | what a damaged file still gives, and an append behind a huge message |
| recordings | sessions of agents imported, and their hooks beside 100,000 stored messages |
| pages    | the data of a report beside the turns that it shows, and the size of its page |
| search   | search and recall at 1,000 to 1,000,000 stored messages |
| vectors  | the nearest of 1,000 to 1,000,000 vectors, by the standard library and by FAISS |
| whole    | a whole search of durable facts by words and vectors, at 20,000 and 1,000,000 |
| memories | durable facts found, added, opened at 20,000 and 1,000,000 |
| hosts    | what is added to a model call of each host, beside the host without squidbot |
| alone    | what `hosts` runs of hermes, in a process of its own |
| rivals   | squidbot in hosts beside what these ship themselves: time, room, what is still known |
| corpus   | recorded sessions of many agents: what each strategy costs and keeps, and other managers |
| managers | those other managers: libraries' own code |
| carry    | what stays over a compaction, beside the vendor's own summary |
| fetch    | a command of its own: brings the data from where it is published (`data.toml`) |
| published | reads files as others publish them |
| page, fronts | a command of its own: makes docs/benchmarks.md and its pictures from `figures.json` |
| agents   | agent programs of hosts, with a model that answers at once |
| policy   | a long conversation replayed: cache reuse, price, requests over budget |
| calibration | bounds beside the bill, with what reports teach and without |
| host     | a session as a host holds it, and what it says |
| talk     | the conversation that `policy` replays |
| sizes    | how much is measured, and the files |
| seed     | a store filled in bulk |
| child    | what the fresh processes run |
| clocks   | CPU and wall times, quantiles |
| report   | tables, bars and JSON |
| digests  | a command of its own, the guard: what is sent, noted and told of recordings, as digests |
| digest_hosts | what six hosts send, for `digests` |
| tokens   | a command of its own: how far the token bound stands above real counts |
| recall   | how much of what answers a question a search of memories finds, and what it tells |
| finders, meant | the ways of finding that `recall` sets beside ours, by words and by vectors |
| exact, stored | squidbot's search without a file, and with one |
| conversations | the conversations and questions that `recall` reads |
| ablation | search without one of its signals |
| telling  | whether search tells what belongs, and keeps silent else |
| intervals | shares with 95 % intervals over conversations |

CPU times and ratios within one run are what to compare: wall times depend on who else uses the machine.
"""
