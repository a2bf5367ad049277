"""Tools for models: what a session, a host, or a program without conversations of its own can offer.

What answers are copies of, by the names of the tools, stands in `core/view/marks.py`: the core knows it, too.
"""
