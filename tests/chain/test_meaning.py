"""What both engines once agreed on and both got wrong: each a small knowledge base, judged on both."""

from __future__ import annotations

import pytest

from tests.chain.drive import run
from tests.chain.small import NUMBER, PREFER, knowledge, program_of
from whygpu.chain.durable import DurableEngine
from whygpu.chain.engines import EvaluatorChain
from whygpu.chain.environment import SessionEnvironment, known_value, plain
from whygpu.errors import KnowledgeBaseError
from whygpu.language import tree as t


def test_a_field_value_is_taken_over_known_figures_only() -> None:
    """max(gpu.n0, workload.n) is at least gpu.n0 where workload.n is unknown, but it is not gpu.n0."""
    base = knowledge(
        [(["field.m == 3"], PREFER), (["field.m > 1"], PREFER)],
        {"plan.v": NUMBER, "field.m": NUMBER},
        {"plan.v": "max(gpu.n0, workload.n)", "field.m": {"min": "plan.v"}},
    )
    for chain in (EvaluatorChain(), DurableEngine(base).chain()):
        assert not run(program_of(base, {}, 3.0, 5.0), chain).fired_plans
    for chain in (EvaluatorChain(), DurableEngine(base).chain()):
        assert set(run(program_of(base, {"workload.n": 1.0}, 3.0, 5.0), chain).fired_plans) == {"r0", "r1"}


def test_a_field_value_is_over_the_plans_it_is_asked_of() -> None:
    base = knowledge(
        [(["field.m == 5"], PREFER), (["known(field.none)"], PREFER)],
        {"field.m": NUMBER, "field.none": NUMBER},
        {
            "field.m": {"min": "gpu.n0", "where": "gpu.n0 > workload.n"},
            "field.none": {"max": "gpu.n0", "where": "gpu.n0 > 9"},
        },
    )
    for chain in (EvaluatorChain(), DurableEngine(base).chain()):
        assert set(run(program_of(base, {"workload.n": 4.0}, 3.0, 5.0, 7.0), chain).fired_plans) == {"r0"}


def test_a_field_value_may_use_one_that_is_written_after_it() -> None:
    base = knowledge(
        [(["field.a == 2"], PREFER)],
        {"field.a": NUMBER, "field.b": NUMBER},
        {"field.a": {"max": "gpu.n0 / field.b"}, "field.b": {"min": "gpu.n0"}},
    )
    for chain in (EvaluatorChain(), DurableEngine(base).chain()):
        assert set(run(program_of(base, {}, 3.0, 6.0), chain).fired_plans) == {"r0"}


@pytest.mark.parametrize(
    ("rules", "names", "values", "message"),
    [
        (
            [(["plan.v > 1"], {"exclude": "plan"})],
            {"plan.v": NUMBER, "field.b": NUMBER},
            {"plan.v": "gpu.n0 / field.b", "field.b": {"min": "gpu.n0"}},
            "rule 'r0' depends on field.b, which is known only after the hard rules",
        ),
        ([], {"need.v": NUMBER}, {"need.v": "gpu.n0 * 2"}, "cannot use names of plans"),
    ],
)
def test_what_could_never_be_known_in_time_is_refused(
    rules: list[tuple[list[str], object]], names: dict[str, object], values: dict[str, object], message: str
) -> None:
    with pytest.raises(KnowledgeBaseError, match=message):
        knowledge(rules, names, values)


def test_rows_that_require_the_same_may_both_match() -> None:
    """They were told apart by where the condition stands, and refused as rows that differ."""
    rows = [{"id": f"r{least}", "if": f">= {least}", "then": "gpu.n0 > 4", "source": "doc-1"} for least in (1, 2)]
    table = {"id": "t", "title": "T", "hit": "any", "because": "So.", "columns": ["workload.n"], "then": ["require"]}
    base = knowledge([], tables=[{**table, "rows": rows}])
    assert run(program_of(base, {"workload.n": 2.0}, 3.0, 5.0), EvaluatorChain()).alive == (False, True)
    rows[1]["then"] = "gpu.n0 > 5"
    with pytest.raises(KnowledgeBaseError, match="can both match, and differ"):
        knowledge([], tables=[{**table, "rows": rows}])


def test_nothing_found_before_a_name_was_known_is_kept() -> None:
    base = knowledge([], {"need.v": NUMBER}, {"need.v": "workload.n * 2"})
    session = SessionEnvironment(base)
    doubled = t.Compare(">", t.Name("need.v"), t.Constant(5.0))
    assert plain(session.value("need.v")) is None
    assert plain(session.evaluator.truth(doubled)) is None
    session.set("workload.n", known_value(3.0))
    assert plain(session.value("need.v")) == 6
    assert plain(session.evaluator.truth(doubled)) is True
