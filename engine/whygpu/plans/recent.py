"""What was computed last of objects that are not compared, only told apart: plans, prices."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, TypeVar

from whygpu.kept import clear_with_the_rest

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

T = TypeVar("T")


class Recent(Generic[T]):
    """The last few results of a function of some objects, by which objects they are; safe to share by threads.

    One lasts as long as the process: what it keeps is forgotten with the rest.
    """

    def __init__(self, most: int) -> None:
        """``most``: how many are kept."""
        self._most = most
        self._found: OrderedDict[tuple[Hashable, ...], tuple[tuple[object, ...], T]] = OrderedDict()
        self._lock = threading.Lock()
        clear_with_the_rest(self.clear)

    def clear(self) -> None:
        """Keep none of them."""
        with self._lock:
            self._found.clear()

    def get(self, objects: tuple[object, ...], values: tuple[Hashable, ...], make: Callable[[], T]) -> T:
        """What ``make`` gives for these very objects and equal ``values``, made once while it is kept."""
        key = (*map(id, objects), *values)
        with self._lock:
            known = self._found.get(key)
            if known is not None:
                self._found.move_to_end(key)
                return known[1]
        made = make()
        with self._lock:
            self._found[key] = (objects, made)  # the objects stay, so that their identities stay theirs
            while len(self._found) > self._most:
                self._found.popitem(last=False)
        return made
