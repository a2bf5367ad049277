"""The commands of the command line: options in, one call, text or JSON out. cli.py names them."""
