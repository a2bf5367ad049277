"""Tools for models, as sessions, hosts, and programs without conversations of their own offer them.

`core/view/marks.py` knows by the names of the tools which answers are copies of messages.
"""
