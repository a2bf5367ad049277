"""`squidbot chat`: a conversation on a terminal with any model of the settings, in a stored session."""
