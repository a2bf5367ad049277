"""Tools for models in sessions, hosts, and programs without conversations of their own.

`core/view/marks.py` recognizes by the names of the tools which answers are copies of messages.
"""
