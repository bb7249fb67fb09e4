"""Each lint code: what it finds, where, and what it lets pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.loader.small import small_texts
from whygpu.api import REGISTRY
from whygpu.errors import Problem
from whygpu.lint.registry import CHECKS, lint
from whygpu.lint.use import only_words, unread_values
from whygpu.loader.assemble import load_texts

if TYPE_CHECKING:
    from collections.abc import Mapping

    import whygpu

pytestmark = pytest.mark.slow

RULE = """rules:
- id: try-it
  title: Try it
  when: WHEN
  then: [THEN]
  because: x
  source: [runpod-25]
  tests:
  - {given: {workload.phase: inference}, expect: fires}
"""


def _found_in(files: Mapping[str, str]) -> dict[str, list[str]]:
    """``line:column code`` of each warning about each file, all of them in one knowledge base."""
    found: dict[str, list[str]] = {name: [] for name in files}
    for item in lint(load_texts({**small_texts(), **files}, "kb", REGISTRY)):
        if item.location.file in found and item.severity == "warning":
            found[item.location.file].append(f"{item.location.line}:{item.location.column} {item.code}")
    return found


def _found(text: str, name: str = "rules/x.yaml") -> list[str]:
    """The same about one file."""
    return _found_in({name: text})[name]


def _errors(text: str) -> list[Problem]:
    knowledge = load_texts({**small_texts(), "rules/x.yaml": text}, "kb", REGISTRY)
    return [item for item in lint(knowledge) if item.location.file == "rules/x.yaml" and item.severity == "error"]


def _rule(when: str, then: str = "advise: try-it") -> str:
    return RULE.replace("WHEN", when).replace("THEN", then)


def test_a_phase_without_a_profile_is_pointed_out() -> None:
    texts = small_texts()
    del texts["profiles.yaml"]
    found = [item for item in lint(load_texts(texts, "kb", REGISTRY)) if item.code == "no-profile"]
    assert [item.message.rpartition(" ")[2] for item in found] == [
        "training",
        "fine-tuning",
        "inference",
        "batch-inference",
    ]
    assert {str(item.location) for item in found} == {
        f"vocabulary.yaml:{found[0].location.line}:{found[0].location.column}"
    }


def test_codes_are_distinct() -> None:
    assert len({check.code for check in CHECKS}) == len(CHECKS) >= 15


RULES: tuple[tuple[str, str, list[str]], ...] = (
    ("[workload.phase == 'inference']", "advise: x", []),
    ("[workload.phase == 'inference', workload.phase == 'training']", "advise: x", ["2:3 unsatisfiable"]),
    ("[workload.phase == 'inference', workload.phase != 'inference']", "advise: x", ["2:3 unsatisfiable"]),
    ("[workload.concurrency > 4, workload.concurrency < 3]", "advise: x", ["2:3 unsatisfiable"]),
    ("[workload.concurrency > 4, workload.concurrency < 5]", "advise: x", []),
    ("[workload.trains, not workload.trains]", "advise: x", ["2:3 unsatisfiable"]),
    ("[{any: [workload.phase == 'inference', workload.trains]}, not workload.trains]", "advise: x", []),
    ("[workload.trains, workload.trains]", "advise: x", ["4:27 duplicate-condition"]),
    ("[workload.concurrency > 4, workload.concurrency > 2]", "advise: x", ["4:36 implied-condition"]),
    (
        "[\"workload.phase in ['training', 'inference']\", workload.phase == 'inference']",
        "advise: x",
        ["4:10 implied-condition"],
    ),
    ("[known(workload.concurrency), workload.concurrency > 2]", "advise: x", []),
    ("[plan.count > 1]", "prefer: cost", ["4:10 rewards-more-cards"]),
    ("[plan.tensor >= 2]", "prefer: cost", ["4:10 rewards-more-cards"]),
    ("[plan.count > 1]", "avoid: cost", []),
    ("[plan.count > 1, field.smallest_count > 1]", "prefer: cost", []),
    ("[plan.count == 1]", "prefer: cost", []),
    ("[gpu.family == 'T4']", "prefer: cost", ["2:3 unbounded-count"]),
    ("[\"gpu.family in ['T4', 'L4']\", plan.count == 1]", "prefer: cost", []),
    ("[gpu.family == 'T4', plan.count <= 8]", "prefer: cost", []),
    ("[gpu.family == 'T4', plan.count == field.smallest_count]", "prefer: cost", []),
    ("[gpu.family == 'T4']", "avoid: cost", []),
    ("[gpu.family == 'T44']", "avoid: cost", ["4:10 no-such-value"]),
    ("[model.kind == 'decodr']", "advise: x", ["4:10 no-such-value"]),
    ("[gpu.vendor != 'nobody']", "avoid: cost", ["4:10 no-such-value"]),
)


@pytest.fixture(scope="module")
def of_rules() -> dict[str, list[str]]:
    """What is found about each of RULES, all of them in one knowledge base."""
    files = {
        f"rules/x{number}.yaml": _rule(when, then).replace("try-it", f"try-{number}").replace("Try it", f"Try {number}")
        for number, (when, then, _) in enumerate(RULES)
    }
    return _found_in(files)


@pytest.mark.parametrize("number", range(len(RULES)), ids=[when for when, _, _ in RULES])
def test_rules(of_rules: dict[str, list[str]], number: int) -> None:
    assert of_rules[f"rules/x{number}.yaml"] == RULES[number][2]


def test_untested() -> None:
    text = _rule("[workload.phase == 'inference']")
    assert _found(text[: text.index("  tests:")]) == ["2:3 no-test"]
    assert _found(text.replace("expect: fires", "expect: silent")) == ["2:3 no-test"]


@pytest.mark.slow
def test_a_verdict_that_no_test_names_is_a_problem() -> None:
    text = _rule("[plan.count == 1]", "prefer: cost mild").replace("workload.phase: inference", "plan.count: 1")
    for tested in (text, text[: text.index("  tests:")]):
        (found,) = _errors(tested)
        assert (found.code, str(found.location)) == ("unnamed-verdict", "rules/x.yaml:2:3")
        assert found.help == "write 'expect: {fires: [prefer cost mild]}' in a test that makes it fire"
    assert _errors(text.replace("fires}", "{fires: [prefer cost mild]}}")) == []


def test_a_verdict_of_a_row_that_no_test_names_is_a_problem() -> None:
    text = TABLE.replace("HIT", "unique").replace("COLUMNS", "plan.count").replace("[advise]", "[prefer]")
    text = text.replace("ROWS", "  - {id: one, if: 1, then: cost, source: runpod-25}")
    (found,) = _errors(text.replace("workload.phase: inference}, expect: none", "plan.count: 1}, expect: one"))
    assert (found.code, str(found.location)) == ("unnamed-verdict", "rules/x.yaml:9:5")
    assert found.help == "write 'expect: {one: [prefer cost normal]}' in a test that makes it fire"
    named = text.replace("workload.phase: inference}, expect: none", "plan.count: 1}, expect: {one: [prefer cost]}")
    assert _errors(named) == []


def test_idle_override() -> None:
    text = _rule("[workload.phase == 'inference']").replace("  source:", "  overrides: [OTHER]\n  source:")
    assert _found(text.replace("OTHER", "fp16-training")) == []
    assert _found(text.replace("OTHER", "no-training-at-all").replace("rules:\n", "rules:\n" + _OTHER)) == [
        "9:3 idle-override"
    ]


_OTHER = """- id: no-training-at-all
  title: No training at all
  when: [workload.phase == 'training']
  then: [advise: none]
  because: x
  source: [runpod-25]
  tests: [{given: {workload.phase: training}, expect: fires}]
