"""The type-checker's messages: what each says, and that well-typed expressions pass."""

from __future__ import annotations

import pytest

from tests.language.texts import type_problems

GOOD = (
    "workload.phase == 'training'",
    "workload.phase != 'fine-tuning'",
    "'inference' == workload.phase",
    "workload.phase in ['training', 'inference']",
    "workload.trains",
    "not workload.trains and true",
    "workload.trains == false",
    "workload.trains == (workload.batch_size > 1)",
    "workload.user == 'anybody'",
    "workload.user == workload.phase",
    "workload.phase == workload.task",
    "workload.batch_size in [1, 2]",
    "need.total_gib > gpu.usable_gib",
    "need.total_gib > 24",
    "need.total_gib * 1.2 > gpu.usable_gib",
    "1.2 * need.total_gib > gpu.usable_gib / 2",
    "need.total_gib / gpu.usable_gib > plan.token_ms / 10",
    "need.total_gib + 2 <= gpu.usable_gib",
    "max(need.total_gib, 2) < gpu.usable_gib",
    "min(need.total_gib, gpu.usable_gib) < 4",
    "weights_gib('int4') < gpu.usable_gib",
    "weights_gib(workload.phase) < 4",
    "half(workload.batch_size) > half(3)",
    "known(workload.phase) or known(gpu.usable_gib)",
    "1 < workload.batch_size <= 8",
)


@pytest.mark.parametrize("text", GOOD)
def test_good(text: str) -> None:
    assert type_problems(text) == []


