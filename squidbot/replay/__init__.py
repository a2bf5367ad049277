"""A recorded conversation goes through the engine call by call: what would be sent, that it fits, what it costs.

| file     | holds |
|----------|-------|
| command  | one run of `squidbot replay`, without its command line |
| wiring   | counters, stores and terms from what the user wrote |
| charges  | what a replay is billed by |
| profiled | terms and sessions under a profile: those of a program whose settings name it |
| modes    | a recording with the system text of a mode in front |
| usage    | what a provider would report for the requests |
| runner   | the engine over one conversation, as a stream of calls |
| blocks   | what a request holds, as text |
| metrics  | cost, cache reuse, breaks, recall of literals, user messages |
| rivals   | other policies, to compare with |
| dump     | the requests as JSON lines, in files that are whole or not there |
| report   | the outcome as JSON |
| table    | the outcome for people |
"""
