"""`python -m squidbot`: the command line, where its program is not on the path; and the hooks of coding agents."""

import gc
import os
import sys

if __name__ == "__main__":
    # An agent waits for a hook: it imports no command, collects no garbage, and tears nothing down.
    if sys.argv[1:2] == ["hook"]:
        gc.disable()
        from squidbot.services.hook import main as hook

        os._exit(hook(sys.argv[2:]))
    from squidbot.cli import main

    main(prog_name="squidbot")
