"""How long the rows of a model's weight matrices are, which formats that pack whole blocks of a row depend on."""

from __future__ import annotations

from typing import NamedTuple

from whygpu.checks.model_shape import ModelShape, attention_rows


class Rows(NamedTuple):
    """A share of a part's parameters that lies in rows of one length, and the part whose bits these take."""

    part: str
    share: float
    length: int


def row_lengths(shape: ModelShape, part: str) -> tuple[Rows, ...]:
    """The rows of a part: as long as what the matrix reads, which is the hidden state but for projections back to it;
    none where the model's sizes are not known.

    An expert is a feed-forward of its own, on the hidden state or a latent of it: one matrix in three leads back, of
    two where it has no gate. Networks beside a decoder, and what is left, count as rows of the hidden state.
    """
    hidden = shape.hidden_size
    if not hidden:
        return ()
    if part == "down":
        return (Rows(part, 1.0, shape.ffn_size),)
    if part == "experts":
        back = 1 / (3 if shape.gated_ffn else 2)
        return Rows("ffn", 1 - back, shape.routed_width), Rows("down", back, shape.expert_ffn_size)
    if part == "attention":
        rows = attention_rows(shape)
        whole = sum(count for count, _ in rows)
        return tuple(Rows(part, count / whole, length) for count, length in rows if count)
    return (Rows(part, 1.0, hidden),)
