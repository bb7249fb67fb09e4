"""The readers of load tests, in the order in which they are tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.measured.readers import aiperf, guidellm, points_csv, sglang_bench, vllm_bench

if TYPE_CHECKING:
    from whygpu.measured.readers.reading import Reader

READERS: tuple[Reader, ...] = (
    *(vllm_bench.READER, sglang_bench.READER, aiperf.READER, guidellm.READER),
    points_csv.READER,
)
