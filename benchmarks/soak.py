"""Threads that ask while the knowledge base is loaded anew: ``python -m benchmarks.soak --minutes 2``, or until so many
have been asked: ``--consultations 200000 --every 15``.

Eight threads ask on one shared knowledge base, of both engines, while another writes an edition and loads it, as the
wizard does. Every answer must be that of its edition, and memory must stay where it was after the first third.
"""

from __future__ import annotations

import argparse
import json
import math
import queue
import random
import resource
import shutil
import sys
import tempfile
import threading
import time
from datetime import date
from pathlib import Path

from benchmarks.random_answers import draw

import whygpu
from whygpu.chain.names import ENGINES
from whygpu.loader.files import default_root

TODAY = date(2026, 11, 22)
SETS = 40
GROWTH = 1.1
"""How much memory may grow after the first third of the time."""


def memory_mb() -> float:
    """What the process holds now; what it held at most where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return pages * resource.getpagesize() / 1e6


def answer(knowledge: whygpu.KnowledgeBase, answers: dict[str, object], engine: str) -> str:
    """What is said, without which engine says it and the edition's name."""
    try:
        found = knowledge.advise(answers, engine=engine, today=TODAY).to_dict(every=False, trace=False)  # type: ignore[arg-type]
    except whygpu.AnswerError as error:
        return str(error)
    return json.dumps({key: value for key, value in found.items() if key not in ("engine", "kb")}, allow_nan=False)


class Soak:
    """One run: an edition that changes, and what was asked of it."""

    def __init__(self, folder: Path, minutes: float, consultations: float, every: float) -> None:
        """Load the first edition, and find what is right; ``every``: seconds from one edition to the next."""
        self._folder, self._most, self._every = folder, consultations, every
        self.knowledge = whygpu.load(folder)
        self.asked = [draw(random.Random(seed), self.knowledge) for seed in range(1, SETS + 1)]
        self.right = [answer(self.knowledge, answers, "evaluator") for answers in self.asked]
        self.count, self.reloads = 0, 0
        self.wrong: queue.Queue[str] = queue.Queue()
        self._lock = threading.Lock()
        self._end = time.monotonic() + 60 * minutes

    @property
    def _over(self) -> bool:
        return time.monotonic() >= self._end or self.count >= self._most

    def ask(self, seed: int) -> None:
        """Ask at random until the end."""
        rng = random.Random(seed)
        while not self._over:
            number, engine = rng.randrange(SETS), rng.choice(ENGINES)
            try:
                if answer(self.knowledge, self.asked[number], engine) != self.right[number]:
                    self.wrong.put(f"{engine} answers otherwise: {json.dumps(self.asked[number])}")
            except Exception as error:  # noqa: BLE001  a crash is what is looked for
                self.wrong.put(f"{type(error).__name__}: {error}: {json.dumps(self.asked[number])}")
            with self._lock:
                self.count += 1

    def reload(self) -> None:
        """Write an edition that decides the same, and load it."""
        path = self._folder / "values.yaml"
        text = path.read_text(encoding="utf-8")
        while not self._over:
            self.reloads += 1
            path.write_text(f"{text}\n# edition {self.reloads}\n", encoding="utf-8")
            self.knowledge = whygpu.load(self._folder)
            time.sleep(self._every)


def main() -> int:
    """Run, print, and tell whether everything held."""
    parser = argparse.ArgumentParser(description="Ask in threads while the knowledge base is loaded anew.")
    parser.add_argument("--minutes", type=float, default=2)
    parser.add_argument("--consultations", type=int, help="in the place of the minutes: until so many were asked")
    parser.add_argument("--every", type=float, default=1, help="seconds from one edition to the next")
    parser.add_argument("--threads", type=int, default=8)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(shutil.copytree(default_root(), Path(place) / "kb"))
        asked = options.consultations
        soak = Soak(folder, math.inf if asked else options.minutes, asked or math.inf, options.every)
        began, held = time.monotonic(), []
        threads = [threading.Thread(target=soak.ask, args=(seed,)) for seed in range(options.threads)]
        threads.append(threading.Thread(target=soak.reload))
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            time.sleep(1)
            held.append(memory_mb())
            if len(held) % 60 == 0:
                stands = f"{soak.count:,} asked, {soak.wrong.qsize():,} wrong, {held[-1]:.0f} MB"
                print(stands, file=sys.stderr, flush=True)
    third = len(held) // 3
    before, after = max(held[: 2 * third]), max(held[2 * third :])
    wrong = list(soak.wrong.queue)
    print(f"date:           {date.today()}")
    print(f"consultations:  {soak.count:,} in {options.threads} threads, on both engines")
    print(f"reloads:        {soak.reloads:,}")
    print(f"wrong:          {len(wrong):,}")
    print(f"memory:         {held[third]:.0f} MB after a third, at most {before:.0f} in two, {after:.0f} in the last")
    print(f"time:           {time.monotonic() - began:,.0f} s")
    print("\n".join(wrong[:20]))
    return 1 if wrong or after > GROWTH * before else 0


if __name__ == "__main__":
    sys.exit(main())
