"""The JSON Schema of the output, read off the types of ``explain.contract``."""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from itertools import pairwise
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from whygpu.diagnosis import contract as diagnosis
from whygpu.diagnosis import parts as causes
from whygpu.explain import contract, parts, plan
from whygpu.render.output import SectionsJson
from whygpu.yamldoc.forms import Schema

OUTPUTS: Mapping[str, tuple[type, ...]] = types.MappingProxyType(
    {
        "output": (contract.AdviceJson, contract.LifecycleJson, SectionsJson),
        "plan": (contract.PlanJson,),
        "diagnosis": (diagnosis.DiagnosisJson,),
        "record": (contract.RecordJson,),
        "error": (contract.ErrorJson,),
    }
)
"""Kinds of output: of kb-explain, of ``whygpu estimate``, of ``whygpu diagnose``, a decision record, and bad input."""
_PLAIN: Mapping[object, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    Any: {},
}
_NAMES = {**vars(parts), **vars(causes), **vars(plan), **vars(contract), "Mapping": Mapping, "Sequence": Sequence}
"""What annotations may name, also where they are imported for the type checker alone."""


def output_schema(kind: str) -> Schema:
    """The schema of one kind of output; KeyError where there is none of that name."""
    defs: dict[str, Schema] = {}
    found = [_schema(one, defs) for one in OUTPUTS[kind]]
    return {**(found[0] if len(found) == 1 else {"anyOf": found}), "$defs": dict(sorted(defs.items()))}


def _schema(hint: Any, defs: dict[str, Schema]) -> Schema:
    """The schema of a type; classes become definitions."""
    if hint in _PLAIN:
        return dict(_PLAIN[hint])
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _record(arguments[0], defs, sparse=contract.SPARSE in arguments)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema(one, defs) for one in arguments]}
    if origin in (list, tuple, Sequence):
        return {"type": "array", "items": _schema(arguments[0], defs)}
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": _schema(arguments[1], defs)}
    return _record(hint, defs)


def _record(kind: Any, defs: dict[str, Schema], *, sparse: bool = False) -> Schema:
    if not (is_dataclass(kind) or is_typeddict(kind)):
        raise TypeError(f"no JSON Schema is known for {kind}")
    name = kind.__name__.removesuffix("Json")
    if name not in defs:
        defs[name] = {}  # a plan has variants, which are plans
        hints = get_type_hints(kind, localns=_NAMES, include_extras=True)
        meanings = _meanings(kind)
        needed = [key for key, hint in hints.items() if get_origin(hint) is not NotRequired]
        defs[name] = {
            **_described(kind),
            "type": "object",
            "properties": {
                key: {**meanings.get(key, {}), **_schema(_given(hint), defs)} for key, hint in hints.items()
            },
            "required": ["id"] if sparse else needed,
            "additionalProperties": False,
        }
    return {"$ref": f"#/$defs/{name}"}


def _given(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is NotRequired else hint


def _meanings(kind: Any) -> dict[str, Schema]:
    """What the texts below the fields of a class say of them."""
    try:
        (node,) = ast.parse(inspect.getsource(kind)).body
    except (OSError, TypeError):  # a class without a text of its own
        return {}
    found: dict[str, Schema] = {}
    for field, below in pairwise(node.body if isinstance(node, ast.ClassDef) else ()):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str() as text)):
                found[name] = {"description": " ".join(text.split())}
    return found


def _described(kind: Any) -> Schema:
    text = inspect.getdoc(kind) or ""
    generated = text.startswith((f"{kind.__name__}(", "dict("))
    return {} if generated or not text else {"description": " ".join(text.split("\n\n")[0].split())}
