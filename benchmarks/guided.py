"""Damaged inputs of every kind, led by the code that they reach: ``python -m benchmarks.guided --seconds 300``.

Needs atheris (extra ``fuzz``). An input's first byte says of which kind it is, the rest is the input; those that reach
something new are kept in ``--corpus`` and damaged further. Whatever is neither an answer nor problems ends the run with
its traceback, and the input is written to a file. Without atheris: ``benchmarks/fuzz.py``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["whygpu", "whygpu_ui"]):
    from benchmarks.fuzz import MOST, SECONDS, surfaces

    from whygpu.errors import InputError

UNTRIED = ("knowledge",)
"""Takes a hundred times as long as others."""
MEGABYTES = 4096
"""Of the process: the corpus and all that is kept, too."""


def main() -> None:
    """Run until the time is over or something is wrong."""
    parser = argparse.ArgumentParser(description="Try damaged inputs, led by the code that they reach.")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--corpus", type=Path, help="a folder of inputs to begin with and to keep new ones in")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = [surface for name, surface in surfaces(Path(folder)).items() if name not in UNTRIED]
        corpus = options.corpus or Path(folder, "corpus")
        corpus.mkdir(parents=True, exist_ok=True)
        for number, surface in enumerate(found):
            for place, seed in enumerate(surface.seeds):
                Path(corpus, f"seed-{number}-{place}").write_bytes(bytes([number]) + seed[:MOST])

        def take(data: bytes) -> None:
            if data:
                with suppress(InputError):
                    found[data[0] % len(found)].take(data[1:])

        limits = {"max_total_time": options.seconds, "max_len": MOST, "timeout": int(SECONDS)}
        words = [f"-{name}={value}" for name, value in {**limits, "rss_limit_mb": MEGABYTES}.items()]
        atheris.Setup([sys.argv[0], *words, str(corpus)], take)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