"""


TABLE = """tables:
- id: try-table
  title: Try table
  hit: HIT
  columns: [COLUMNS]
  then: [advise]
  because: x
  rows:
ROWS
  tests:
  - {given: {workload.phase: inference}, expect: none}
"""


SIZE, PHASE = "workload.size_class", "workload.phase"
TABLES: tuple[tuple[str, str, tuple[str, ...], list[str]], ...] = (
    (
        "unique",
        SIZE,
        (
            "small",
            "medium",
            "large",
        ),
        [],
    ),
    (
        "unique",
        SIZE,
        (
            "small",
            "medium",
        ),
        ["2:3 table-gap"],
    ),
    (
        "first",
        SIZE,
        (
            "small",
            "'-'",
        ),
        [],
    ),
    (
        "first",
        SIZE,
        (
            "'-'",
            "small",
        ),
        ["10:5 table-shadowed"],
    ),
    (
        "any",
        SIZE,
        (
            "'-'",
            "small",
        ),
        ["10:5 table-redundant"],
    ),
    ("collect", SIZE, ("small",), []),
    ("unique", "workload.trains", ("true",), ["2:3 table-gap"]),
    (
        "unique",
        "workload.concurrency",
        (
            "'< 4'",
            "'>= 4'",
        ),
        [],
    ),
    (
        "unique",
        "workload.concurrency",
        (
            "'< 4'",
            "'> 4'",
        ),
        ["2:3 table-gap"],
    ),
    (
        "unique",
        "workload.concurrency",
        (
            "'< 4'",
            "'>= 8'",
        ),
        ["2:3 table-gap"],
    ),
    ("unique", "workload.concurrency", ("'>= 4'",), ["2:3 table-gap"]),
    (
        "unique",
        f"{SIZE}, {PHASE}",
        (
            "small, '-'",
            "'!= small', inference",
        ),
        ["2:3 table-gap"],
    ),
)


def test_tables() -> None:
    files = {}
    for table, (hit, columns, rows, _) in enumerate(TABLES):
        written = (f"  - {{id: r{row}, if: [{cells}], then: a, source: runpod-25}}" for row, cells in enumerate(rows))
        text = TABLE.replace("HIT", hit).replace("COLUMNS", columns).replace("ROWS", "\n".join(written))
        files[f"tables/x{table}.yaml"] = text.replace("try-table", f"try-{table}").replace("Try table", f"Try {table}")
    found = _found_in(files).values()
    assert [[item for item in items if "table" in item] for items in found] == [wanted for _, _, _, wanted in TABLES]


def test_what_nobody_reads() -> None:
    text = """names:
  need.unread: {type: number, meaning: x}
  need.concluded: {type: flag, meaning: x}
  measured.idle: {type: number, meaning: x}
