"""Whether a decoder's feed-forward is gated and its token table tied, where its sizes and parameters identify them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

NEEDED = ("layers", "hidden_size", "heads", "ffn_size", "vocab_size")
_OTHERS = ("experts", "kv_lora_rank", "state_layers", "encoder_layers", "lookup_parameters")
_WITHIN = 0.01
"""Share of the parameters that biases, norms and tables of positions may come to."""
_APART = 2.0
"""How many times further off the next best way must be."""


def identified(values: Mapping[str, Any]) -> tuple[bool, bool] | None:
    """Gated and tied, as they count nearest to the parameters; None where no way, or more than one, comes near.

    Parameters: layers * (query and output h * a * d each, keys and values h * n_kv * d each, 2 or 3 h * f) and one or
    two tables of V * h (Kaplan et al. 2020, table 1; Shazeer 2020, arXiv:2002.05202, for the gate).
    """
    if not all(values[key] for key in (*NEEDED, "parameters")) or any(values[key] for key in _OTHERS):
        return None
    hidden, width = values["hidden_size"], values["head_dim"] or values["hidden_size"] // values["heads"]
    attention = 2 * hidden * width * (values["heads"] + (values["kv_heads"] or values["heads"]))
    errors = sorted(
        (
            abs(
                values["layers"] * (attention + (3 if gated else 2) * hidden * values["ffn_size"])
                + (1 if tied else 2) * values["vocab_size"] * hidden
                - values["parameters"]
            )
            / values["parameters"],
            gated,
            tied,
        )
        for gated, tied in product((True, False), repeat=2)
    )
    (best, gated, tied), (second, _, _) = errors[:2]
    return (gated, tied) if best <= _WITHIN and second >= _APART * best else None
