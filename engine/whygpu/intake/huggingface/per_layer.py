"""Gemma 3n and the small Gemma 4: a row of a second token table for each layer, and layers that borrow their cache.

As transformers builds them (models/gemma3n, models/gemma4). What a token looks up in the second table is not
multiplied by anything, so devices may keep it out of the accelerator's memory (Gemma 3n model overview, parameters).
"""

from __future__ import annotations

from whygpu.intake.limits import Reader


def read_tables(reader: Reader, hidden: int, layers: int, ffn: int) -> tuple[int, int]:
    """Parameters beside the usual ones that every token passes through, and those of the second table."""
    width = reader.count("hidden", "hidden_size_per_layer_input")
    if not width:
        return 0, 0
    table = (reader.count("vocabulary", "vocab_size_per_layer_input") or 0) * layers * width
    further = hidden * layers * width + width + layers * (2 * hidden * width + hidden)
    rank = reader.count("hidden", "laurel_rank")
    if rank:
        further += layers * (2 * hidden * rank + hidden)
    streams = reader.count("layers", "altup_num_inputs")
    if streams:
        # Projections to and from the streams beside the first; in each layer a router, its norm and two small maps.
        further += 2 * (streams - 1) * hidden * hidden
        further += layers * (hidden * streams + 2 * hidden + streams**2 + streams**3)
    if reader.flag(False, "use_double_wide_mlp"):
        further += reader.count("layers", "num_kv_shared_layers") * 3 * hidden * ffn
    return further, table
