"""What the fields of a mapping may hold, as data: readers take it from here, and so does ``whygpu schema``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from types import MappingProxyType
from typing import Any

from whygpu.yamldoc.document import plain_value

Schema = dict[str, Any]
"""A JSON Schema (draft 2020-12), or a part of one."""

_ID = "[a-z0-9][a-z0-9._-]*"
_DATE = "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
ID = re.compile(rf"{_ID}\Z")
DATE = re.compile(rf"{_DATE}\Z")
_SCALARS = ["string", "number", "boolean"]


def _anything(_: object) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of field: what it is called, which scalar values it takes, and what JSON Schema says of it.

    ``many``: a list of them will do too; ``form``: the fields of the mapping, or of each mapping of the list, that it
    is; ``needed``: it must be there.
    """

    noun: str
    accepts: Callable[[object], bool] = _anything
    words: tuple[str, ...] = ()
    many: bool = False
    needed: bool = False
    form: Form | None = None
    schema: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def value(self) -> Schema:
        """The schema of a value that is given."""
        one = dict(self.schema)
        return {"anyOf": [one, {"type": "array", "items": one}]} if self.many else one


Form = Mapping[str, Kind]
"""The fields of a mapping by their names."""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_day(value: object) -> bool:
    if not isinstance(value, str) or not DATE.match(value):
        return False
    with suppress(ValueError):  # 30 February
        return bool(date.fromisoformat(value))
    return False


_TEXT: Schema = {"type": "string", "pattern": r"\S"}
TEXT = Kind("a text", _is_text, schema=_TEXT)
TEXTS = Kind("a text or a list of texts", _is_text, many=True, schema=_TEXT)
TEMPLATE = Kind("a text with {names}", schema={"type": "string"})
NUMBER = Kind("a number", _is_number, schema={"type": "number"})
FLAG = Kind("true or false", lambda value: isinstance(value, bool), schema={"type": "boolean"})
WORD = Kind("a word", schema={"type": _SCALARS})
"""One of the words that only the knowledge base knows."""
IDENTIFIER = Kind("an id", schema={"type": _SCALARS, "pattern": f"^{_ID}$"})
DAY = Kind("a date", schema={"type": "string", "pattern": f"^{_DATE}$"})
CALENDAR_DAY = replace(DAY, noun="a date such as 2026-11-21", accepts=_is_day)
"""The same where no reader looks at it."""
CONDITIONS = Kind("conditions", schema={"$ref": "#/$defs/conditions"})
EXPRESSION = Kind("an expression", schema={"type": _SCALARS})
ANYTHING = Kind("anything")


def needed(kind: Kind) -> Kind:
    """The kind, of a field that must be there."""
    return replace(kind, needed=True)


def one_of(words: Iterable[str], *, many: bool = False) -> Kind:
    """A field that takes one of these words (or, ``many``, a list of them)."""
    known = tuple(words)
    plain = (plain_value(word) for word in known)  # "8" is a number where it is written without quotes
    values = [*known, *(value for value in plain if value is not None and not isinstance(value, str))]
    return Kind(f"one of {', '.join(known)}", lambda value: value in known, known, many, schema={"enum": values})


def among(words: Iterable[str], *, many: bool = False) -> Kind:
    """A text (or, ``many``, a list of them) that is one of these words, whatever spaces are around it."""
    known = tuple(words)
    pattern = f"^\\s*({'|'.join(re.escape(word) for word in known)})\\s*$"
    schema = {"anyOf": [{"enum": list(known)}, {"type": "string", "pattern": pattern}]}
    return Kind(f"one of {', '.join(known)}", _is_text, known, many, schema=schema)


def between(low: float, high: float, *, whole: bool, zero: bool = True) -> Kind:
    """A number within limits; ``zero`` means none and is let through."""

    def accepts(value: object) -> bool:
        if not isinstance(value, int | float) or isinstance(value, bool) or (whole and value != int(value)):
            return False
        return low <= value <= high or (zero and value == 0)

    limits: Schema = {"type": "integer" if whole else "number", "minimum": low, "maximum": high}
    schema = {"anyOf": [{"const": 0}, limits]} if zero and low > 0 else limits
    return Kind(f"a {'whole ' if whole else ''}number between {low:g} and {high:g}", accepts, schema=schema)


def record(form: Form) -> Kind:
    """A mapping of these fields."""
    return Kind("a mapping", form=form, schema=object_schema(form))


def list_of(form: Form) -> Kind:
    """A list of mappings of these fields."""
    return Kind("a list of mappings", form=form, schema={"type": "array", "items": object_schema(form)})


def names_to(schema: Schema) -> Kind:
    """A mapping of any names to values."""
    return Kind("a mapping of names", schema={"type": "object", "additionalProperties": schema})


def object_schema(form: Form) -> Schema:
    """The JSON Schema of a mapping: its fields and no others, those that are not needed possibly null."""
    found: Schema = {
        "type": "object",
        "properties": {key: kind.value if kind.needed else optional(kind.value) for key, kind in form.items()},
        "additionalProperties": False,
    }
    required = [key for key, kind in form.items() if kind.needed]
    return {**found, "required": required} if required else found


def optional(schema: Schema) -> Schema:
    """The same or null."""
    if not schema:
        return schema
    kind = schema.get("type")
    if isinstance(kind, str | list) and "enum" not in schema:
        return {**schema, "type": [*([kind] if isinstance(kind, str) else kind), "null"]}
    return {"anyOf": [*(schema["anyOf"] if list(schema) == ["anyOf"] else [schema]), {"type": "null"}]}