# expression: code, part of the message, part of the help, the text that the problem points at
BAD: dict[str, tuple[str, str, str, str]] = {
    "workload.fase == 'training'": (
        "unknown-name",
        "no name 'workload.fase'",
        "did you mean 'workload.phase'",
        "workload.fase",
    ),
    "true and not workload.fase": (
        "unknown-name",
        "no name 'workload.fase'",
        "did you mean 'workload.phase'",
        "workload.fase",
    ),
    "known(workload.fase)": (
        "unknown-name",
        "no name 'workload.fase'",
        "did you mean 'workload.phase'",
        "workload.fase",
    ),
    "xyzzy.quux > 1": ("unknown-name", "no name 'xyzzy.quux'", "vocabulary.yaml", "xyzzy.quux"),
    "workload.phase == training": ("unknown-name", "no name 'training'", "'training'", "training"),
    "workload.phase == 'trainig'": (
        "bad-choice",
        "'trainig' is not a value of workload.phase",
        "did you mean 'training'?",
        "'trainig'",
    ),
    "true and 'trainig' != workload.phase": (
        "bad-choice",
        "'trainig' is not a value",
        "did you mean 'training'?",
        "'trainig'",
    ),
    "workload.phase == 'zzz'": (
        "bad-choice",
        "'zzz' is not a value",
        "one of fine-tuning, inference, training",
        "'zzz'",
    ),
    "workload.phase in ['training', 'zzz']": ("bad-choice", "'zzz' is not a value", "one of fine-tuning", "'zzz'"),
    "need.total_gib > plan.token_ms": (
        "unit-mismatch",
        "GiB and ms do not compare",
        "convert",
        "need.total_gib > plan.token_ms",
    ),
    "need.total_gib + plan.token_ms > 1": ("unit-mismatch", "GiB and ms", "convert", "need.total_gib + plan.token_ms"),
    "max(need.total_gib, plan.token_ms) > 1": (
        "unit-mismatch",
        "GiB and ms",
        "convert",
        "max(need.total_gib, plan.token_ms)",
    ),
    "2 * need.total_gib > plan.token_ms": (
        "unit-mismatch",
        "GiB and ms",
        "convert",
        "2 * need.total_gib > plan.token_ms",
    ),
    "max(need.total_gib, 2) > plan.token_ms": (
        "unit-mismatch",
        "GiB and ms",
        "",
        "max(need.total_gib, 2) > plan.token_ms",
    ),
    "weights_gib('int4') > plan.token_ms": ("unit-mismatch", "GiB and ms", "", "weights_gib('int4') > plan.token_ms"),
    "workload.batch_size == 'four'": (
        "wrong-type",
        "a number cannot be compared with a word",
        "quotes",
        "workload.batch_size == 'four'",
    ),
    "workload.phase > 3": ("wrong-type", "a word cannot be compared with a number", "quotes", "workload.phase > 3"),
    "workload.trains == 1": ("wrong-type", "a condition cannot be compared with a number", "", "workload.trains == 1"),
    "workload.phase < 'training'": (
        "wrong-type",
        "'<' needs numbers; these are words",
        "use == or !=",
        "workload.phase < 'training'",
    ),
    "workload.trains >= true": (
        "wrong-type",
        "'>=' needs numbers; these are conditions",
        "use == or !=",
        "workload.trains >= true",
    ),
    "workload.phase in ['training', 3]": ("wrong-type", "this is a number, the left side is a word", "", "3"),
    "workload.batch_size in ['one']": ("wrong-type", "this is a word, the left side is a number", "", "'one'"),
    "workload.phase + 1 > 2": ("wrong-type", "'+' needs numbers; this is a word", "", "workload.phase"),
    "2 * workload.trains > 2": ("wrong-type", "'*' needs numbers; this is a condition", "", "workload.trains"),
    "workload.phase and workload.trains": (
        "wrong-type",
        "this is a word, where a condition is needed",
        "compare",
        "workload.phase",
    ),
    "not workload.batch_size": (
        "wrong-type",
        "this is a number, where a condition is needed",
        "compare",
        "workload.batch_size",
    ),
    "workload.batch_size": ("wrong-type", "this is a number, where a condition is needed", "", "workload.batch_size"),
    "min(need.total_gib) > 1": ("wrong-type", "min() takes two numbers or more", "", "min(need.total_gib)"),
    "max(need.total_gib, 'x') > 1": ("wrong-type", "max() takes two numbers or more", "", "max(need.total_gib, 'x')"),
    "weights_gib() > 1": ("wrong-type", "weights_gib takes (word)", "", "weights_gib()"),
    "weights_gib('int4', 'fp16') > 1": ("wrong-type", "weights_gib takes (word)", "", "weights_gib('int4', 'fp16')"),
    "half('x') > 1": ("wrong-type", "half takes (number)", "", "half('x')"),
    "weights_gib('int5') > 1": ("bad-choice", "'int5' is not known to weights_gib", "did you mean 'int4'?", "'int5'"),
    "weights_gib(gpu.class) > 1": ("wrong-scope", "weights_gib is computed once per consultation", "", "gpu.class"),
    "half(plan.token_ms + 1) > 1": ("wrong-scope", "plan.token_ms belongs to a plan", "", "plan.token_ms"),
    "weight_gib('int4') > 1": (
        "unknown-check",
        "no check 'weight_gib'",
        "did you mean 'weights_gib'?",
        "weight_gib('int4')",
    ),
    "eval('1') > 1": ("unknown-check", "no check 'eval'", "", "eval('1')"),
    "a.__class__ == 'x'": ("unknown-name", "no name 'a.__class__'", "", "a.__class__"),
}


@pytest.mark.parametrize("text", BAD)
def test_bad(text: str) -> None:
    code, message, help_text, at = BAD[text]
    (problem,) = type_problems(text)
    assert problem.code == code
    assert message in problem.message
    assert help_text in (problem.help or "")
    assert text[problem.location.column - 1 : problem.location.end_column - 1] == at


def test_every_problem_is_reported_at_once() -> None:
    found = type_problems("workload.fase == 'x' and workload.phase == 'trainig' and need.total_gib > plan.token_ms")
    assert [problem.code for problem in found] == ["unknown-name", "bad-choice", "unit-mismatch"]


@pytest.mark.parametrize(
    ("text", "want"), [("workload.phase", "number"), ("workload.batch_size", "word"), ("workload.trains", "number")]
)
def test_what_is_wanted_is_said(text: str, want: str) -> None:
    (problem,) = type_problems(text, want)  # type: ignore[arg-type]
    assert f"where a {want} is needed" in problem.message


@pytest.mark.parametrize(("text", "want"), [("workload.phase", "word"), ("workload.batch_size + 1", "number")])
def test_values_of_other_kinds_pass_where_they_are_wanted(text: str, want: str) -> None:
    assert type_problems(text, want) == []  # type: ignore[arg-type]