values:
  need.unread: workload.concurrency * 2
references:
- {id: never-cited, title: x, as_of: 2026-01-01}
"""
    rule = _rule("[workload.phase == 'inference']", "conclude: {need.concluded: true}")
    assert _found(text + rule) == [
        "3:19 open-flag",
        "3:19 unread-conclusion",
        "6:16 unread-value",
        "4:18 unused-name",
        "8:3 unused-source",
    ]


def test_models() -> None:
    model = "{id: mine, name: Mine, kind: decoder, parameters: 1000, active_parameters: 2000, source: litgpt-config}"
    assert _found(f"models:\n- {model}\n", "facts/x.yaml") == ["2:3 bad-model"]
    # Nemotron 3 Super's configuration: experts of 2,688 on a latent of 1,024, where the hidden size is 4,096
    sizes = "layers: 88, hidden_size: 4096, heads: 32, kv_heads: 2, head_dim: 128, vocab_size: 131072, moe_layers: 40"
    experts = "experts: 512, experts_per_token: 22, expert_ffn_size: 2688, gated_ffn: false, tied_embeddings: false"
    both = f"parameters: 120668707840, active_parameters: 12770237440, {sizes}, {experts}, source: litgpt-config"
    named = f"models:\n- {{id: mine, name: Mine, kind: decoder, {both}}}\n"
    narrow = named.replace("moe_layers", "expert_latent_size: 1024, moe_layers")
    assert _found(named, "facts/x.yaml") == ["2:3 bad-model"] * 2, "more than the model has, and than is active"
    assert _found(narrow, "facts/x.yaml") == []
    texts = small_texts()
    texts["questions.yaml"] = texts["questions.yaml"].replace("assume: llama-3.1-8b", "assume: llama-3.1-9b")
    found = [item for item in lint(load_texts(texts, "kb", REGISTRY)) if item.code == "no-such-model"]
    assert "'llama-3.1-9b', which is no preset" in " ".join(item.message for item in found)
    assert all(item.location.file == "questions.yaml" for item in found)


def test_what_tools_read_is_read(kb: whygpu.KnowledgeBase) -> None:
    """plan.takes_checkpoints is computed for the lines of launches alone."""
    assert not list(unread_values(kb.knowledge))


def test_rules_that_only_lead_to_words_are_known(whole_kb: whygpu.KnowledgeBase) -> None:
    """What advice alone reads moves nothing; what plans are found by, or a rule with a verdict reads, does."""
    found = only_words(whole_kb.knowledge)
    assert {"latency-is-the-aim", "size-a-service-from-measurements", "measured-by-answers-for-the-money"} <= found
    read_by_the_engine, read_by_a_verdict = "a-machine-for-a-week-of-work", "more-than-a-batch-is-heavy-traffic"
    assert found.isdisjoint(
        {read_by_the_engine, read_by_a_verdict, "a-week-of-work", "the-cache-fills-what-weights-leave"}
    )
