"""Damaged and hostile bytes into every input: ``python -m benchmarks.fuzz --seconds 60``.

Good inputs of each kind are cut, joined, repeated and overwritten at random. Each must end in an answer or in problems
that say what is wrong, within a bound on processor time and memory: anything else is printed with its seed, and is exit
status 1. ``tests/benchmarks/test_hard.py`` tries a few of each.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
import tracemalloc
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from tests.intake.files import LLAMA_GGUF, LLAMA_KEYS, gguf_bytes
from tests.loader.small import small_texts

import whygpu
from whygpu.answers import read_text
from whygpu.api import REGISTRY
from whygpu.commands.rows import Source
from whygpu.errors import InputError
from whygpu.imports.prices import price_entries
from whygpu.loader.assemble import load_texts
from whygpu.measured.kept import read_named
from whygpu_ui.answers_link import read_link
from whygpu_ui.start_page import read_pasted

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS, MEGABYTES = 20.0, 400.0
"""Bounds for one input of at most 100 KB: processor time, and what Python holds."""
MOST = 100_000
RULES = "rules/memory.yaml"
MEASURED = Path(__file__).resolve().parents[1] / "tests" / "measured" / "data"
MODEL = {"parameters": 8e9, "layers": 32, "hidden_size": 4096, "heads": 32, "kv_heads": 8, "name": "m"}
ANSWERS = {"phase": "inference", "model": MODEL, "concurrency": 8, "accelerators": ["l4"], "regions": ["eu"]}
CONFIG = {
    "model_type": "llama",
    "num_hidden_layers": 2,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "vocab_size": 100,
}
TOKENS = (
    *(b"\x00", b"\xff\xfe", b"\xf0\x9f\x98\x80", b"\\ud800", b"NaN", b"1e999", b"-0", b"9" * 400, b"[" * 3000),
    *(b"{" * 3000, b"&a [*a,*a]", b"!!python/object:os.system", b"<<: *a", b"../../etc/passwd", b"\r\n", b"\t", b"'"),
    *(b'"', b": ", b"- ", b"=1+1", b"\x1b[2J", b"%00", b"&x=", b"null", b"true", b"\xe2\x80\xae", b"x" * 5000),
)


@dataclass(slots=True)
class Surface:
    """One kind of input: how good ones look, and what takes them."""

    seeds: tuple[bytes, ...]
    take: Callable[[bytes], object]
    tried: int = 0
    taken: int = 0
    slowest: float = 0.0
    most: float = 0.0
    wrong: list[str] = field(default_factory=list)


@cache
def _kb() -> whygpu.KnowledgeBase:
    return whygpu.load()


def damaged(rng: random.Random, data: bytes) -> bytes:
    """The bytes with some of them changed."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at = rng.randint(0, len(data))
        end = min(at + rng.choice((1, 4, 32, len(data))), len(data))
        match rng.randrange(6):
            case 0:
                data = data[:at] + data[end:]
            case 1:
                data = data[:at] + rng.choice(TOKENS) + data[at:]
            case 2:
                data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
            case 3:
                data = data[:end] + data[at:end] * rng.choice((1, 3, 40)) + data[end:]
            case 4:
                data = data[:at] + rng.randbytes(min(8, end - at)) + data[at + 8 :]
            case _:
                data = data[:at] + data[end:] + data[at:end]
    return data[:MOST]


