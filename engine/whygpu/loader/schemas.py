"""What entries of the catalogues may hold: each field's kind, so that a typo or a word for a number is found here."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from whygpu.checks.model_shape import KINDS
from whygpu.errors import did_you_mean
from whygpu.intake.limits import LIMITS
from whygpu.intake.mapping import NUMBERS, WHOLE_NUMBERS
from whygpu.intake.preset import DESCRIPTIVE
from whygpu.quantity import parse_number
from whygpu.yamldoc.document import Mapping, Node, Scalar, Sequence
from whygpu.yamldoc.fields import hint_key, kind_of, problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from collections.abc import Mapping as ReadOnly

    from whygpu.errors import Problem

PARTS = ("embedding", "head", "attention", "value", "ffn", "down", "experts", "other")
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
    "lora_targets",
    "sharding",
    "kind",
    "ffn",
    "moe",
    "accumulates",
    "speculative",
    "requests",
    "generation",
    "class",
    "software",
    "link",
    "memory",
    "deployment",
    "provider_class",
)
"""What a coefficient may depend on: the words of checks.setup.Setup.context, of checks.setup.CardKind, where the
hardware stands, and who rents it out."""
_FIGURE = frozenset({"is", "source", "estimate", "because", "others", "absent"})


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of field: what it is called, and which scalar values it takes. ``many``: a list of them will do too."""

    noun: str
    accepts: Callable[[object], bool]
    words: tuple[str, ...] = ()
    many: bool = False


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


TEXT = Kind("a text", _is_text)
TEXTS = Kind("a text or a list of texts", _is_text, many=True)
NUMBER = Kind("a number", _is_number)
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
ANYTHING: Kind | None = None


def one_of(words: Iterable[str], *, many: bool = False) -> Kind:
    """A field that takes one of these words (or, ``many``, a list of them)."""
    known = tuple(words)
    return Kind(f"one of {', '.join(known)}", lambda value: value in known, known, many)


def between(low: float, high: float, *, whole: bool, zero: bool = True) -> Kind:
    """A number within limits; ``zero`` means none and is let through."""

    def accepts(value: object) -> bool:
        if not isinstance(value, int | float) or isinstance(value, bool) or (whole and value != int(value)):
            return False
        return low <= value <= high or (zero and value == 0)

    return Kind(f"a {'whole ' if whole else ''}number between {low:g} and {high:g}", accepts)


MODEL: ReadOnly[str, Kind | None] = MappingProxyType(
    {
        "id": TEXT,
        "name": TEXT,
        "aliases": TEXTS,
        "task": TEXT,
        "kind": one_of(KINDS),
        "source": TEXTS,
        "note": TEXT,
        "reference": TEXT,
        "gated_ffn": FLAG,
        "tied_embeddings": FLAG,
        "activation_16bit_share": between(0, 1, whole=False),
        "components": ANYTHING,
        "published_format": TEXT,
        "others": ANYTHING,
        **{key: between(*LIMITS[limit], whole=True) for key, limit in WHOLE_NUMBERS.items()},
        **{key: between(*LIMITS[limit], whole=False) for key, limit in NUMBERS.items()},
        **dict.fromkeys(DESCRIPTIVE, ANYTHING),
    }
)
CASE: ReadOnly[str, Kind | None] = MappingProxyType(
    {"when": ANYTHING, "low": NUMBER, "likely": NUMBER, "high": NUMBER, "source": TEXTS, "note": TEXT}
)
COEFFICIENT: ReadOnly[str, Kind | None] = MappingProxyType(
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
        "by": ANYTHING,
        "rows": ANYTHING,
    }
)


def format_schema(rates: Iterable[str], runtimes: Iterable[str]) -> ReadOnly[str, Kind | None]:
    """The fields of a number format; ``rates``: the accelerator rates that can do its arithmetic; ``runtimes``: the
    serving stacks that can be answered.
    """
    rate = one_of(rates, many=True)
    return {
        "id": TEXT,
        "name": TEXT,
        "aliases": TEXTS,
        "bits_per_weight": between(0.1, 64, whole=False, zero=False),
        "kind": one_of(("float", "integer", "block")),
        "quantized": FLAG,
        "compute_bits": between(1, 64, whole=True, zero=False),
        "rate": rate,
        "needs": one_of(rate.words),
        "instead": TEXT,
        "group": between(1, 1_000_000, whole=True),
        "parts": ANYTHING,
        "unquantized": one_of(PARTS, many=True),
        "runtimes": one_of(sorted(runtimes), many=True),
        "meaning": TEXT,
        "source": TEXTS,
        "note": TEXT,
    }


def check_fields(node: Mapping, schema: ReadOnly[str, Kind | None], what: str, problems: list[Problem]) -> None:
    """A problem for each field that the schema does not have, or whose value is of another kind."""
    for key, inner in node.items.items():
        if key not in schema:
            message = f"{what} has no field '{key}'"
            problem(problems, node.keys[key], "unknown-key", message, hint_key(node, key, schema))
            continue
        kind = schema[key]
        if kind is None or (isinstance(inner, Scalar) and inner.value is None):
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
            if key not in _FIGURE:
                message = f"{what} has no field '{key}'"
                problem(problems, node.keys[key], "unknown-key", message, hint_key(node, key, _FIGURE))
        node = node.items["is"]
    if kind.many and isinstance(node, Sequence):
        yield from node.items
    else:
        yield node
