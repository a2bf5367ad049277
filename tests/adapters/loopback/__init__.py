"""Models behind servers of this machine: real sockets, and servers with the rules of the real ones."""
