"""squidbot inside of real hosts."""
