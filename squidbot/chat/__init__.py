"""`squidbot chat`: a conversation on a terminal with any model of the settings, in a session that is kept."""