def surfaces(folder: Path) -> dict[str, Surface]:
    """Every input."""
    kb, day = _kb(), date(2026, 11, 22)

    def in_file(name: str, take: Callable[[Path], object]) -> Callable[[bytes], object]:
        def written(data: bytes) -> object:
            path = folder / name
            path.write_bytes(data)
            return take(path)

        return written

    def answers(data: bytes) -> object:
        return kb.consult(read_text(data.decode("utf-8", "surrogateescape"), "fuzz"), engine="evaluator", today=day)

    def rows(path: Path) -> object:
        found = []
        for row in Source.of(str(path), spool=False).rows():
            with suppress(InputError):
                found.append(kb.check(row.node()))
        return found

    def knowledge(data: bytes) -> object:
        texts = {**small_texts(), RULES: data.decode("utf-8", "replace")}
        return load_texts(texts, "fuzz", REGISTRY, cases=False)

    def model(key: str) -> Callable[[Path], object]:
        return lambda path: kb.estimate({"model": {key: str(path)}, "accelerators": ["l4"]}, engine="evaluator")

    def prices(path: Path) -> object:
        catalogue = kb.knowledge.catalogue
        return price_entries(path, catalogue, provider="aws", sources=("primer",), as_of=None, today=day)

    def link(data: bytes) -> object:
        return read_link(parse_qs(data.decode("utf-8", "replace"), keep_blank_values=True), kb)

    text, config = json.dumps(ANSWERS).encode(), json.dumps(CONFIG).encode()
    header = json.dumps({"t": {"dtype": "F16", "shape": [4, 4], "data_offsets": [0, 32]}}).encode()
    address = b"phase=inference&model.parameters=8B&accelerators=[l4,a100]&page=answer&kb=1"
    return {
        "answers": Surface((text, b"phase: training\nmodel: llama-3.1-8b\nmax_nodes: 2\n"), answers),
        "batch JSONL": Surface((text + b"\n" + text,), in_file("in.jsonl", rows)),
        "batch CSV": Surface((b"id,phase,model,concurrency\n1,inference,llama-3.1-8b,8\n",), in_file("in.csv", rows)),
        "uploads": Surface((config, text), lambda data: read_pasted(data, kb)),
        "links": Surface((address,), link),
        "config.json": Surface((config,), in_file("config.json", model("config"))),
        "safetensors": Surface(
            (len(header).to_bytes(8, "little") + header + b"\0" * 32,), in_file("m.safetensors", model("safetensors"))
        ),
        "GGUF": Surface((gguf_bytes(LLAMA_GGUF, LLAMA_KEYS),), in_file("m.gguf", model("gguf"))),
        "measurements": Surface(
            tuple(path.read_bytes() for path in sorted(MEASURED.glob("*.*")) if path.suffix != ".md"),
            in_file("m.json", lambda path: read_named(str(path), kb.knowledge)),
        ),
        "knowledge": Surface((small_texts()[RULES].encode(),), knowledge),
        "prices": Surface((b"accelerator,usd_per_hour,as_of\nl4,0.7,2026-11-01\n",), in_file("prices.csv", prices)),
    }


def tried(name: str, surface: Surface, seed: int, *, measured: bool) -> None:
    """Try one damaged input, and note what must not happen. ``measured``: memory too, which takes far longer."""
    rng = random.Random(f"{name} {seed}")
    data = damaged(rng, rng.choice(surface.seeds))
    if measured:
        tracemalloc.start()
    began = time.thread_time()
    try:
        surface.take(data)
        surface.taken += 1
    except InputError as error:
        if not error.problems or not all(item.message for item in error.problems):
            surface.wrong.append(f"seed {seed}: problems that say nothing")
    except Exception as error:  # noqa: BLE001  a crash is what is looked for
        surface.wrong.append(f"seed {seed}: {type(error).__name__}: {error}")
    spent = time.thread_time() - began
    surface.tried += 1
    if measured:
        surface.most = max(surface.most, tracemalloc.get_traced_memory()[1] / 1e6)
        tracemalloc.stop()
    else:
        surface.slowest = max(surface.slowest, spent)
    if surface.slowest > SECONDS or surface.most > MEGABYTES:
        surface.wrong.append(f"seed {seed}: {spent:.1f} s, {surface.most:.0f} MB")


def main() -> int:
    """Run for a while, print, and tell whether everything held."""
    parser = argparse.ArgumentParser(description="Try damaged inputs of every kind.")
    parser.add_argument("--seconds", type=float, default=60, help="how long, all kinds together")
    parser.add_argument("--seed", type=int, default=1, help="the first input's; the others follow")
    options = parser.parse_args()
    end, seed = time.monotonic() + options.seconds, options.seed
    with tempfile.TemporaryDirectory() as folder:
        found = surfaces(Path(folder))
        while time.monotonic() < end:
            for name, surface in found.items():
                if name != "knowledge" or seed % 20 == 1:  # which takes a hundred times as long
                    tried(name, surface, seed, measured=seed % 10 == 1)
            seed += 1
    print(f"{date.today()}, seeds {options.seed} to {seed - 1}; one in ten measured for memory")
    print("| input | tried | taken | slowest (s of a processor) | most memory (MB) | wrong |")
    print("|---|---|---|---|---|---|")
    for name, item in found.items():
        figures = f"{item.tried:,} | {item.taken:,} | {item.slowest:.2f} | {item.most:.1f} | {len(item.wrong)}"
        print(f"| {name} | {figures} |")
    wrong = [f"{name}: {text}" for name, item in found.items() for text in item.wrong]
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
