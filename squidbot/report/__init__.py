"""Draws what a session sent at every call, why, and at what price: the data, the page, and a server of live pages."""
