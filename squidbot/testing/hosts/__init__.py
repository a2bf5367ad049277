"""The check of plugins for hosts: one list of points, over a program of the host that its test supplies.

| file      | holds |
|-----------|-------|
| checking  | `check_host_plugin`: all points, or one |
| talks     | points C1 to C5: restart, budget, pairs, append-only, recall |
| ways      | points C6 and C7: streams, and what is awaited |
| failing   | points C8 and C9: bugs of squidbot's, failed and cancelled runs |
| apart     | points C10 and C12: conversations, and the host's own list |
| providers | points C11 and C13 to C15: switches, refusals, reasoning, usage |
| loud      | points C16 to C18: rivals, reasons for doing nothing, imports |
| lasting   | three hundred steps, killed half-way |
| children  | processes that are killed |
| opened    | a program while it is checked |
| listening | what squidbot logs and tells meanwhile |
| summarizers | a language model that should write summaries, and does not |
| stores    | what a program has recorded |
| programs  | what the test of a host supplies: a program, and what is known of the host |
| models    | what a fake model asks: it hears, holds to the rules, follows a script |
| rules     | the rules of every request |
| values    | what a host's fake model is sent and says |
"""

from squidbot.testing.hosts.checking import HOST_CHECKS, check_host_plugin
from squidbot.testing.hosts.program import (
    FACT,
    FILLER,
    SAID,
    Call,
    Heard,
    Host,
    HostProgram,
    Model,
    Otherwise,
    Request,
    Sent,
    Setting,
    Signed,
    Step,
    ToolFailed,
    broken_off,
    main,
    to_json,
)

__all__ = [
    "FACT",
    "FILLER",
    "HOST_CHECKS",
    "SAID",
    "Call",
    "Heard",
    "Host",
    "HostProgram",
    "Model",
    "Otherwise",
    "Request",
    "Sent",
    "Setting",
    "Signed",
    "Step",
    "ToolFailed",
    "broken_off",
    "check_host_plugin",
    "main",
    "to_json",
]
