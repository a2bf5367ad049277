"""`python -m squidbot`: the command line, where its program is not on the path."""

from squidbot.cli import main

if __name__ == "__main__":
    main(prog_name="squidbot")
