"""The schemas of a knowledge base's files: committed, named in every file, and of one mind with the loader."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator

import whygpu
from tests.effort import one_in
from tests.loader.small import lean_texts, real_texts, small_texts
from tests.schema.validators import MODELINE, ROOT, data_of, faults, kind_of, schema
from whygpu.api import REGISTRY
from whygpu.errors import KnowledgeBaseError
from whygpu.loader.assemble import LISTS, MAPPINGS, load_texts
from whygpu.schema.build import KINDS, schema_text
from whygpu.schema.kb import FILES

SCHEMAS = ROOT / "kb" / "schemas"


@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_in_kb_is_current(kb: whygpu.KnowledgeBase, kind: str) -> None:
    """Where it is not: ``whygpu schema --out kb/schemas``."""
    made = schema(kind, kb.knowledge)
    Draft202012Validator.check_schema(made)
    written = (SCHEMAS / f"{kind}.schema.json").read_text(encoding="utf-8")
    assert written == schema_text(made), f"not current: run 'whygpu schema {kind} --out kb/schemas'"


def test_every_section_has_a_schema_and_no_other_file_lies_there() -> None:
    assert {section for own in FILES.values() for section in own} == LISTS | MAPPINGS
    assert {path.name for path in SCHEMAS.iterdir()} == {f"{kind}.schema.json" for kind in KINDS}
    assert not [name for name in real_texts() if "schemas" in name]


@pytest.mark.parametrize("name", sorted(real_texts()))
def test_a_file_names_its_schema_and_holds_to_it(kb: whygpu.KnowledgeBase, name: str) -> None:
    text = real_texts()[name]
    first = text.split("\n", 1)[0]
    kind = kind_of(text)
    assert kind is not None
    assert first.startswith(MODELINE)
    assert (ROOT / "kb" / name).parent.joinpath(
        first.removeprefix(MODELINE)
    ).resolve() == SCHEMAS / f"{kind}.schema.json"
    assert faults(schema(kind, kb.knowledge), data_of(text)) == []


RULE = """rules:
- id: x
  title: A rule
  when: workload.phase == 'inference'
  then: [{advise: x}]
  because: it is so
  source: griddly-21
"""
REFUSED = {
    "an unknown section": ("rules", RULE.replace("rules:", "rulez:")),
    "an unknown field": ("rules", RULE.replace("title:", "titel:")),
    "a field that is missing": ("rules", RULE.replace("  source: griddly-21\n", "")),
    "an id with a space": ("rules", RULE.replace("id: x\n", "id: two words\n")),
    "a title that is a number": ("rules", RULE.replace("A rule", "5")),
    "an effect that there is not": ("rules", RULE.replace("advise", "advize")),
    "no effect": ("rules", RULE.replace("[{advise: x}]", "[]")),
    "a strength that there is not": ("rules", RULE.replace("{advise: x}", "prefer: cost huge")),
    "a criterion that there is not": ("rules", RULE.replace("{advise: x}", "{prefer: {criterion: costs}}")),
    "a condition that is a mapping": (
        "rules",
        RULE.replace("workload.phase ==", "{workload.phase:").replace("e'", "e'}"),
    ),
    "a name in a test that there is not": ("rules", RULE + "  tests: [{given: {workload.faze: x}, expect: fires}]\n"),
    "a word in a test that there is not": ("rules", RULE + "  tests: [{given: {workload.phase: x}, expect: fires}]\n"),
    "an expectation that there is not": ("rules", RULE + "  tests: [{given: {}, expect: fire}]\n"),
    "a list that is a mapping": ("rules", "rules: {x: 1}\n"),
    "a price that is a text": (
        "offerings",
        "offerings: [{id: x, provider: aws, accelerator: l4, count: 1, usd_per_hour: a, price_kind: spot, source: x}]",
    ),
    "a day that is none": ("references", "references: [{id: x, title: X, as_of: 2026-13-45}]"),
    "a figure of another type": ("accelerators", "accelerators: [{id: x, name: X, family: X, vendor: nvidia, ecc: 5}]"),
    "a figure that the vocabulary lacks": (
        "accelerators",
        "accelerators: [{id: x, name: X, family: X, vendor: y, vrm: 5}]",
    ),
    "a size out of bounds": ("models", "models: [{id: x, layers: -3, source: x}]"),
    "a coefficient that is a text": ("coefficients", "coefficients: [{id: x, likely: much, source: x}]"),
    "a type that there is not": ("vocabulary", "names: {workload.x: {type: chioce, meaning: x}}"),
    "an entity that there is not": ("vocabulary", "names: {worklod.x: {type: flag, meaning: x}}"),
    "a question without its text": ("questions", "questions: [{id: phase, topic: x}]"),
    "a role that there is not": ("ranking", "ranking: {roles: [{role: best, because: x}]}"),
    "a hit policy that there is not": (
        "tables",
        "tables: [{id: x, title: X, hit: last, columns: [], then: [], rows: []}]",
    ),
    "an expectation of a case that there is not": (
        "cases",
        "cases: [{id: x, title: X, answers: {phase: inference}, source: x, expect: {recomended: {family: L4}}}]",
    ),
    "an answer of a case that there is not": (
        "cases",
        "cases: [{id: x, title: X, answers: {phaze: inference}, source: x, expect: {status: tied}}]",
    ),
}


@pytest.mark.parametrize(
    "what",
    one_in(3, REFUSED),
)
def test_what_the_loader_refuses_for_its_shape_the_schema_refuses(kb: whygpu.KnowledgeBase, what: str) -> None:
    kind, text = REFUSED[what]
    assert faults(schema(kind, kb.knowledge), data_of(text))
    texts = {**(small_texts() if kind == "cases" else lean_texts()), "more.yaml": text}
    if kind == "ranking":
        del texts["ranking.yaml"]
    with pytest.raises(KnowledgeBaseError) as caught:
        load_texts(texts, "kb", REGISTRY)
    assert "more.yaml" in {problem.location.file for problem in caught.value.problems}


def test_the_rule_that_is_spoilt_above_is_good(kb: whygpu.KnowledgeBase) -> None:
    assert faults(schema("rules", kb.knowledge), data_of(RULE)) == []
    load_texts({**small_texts(), "more.yaml": RULE}, "kb", REGISTRY)
