"""Replays a recorded conversation through the engine, call by call: requests, bounds and costs."""
