"""squidbot's face inside agent programs that exist already; none of it knows another host than its own."""
