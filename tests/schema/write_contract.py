"""The tables of docs/reference/contract.md, made from the schemas: ``python -m tests.schema.write_contract``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import whygpu
from tests.schema.validators import ROOT
from whygpu.schema.build import schema_of
from whygpu.schema.output import OUTPUTS

if TYPE_CHECKING:
    from whygpu.knowledge.base import Knowledge

CONTRACT = ROOT / "docs" / "reference" / "contract.md"
_MOST = 12  # words that are listed; the schema has all


def document(knowledge: Knowledge, text: str) -> str:
    """The text with its tables as they should be."""
    for name, table in (("answers", answers_table(knowledge)), ("output", output_tables(knowledge))):
        part = re.compile(rf"(<!-- table: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        assert part.search(text), name
        text = part.sub(lambda match, table=table: f"{match[1]}\n{table}\n{match[2]}", text)  # type: ignore[misc]
    return text


def answers_table(knowledge: Knowledge) -> str:
    """Each answer: what it takes, its unit and its bounds."""
    rows = ["| key | takes | unit |", "|---|---|---|"]
    for key in schema_of("answers", knowledge)["properties"]:
        spec = knowledge.name_by_answer.get(key)
        if key == "model":
            rows.append("| `model` | a preset's id, name or alias, or a mapping of sizes or of a file | |")
        elif key == "owned":
            rows.append("| `owned` | list of `{accelerator, count}`, or a text such as `4x RTX 3090` | |")
        elif key == "measured":
            rows.append(
                "| `measured` | a measurement as in its file, a list of them, or on the command line a file's name | |"
            )
        elif key == "phases":
            continue
        elif spec is None:
            rows.append(f"| `{key}` | one or a list | |")
        else:
            low, high = spec.minimum, spec.maximum
            bounds = "" if low is None else f" from {low:g}" if high is None else f" {low:g} to {high:g}"
            words = [f"`{word}`" for word in spec.values]
            listed = ", ".join(words[:_MOST]) + (" ..." if len(words) > _MOST else "")
            kind = "whole number" if spec.integer else spec.kind
            rows.append(f"| `{key}` | {listed or kind + bounds} | {spec.unit or ''} |")
    return "\n".join(rows) + "\n"


def output_tables(knowledge: Knowledge) -> str:
    """Each record: its keys with their types."""
    defs: dict[str, Any] = {}
    for kind in OUTPUTS:
        found = schema_of(kind, knowledge)["$defs"]
        assert all(defs.get(name, one) == one for name, one in found.items()), "two records of one name"
        defs |= found
    return "\n".join(_record(name, defs[name]) for name in sorted(defs))


def _record(name: str, schema: Any) -> str:
    rows = [f"### {name}", "", *([schema["description"], ""] if "description" in schema else [])]
    described = any("description" in value for value in schema["properties"].values())
    rows += ["| key | type | |", "|---|---|---|"] if described else ["| key | type |", "|---|---|"]
    for key, value in schema["properties"].items():
        sometimes = "" if key in schema["required"] else " (may be left out)"
        meaning = f" {value.get('description', '')} |".replace("``", "`") if described else ""
        rows.append(f"| `{key}` | {_type(value)}{sometimes} |{meaning}")
    return "\n".join(rows) + "\n"


def _type(schema: Any) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{word}`" if word else "empty" for word in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema['items'])}"
    if schema.get("type") == "object":
        return f"mapping to {_type(schema['additionalProperties'])}"
    return str(schema.get("type", "any value"))


if __name__ == "__main__":
    CONTRACT.write_text(document(whygpu.load().knowledge, CONTRACT.read_text(encoding="utf-8")), encoding="utf-8")
