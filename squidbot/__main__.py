"""`python -m squidbot`: the command line, where its program is not on the path; and the hooks of coding agents."""

import sys

if __name__ == "__main__":
    # An agent waits for a hook: it imports no command.
    if sys.argv[1:2] == ["hook"]:
        from squidbot.services.hook import main as hook

        sys.exit(hook(sys.argv[2:]))
    from squidbot.cli import main

    main(prog_name="squidbot")
