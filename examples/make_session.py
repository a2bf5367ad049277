"""Write examples/session.jsonl: one day of an agent that works on a weather-station service, as chat messages.

    python examples/make_session.py [PATH]

The same bytes come out on every machine. The files in the story are kept while it is told: edits change them, searches
and diffs read them. Nothing is run and nothing is asked of the network.
"""

from __future__ import annotations

import pathlib
import sys

from session_recorder import Session
from session_story import tell


def main() -> None:
    """Tell the story and write it down."""
    path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).with_name("session.jsonl")
    session = Session()
    tell(session)
    path.write_text(session.jsonl(), encoding="utf-8")
    print(f"{path}: {len(session.messages)} messages, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
