"""`squidbot chat`: its parts, and the whole of it on a real terminal."""
