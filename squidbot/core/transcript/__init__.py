"""The records beside the messages of a session, by kind."""
