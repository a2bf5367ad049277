"""What is kept beside the messages of a session, each as a kind of record."""
