"""The knowledge base of a server as its files are now: loaded anew when one changes, kept where a change is wrong."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import whygpu
from whygpu.errors import KnowledgeBaseError
from whygpu.loader.files import default_root, stamp_of

if TYPE_CHECKING:
    from whygpu.api import KnowledgeBase
    from whygpu.errors import Problem
    from whygpu.loader.files import Stamp

_SECONDS_BETWEEN = 2.0


class Current:
    """A knowledge base and the state of its files that it was read from; safe to share between threads."""

    def __init__(self, root: str | None, seconds_between: float = _SECONDS_BETWEEN) -> None:
        """Load it; raises KnowledgeBaseError with every problem. Its files are looked at every few seconds."""
        self._root, self._between = root, seconds_between
        self._lock = threading.Lock()
        self._stamp = self._files()
        self._knowledge = whygpu.load(root)
        self._looked = time.monotonic()
        self.problems: tuple[Problem, ...] = ()
        """What is wrong with the files as they are now: what was loaded before answers on."""
        self.reloads = 0

    def get(self) -> KnowledgeBase:
        """The knowledge base. Whoever finds its files changed loads it while others are still given the last one."""
        if time.monotonic() - self._looked < self._between or not self._lock.acquire(blocking=False):
            return self._knowledge
        try:
            self._looked = time.monotonic()
            stamp = self._files()
            if stamp != self._stamp:
                self._stamp = stamp
                self._load()
        finally:
            self._lock.release()
        return self._knowledge

    def _load(self) -> None:
        try:
            self._knowledge, self.problems = whygpu.load(self._root), ()
            self.reloads += 1
        except KnowledgeBaseError as error:
            self.problems = error.problems
        except OSError:  # an editor is replacing a file just now: the next look finds it
            self._stamp = ()

    def _files(self) -> Stamp:
        return stamp_of(default_root() if self._root is None else Path(self._root))
