"""A recorded conversation goes through the engine call by call: what would be sent, that it fits, what it costs."""
