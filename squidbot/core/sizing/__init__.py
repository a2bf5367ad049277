"""How much memory a local model takes, and how large a window fits: from its file's header alone."""
