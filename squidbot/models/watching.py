"""The GPUs under a model that is open, looked at now and then; what they are short of is told, and changes nothing."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from squidbot.core.budget.vram import Watch, fullness
from squidbot.core.events import Event

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.core.devices import Probed
    from squidbot.core.ports import Observer

__all__ = ["MemoryWatch"]


class MemoryWatch:
    """Looks at devices each `interval_seconds`, in a thread of its own that ends with the process, or by `close`."""

    def __init__(
        self, probe: Callable[[], Probed], observer: Observer, margin_bytes: int, interval_seconds: float
    ) -> None:
        """Take the first look: how full devices are now is the open model's own doing."""
        self._probe = probe
        self._observer = observer
        self._interval_seconds = interval_seconds
        devices = probe().devices
        self._watch = Watch.opened(devices, margin_bytes)
        self._opened = "after loading " + ", ".join(map(fullness, devices)) if devices else ""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="squidbot-memory", daemon=True)

    @property
    def sees(self) -> bool:
        """Whether there is any device to look at."""
        return bool(self._watch.devices)

    @property
    def opened(self) -> str:
        """How full each device was at the first look, in a sentence: right after a model was loaded."""
        return self._opened

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def look(self, now: float) -> None:
        """Look once, at `now`, in seconds since 1970, and tell what is to be told."""
        notices, self._watch = self._watch.look(self._probe().devices, now)
        for one in notices:
            self._observer.notify(Event(one.name, "", one.cause, fraction=one.fraction))

    def close(self) -> None:
        """End it; a look that is being taken is waited for."""
        self._ended.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self._interval_seconds):
            self.look(time.time())
