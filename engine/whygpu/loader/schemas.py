"""What entries of the catalogues may hold: each field's kind, so that a typo or a word for a number is found here."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from whygpu.checks.model_shape import PARTS
from whygpu.errors import did_you_mean
from whygpu.intake import mapping
from whygpu.intake.preset import DESCRIPTIVE
from whygpu.quantity import parse_number
from whygpu.yamldoc.document import Mapping, Node, Scalar, Sequence
from whygpu.yamldoc.fields import kind_of, problem, unknown_key
from whygpu.yamldoc.forms import (
    ANYTHING,
    FLAG,
    NUMBER,
    TEXT,
    TEXTS,
    Schema,
    between,
    list_of,
    needed,
    one_of,
    optional,
    record,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from collections.abc import Mapping as ReadOnly

    from whygpu.errors import Problem
    from whygpu.yamldoc.forms import Form, Kind

"""Parts of a model that formats may keep wider (see checks.shape.split_parts)."""
CONDITIONS = (
    "phase",
    "runtime",
    "format",
    "format_kind",
    "method",
    "optimizer",
    "precision",
    "checkpointing",
    "attention",
    "cross_entropy",
    "offload",
    "token_table",
    "lora_targets",
    "cache",
    "uncounted",
    "sharding",
    "kind",
    "model_type",
    "ffn",
    "moe",
    "denoiser",
    "proposals",
    "accumulates",
    "speculative",
    "host",
    "algorithm",
    "strength",
    "requests",
    "generation",
    "class",
    "software",
    "link",
    "memory",
    "form",
    "deployment",
    "provider_class",
)
"""What a coefficient may depend on: the words of checks.setup.Setup.context, of checks.setup.CardKind, the form of a
card, where the hardware stands, and who rents it out."""
OTHER = MappingProxyType({"is": needed(ANYTHING), "source": needed(TEXTS)})
FIGURE: Form = MappingProxyType(
    {"is": ANYTHING, "source": TEXTS, "estimate": TEXT, "because": TEXT, "others": list_of(OTHER), "absent": FLAG}
)
"""A value written with what stands behind it."""


def figured(form: dict[str, Kind]) -> Form:
    """The fields, each of whose values may also be written as ``{is: ..., source: ...}``."""
    return MappingProxyType(
        {
            key: kind if _is_free(kind) else replace(kind, schema=figure_schema(kind.schema))
            for key, kind in form.items()
        }
    )


def figure_schema(value: ReadOnly[str, Any]) -> Schema:
    """A value, or the same with what stands behind it."""
    whole: Schema = {"$ref": "#/$defs/figure", "properties": {"is": optional(dict(value))}}
    return {"anyOf": [*(value["anyOf"] if list(value) == ["anyOf"] else [dict(value)]), whole]}


def _is_free(kind: Kind) -> bool:
    """Whether a field has no plain values of one kind."""
    return kind.form is not None or not kind.schema


MODEL: Form = figured({**mapping.MODEL, **DESCRIPTIVE})
ROW: Form = MappingProxyType(
    {
        **MODEL,
        **figured(
            {
                **{"like": TEXT, "accelerator": TEXTS, "slice": TEXT},
                **dict.fromkeys(("memory_gb", "parts", "instances", "usd_in", "usd_out"), NUMBER),
            }
        ),
    }
)
"""A row of a table among the coefficients: what is known of a model or of a slice of a card."""
WHEN: Form = figured(dict.fromkeys(CONDITIONS, TEXTS))
CASE: Form = figured(
    {"when": needed(record(WHEN)), "low": NUMBER, "likely": NUMBER, "high": NUMBER, "source": TEXTS, "note": TEXT}
)
COEFFICIENT: Form = figured(
    {
        "id": TEXT,
        "name": TEXT,
        "meaning": TEXT,
        "unit": TEXT,
        "low": NUMBER,
        "likely": NUMBER,
        "high": NUMBER,
        "source": TEXTS,
        "note": TEXT,
        "by": list_of(CASE),
        "rows": list_of(ROW),
    }
)
PARTS_FORM: Form = figured(dict.fromkeys(PARTS, NUMBER))


def format_schema(rates: Iterable[str], runtimes: Iterable[str]) -> Form:
    """The fields of a number format; ``rates``: the accelerator rates that can do its arithmetic; ``runtimes``: the
    serving stacks that can be answered.
    """
    rate = one_of(rates, many=True)
    return figured(
        {
            "id": TEXT,
            "name": TEXT,
            "aliases": TEXTS,
            "bits_per_weight": between(0.1, 64, whole=False, zero=False),
            "kind": one_of(("float", "integer", "block")),
            "quantized": FLAG,
            "trains": FLAG,
            "compute_bits": between(1, 64, whole=True, zero=False),
            "rate": rate,
            "needs": one_of(rate.words),
            "instead": TEXT,
            "group": between(1, 1_000_000, whole=True),
            "parts": record(PARTS_FORM),
            "block": between(1, 1_000_000, whole=True),
            "otherwise": record(PARTS_FORM),
            "unquantized": one_of(PARTS, many=True),
            "runtimes": one_of(sorted(runtimes), many=True),
            "meaning": TEXT,
            "source": TEXTS,
            "note": TEXT,
        }
    )


def check_fields(node: Mapping, form: Form, what: str, problems: list[Problem]) -> None:
    """A problem for each field that the form does not have, or whose value is of another kind."""
    for key, inner in node.items.items():
        if key not in form:
            unknown_key(problems, node, key, what, form)
            continue
        kind = form[key]
        if _is_free(kind) or (isinstance(inner, Scalar) and inner.value is None):
            continue
        for value in _values(inner, kind, f"'{key}' of {what}", problems):
            if not (isinstance(value, Scalar) and kind.accepts(value.value)):
                message = f"'{key}' of {what} must be {kind.noun}, not {kind_of(value)}"
                problem(problems, value, "wrong-type", message, _hint(value, kind))


def _hint(value: Node, kind: Kind) -> str | None:
    """What was probably meant: a word that is near, or a number without its suffix."""
    if not isinstance(value, Scalar):
        return None
    if kind.words:
        return did_you_mean(value.text, kind.words)
    number = parse_number(value.text) if "number" in kind.noun else None
    return None if number is None or not kind.accepts(number) else f"write {number:.12g}"


def _values(node: Node, kind: Kind, what: str, problems: list[Problem]) -> Iterator[Node]:
    """The values of a field: its own, that of ``{is: ...}``, or the items of its list."""
    if isinstance(node, Mapping) and "is" in node.items:
        for key in node.items:
            if key not in FIGURE:
                unknown_key(problems, node, key, what, FIGURE)
        node = node.items["is"]
    if kind.many and isinstance(node, Sequence):
        yield from node.items
    else:
        yield node
