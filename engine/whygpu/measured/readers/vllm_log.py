"""Reads vLLM's log of its start-up: weights, activation peak, KV cache, most requests at once, and how long it took.

Releases word it differently: V0 up to 0.6.4, from 0.6.5 (pull 10511) and from 0.7 (pull 12126); V1 (pull 12569 and
later). Its GB are GiB (2^30 bytes). Lines may be coloured, and a container's log puts its name or a time before them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from whygpu.measured.readers.reading import Reader, Reading, known, refused

if TYPE_CHECKING:
    from collections.abc import Iterable

TOOL = "vllm-log"
_N = r"([0-9][0-9,]*(?:\.[0-9]+)?)"
_FIGURES: dict[str, tuple[str, ...]] = {
    "weights_gib": (
        rf"Model loading took {_N} GiB",
        rf"Loading model weights took {_N} G",
        rf"model weights take\s+{_N}\s?GiB",
        rf"Actual usage: {_N} GiB for weights",
        rf"usage is {_N} GiB for weight",
    ),
    "activation_gib": (
        rf"PyTorch activation peak memory(?: takes)?\s+{_N}\s?GiB",
        rf"{_N} GiB for peak activation",
    ),
    "kv_cache_gib": (
        rf"Available KV cache memory: {_N} GiB",
        rf"reserved for KV Cache is {_N}\s?GiB",
        rf"available_kv_cache_memory\s+{_N}\s?GiB",
    ),
    "kv_cache_tokens": (rf"GPU KV cache size: {_N} tokens",),
    "kv_cache_requests": (rf"Maximum concurrency for {_N} tokens per request: {_N}x",),
    "graphs_gib": (rf"Graph capturing finished in {_N} secs?, took {_N} GiB",),
    "memory_total_gib": (rf"total_gpu_memory\s*\(?\s*{_N}\s?GiB",),
    "load_s": (rf"Model loading took {_N} GiB(?: memory)? and {_N} seconds", rf"Loading weights took {_N} seconds"),
    "warm_up_s": (rf"init engine \(profile, create kv cache, warmup model\) took {_N} s",),
}
"""What each figure is written as, the best first; of several numbers in a line it is the last."""
_CONFIG = {
    "model": r"with config: model='([^']{1,300})'",
    "context_tokens": r"max_seq_len=([0-9]+)",
    "tensor_parallel": r"tensor_parallel_size=([0-9]+)",
    "pipeline_parallel": r"pipeline_parallel_size=([0-9]+)",
}
_VERSION = (r"Initializing an? (?:V[01] )?LLM engine \(v([^)\s]{1,60})\)", r"vLLM API server version (\S{1,60})")
_OURS = re.compile(
    r"vllm|LLM engine|GPU KV cache size: |Available KV cache memory: |Maximum concurrency for "
    r"|Loading model weights took |Model loading took |PyTorch activation peak memory|# (?:GPU|cuda) blocks: "
)
_LOG = re.compile(r"^(?:[^\n]{0,80}[ )|])?(?:INFO|WARNING|DEBUG|ERROR) [0-9]{2}-[0-9]{2} ", re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,12}m")
_START = "vLLM API server version "
_LEAST = ("kv_cache_gib", "kv_cache_tokens", "kv_cache_requests")
"""Of several ranks the least counts, for it is what all of them get."""
_BLOCK = re.compile(r"block_size=([0-9]+)")
_BLOCKS = re.compile(r"# (?:GPU|cuda) blocks: ([0-9]+)")


def recognises(text: str) -> bool:
    """Whether its lines are of vLLM's form and some of them are vLLM's."""
    text = _COLOUR.sub("", text)
    return _LOG.search(text) is not None and _OURS.search(text) is not None


def read(text: str, name: str) -> Reading:
    """Read the log; of several starts in it, the last. Raises AnswerError where it says none of what is looked for."""
    text = _COLOUR.sub("", text)
    text = text[max(text.rfind(_START), 0) :]
    version = _last(_VERSION, text)
    figures = known({figure: _figure(figure, text) for figure in _FIGURES})
    setup: dict[str, Any] = {key: found for key, pattern in _CONFIG.items() if (found := _last((pattern,), text))}
    setup = {key: value if key == "model" else int(value) for key, value in setup.items()}
    doubts: tuple[str, ...] = ()
    blocks, size = _last((_BLOCKS.pattern,), text), _last((_BLOCK.pattern,), text)
    if "kv_cache_tokens" not in figures and blocks is not None:
        if size is not None:
            figures["kv_cache_tokens"] = float(blocks) * float(size)
        else:
            doubts = ("the cache is told in blocks, and how many tokens a block has is not said",)
    if not figures and not setup:
        which = f"vLLM {version}" if version else "vLLM"
        hint = "give the log from the start of the server on, at level INFO"
        message = f"is a log of {which}, and says nothing of its memory in the words of V0 or V1"
        raise refused(name, message, hint, code="other-version")
    most = _last((r"Maximum concurrency for ([0-9][0-9,]*) tokens",), text)
    if most is not None:
        setup["context_tokens"] = int(most.replace(",", ""))
    if "kv_cache_tokens" in figures and "tensor_parallel" in setup:
        setup["count"] = setup["tensor_parallel"] * setup.get("pipeline_parallel", 1)
    start = [figures[part] for part in ("load_s", "warm_up_s") if part in figures]
    if len(start) == 2:
        figures["start_s"] = sum(start)
    return Reading(version=version, setup={"runtime": "vllm", **setup}, figures=figures, doubts=doubts)


def _last(patterns: Iterable[str], text: str) -> str | None:
    """The last match of the first pattern that has one."""
    for pattern in patterns:
        found = re.findall(pattern, text)
        if found:
            return str(found[-1])
    return None


def _figure(figure: str, text: str) -> float | None:
    """The figure by the first pattern that matches: of several ranks the largest, for each says what it has."""
    choose = min if figure in _LEAST else max
    for pattern in _FIGURES[figure]:
        found = [match.groups()[-1] for match in re.finditer(pattern, text)]
        if found:
            return choose(float(item.replace(",", "")) for item in found)
    return None


READER = Reader(TOOL, recognises, read)
