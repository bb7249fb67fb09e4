"""What passed an earlier check is not judged again, unless anything that it may rest on has changed."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pytest

from tests.effort import one_in
from tests.loader.small import real_texts, small_texts
from whygpu.api import REGISTRY, KnowledgeBase
from whygpu.lint import parallel, review
from whygpu.lint import passed as p
from whygpu.lint.cases import judged
from whygpu.lint.diagnoses import check_diagnoses
from whygpu.lint.passed import Passed
from whygpu.lint.tests import check_tests
from whygpu.loader import cache
from whygpu.loader.assemble import load_texts
from whygpu.yamldoc.document import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

pytestmark = pytest.mark.slow

CASE = """- id: {id}
  title: A case
  answers: {answers}
  source: [runpod-25]
  expect: {expect}
"""
SERVES = "{phase: inference, model: llama-3.1-8b, concurrency: 4}"
TRAINS = "{phase: fine-tuning, model: llama-3.1-8b, method: lora}"
RULE = """rules:
- id: try-it
  title: Try it
  when: [{when}]
  then: [{then}]
  because: x
  source: [runpod-25]
  tests:
  - {{given: {{workload.phase: inference}}, expect: {test}}}
"""
CASES = (
    ("serves", SERVES, "{fires: [try-it]}"),
    ("trains", TRAINS, "{silent: [try-it]}"),
    ("fails", SERVES, "{silent: [try-it]}"),
)


def rule(when: str = "workload.phase == 'inference'", then: str = "warn: try-it", test: str = "fires") -> str:
    return RULE.format(when=when, then=then, test=test)


def texts(*cases: tuple[str, str, str], x: str = "") -> dict[str, str]:
    """The small knowledge base with a rule and cases."""
    found = "".join(CASE.format(id=id_, answers=answers, expect=expect) for id_, answers, expect in cases or CASES)
    return {**small_texts(), "rules/x.yaml": x or rule(), "cases/x.yaml": f"cases:\n{found}"}


@lru_cache(maxsize=4)
def _loaded(files: tuple[tuple[str, str], ...]) -> KnowledgeBase:
    return KnowledgeBase(load_texts(dict(files), "kb", REGISTRY))


def loaded(files: Mapping[str, str]) -> KnowledgeBase:
    return _loaded(tuple(files.items()))


def checked(files: Mapping[str, str]) -> list[str]:
    """The cases that were judged, not those that passed before."""
    kb = loaded(files)
    record = Passed(kb.knowledge, files, "evaluator")
    left = [case for case in kb.knowledge.cases if not record.holds(case)]
    for case in left:
        problems, advice = judged(kb, case, "evaluator")
        if advice is not None and not problems:
            record.add([(case, record.ground(advice))])
    record.keep()
    return [case.id for case in left]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the cache of a test lies."""
    tmp_path.chmod(0o700)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(cache.SWITCH, raising=False)
    return tmp_path / "cache" / "whygpu"


def kept(home: Path) -> Path:
    return next(home.glob("*.passed"))


def test_what_passed_is_not_judged_again_and_what_failed_is() -> None:
    assert checked(texts()) == ["serves", "trains", "fails"]
    assert checked(texts()) == ["fails"]
    changed = (CASES[0], (CASES[1][0], TRAINS, "{status: [recommended, tied], silent: [try-it]}"))
    assert checked(texts(*changed)) == ["trains"], "the case expects something else now"


def test_a_changed_rule_has_those_judged_in_which_it_has_a_say() -> None:
    checked(texts())
    assert checked(texts(x=rule(then="advise: try-it"))) == ["serves", "fails"]
    assert checked(texts(x=rule())) == ["serves", "fails"], "what it was before is not remembered of what failed since"
    assert checked(texts(x=rule("workload.phase == 'fine-tuning'", test="silent"))) == ["serves", "trains", "fails"]


def test_a_new_rule_has_those_judged_in_which_it_has_a_say() -> None:
    checked(texts())
    files = texts()
    files["rules/y.yaml"] = (
        rule("workload.phase == 'fine-tuning'", test="silent").replace("id: try-it", "id: y").replace("Try it", "Try")
    )
    assert checked(files) == ["trains", "fails"]
    files["rules/y.yaml"] = files["rules/y.yaml"].replace("warn: try-it", "advise: try-it")
    assert checked(files) == ["trains", "fails"]
    del files["rules/y.yaml"]
    assert checked(files) == ["trains", "fails"]


def test_a_rule_that_asks_whether_something_of_the_plans_is_known_has_a_say() -> None:
    """Where no plan is known it is false, and of the plans it may hold; what else it asks still counts."""
    checked(texts())
    asks = rule("known(gpu.tdp_w)", "advise: try-it", "silent").replace("id: try-it", "id: y").replace("Try it", "Try")
    files = {**texts(), "rules/y.yaml": asks}
    assert checked(files) == ["serves", "trains", "fails"]
    files["rules/y.yaml"] = asks.replace("[known", "[workload.phase == 'training', known")
    assert checked(files) == ["serves", "trains", "fails"], "it had a say before"
    files["rules/y.yaml"] = files["rules/y.yaml"].replace("advise: try-it", "warn: try-it")
    assert checked(files) == ["fails"]


def test_a_rule_that_no_plan_meets_has_no_say() -> None:
    """As long as what no plan meets is asked, whatever else is and comes of it; of plans that were first tried, too."""
    wants = rule("gpu.usable_gib > 4000, plan.count >= 1", "exclude", "silent")
    checked(texts(x=wants))
    assert checked(texts(x=wants.replace("exclude", "warn: try-it"))) == ["serves"], "it is expected to fire"
    files = texts(x=wants)
    assert checked(files) == ["serves"]
    more = {
        **files,
        "rules/y.yaml": wants.replace("id: try-it", "id: y").replace("Try it", "Try").replace("4000", "999"),
    }
    assert checked(more) == ["serves", "trains", "fails"], "nothing was asked of so much memory"
    more["rules/y.yaml"] = (
        more["rules/y.yaml"].replace("plan.count >= 1", "plan.count > 1").replace("exclude", "warn: y")
    )
    assert checked(more) == ["serves"]
    more["rules/y.yaml"] = more["rules/y.yaml"].replace("> 999", "> 1")
    assert checked(more) == ["serves", "trains", "fails"]


WORDED = (
    ("because: x", "because: for a good reason"),
    ("title: Try it", "title: Try it first"),
    ("text: x", "text: Try it first"),
    ("[runpod-25]", "[runpod-25, runpod-26]"),
    ("\n  tests:", "\n  # a remark\n  tests:"),
    ("\n  tests:", "\n  tests:\n  - {given: {workload.phase: training}, expect: silent}"),
)


@pytest.mark.parametrize("worded", one_in(3, WORDED))
def test_how_a_rule_is_worded_has_no_case_judged(worded: tuple[str, str]) -> None:
    before, after = worded
    files = texts(x=rule(then="warn: {id: try-it, text: x}"))
    checked(files)
    changed = files["rules/x.yaml"].replace(before, after)
    assert changed != files["rules/x.yaml"]
    assert checked({**files, "rules/x.yaml": changed}) == ["fails"]


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("facts/models/", "layers: 32", "layers: 33"),
        ("facts/offerings/", "usd_per_hour: 1", "usd_per_hour: 2"),
        ("questions.yaml", "\n", "\n# a remark\n"),
    ],
)
@pytest.mark.slow
def test_another_fact_has_all_judged(file: str, before: str, after: str) -> None:
    checked(texts())
    files = {name: text.replace(before, after, 1) if name.startswith(file) else text for name, text in texts().items()}
    assert files != texts()
    assert checked(files) == ["serves", "trains", "fails"]


@pytest.mark.parametrize("more", ["rules: []", " cases: []", "'rules': []", "? rules\n: []", "# x\x85rules: []"])
def test_a_file_of_more_than_cases_is_no_file_of_cases(more: str) -> None:
    assert p._section("cases:\n- id: x\n  on: [\n  ]\n\n# no\n") == "cases:"
    if not more.startswith(" "):
        assert p._section(f"cases:\n- id: x\n{more}\n") != "cases:"
    assert p._section(f"{more}\ncases:\n") != "cases:" or more.startswith(" ")


def test_a_case_that_reads_files_is_always_judged(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"architectures": ["none"], "hidden_size": 8}), encoding="utf-8")
    answers = f"{{phase: inference, model: {{config: {path}}}}}"
    kb = loaded(texts())
    case = kb.knowledge.cases[0]
    assert p._alone(case, kb.knowledge)
    for given in (answers, "{model: someone/theirs}", "{measured: file.json}", "{model: {id: someone/theirs}}"):
        assert not p._alone(with_answers(case, given), kb.knowledge), given
    assert not p._alone(with_answers(case, f"{{phases: {{train: {answers}, serve: {{}}}}}}"), kb.knowledge)


def with_answers(case: Any, given: str) -> Any:
    return replace(case, answers=parse(given, "x.yaml", []))


def nonsense(path: Path) -> None:
    path.write_bytes(b"whygpu cache 1\nnonsense\n{}")


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-20] ^= 1
    path.write_bytes(data)


def of_others(path: Path) -> None:
    path.chmod(0o666)


@pytest.mark.parametrize("spoil", [nonsense, flipped, of_others])
def test_a_record_that_was_touched_is_not_believed(home: Path, spoil: Callable[[Path], None]) -> None:
    checked(texts())
    spoil(kept(home))
    assert checked(texts()) == ["serves", "trains", "fails"]


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"{",
        b'{"rules": 1, "cases": {}}',
        b'{"rules": {}, "cases": {"x": 1}}',
        b'{"rules": {}, "cases": {"x": [[], null]}}',
    ],
)
def test_what_is_no_record_is_passed_over(home: Path, body: bytes) -> None:
    checked(texts())
    cache.write_bytes(kept(home).stem, p.KIND, body)
    assert checked(texts()) == ["serves", "trains", "fails"]
    assert checked(texts()) == ["fails"]


def test_a_ground_that_is_none_is_not_believed(home: Path) -> None:
    """As far as a file could hold one that the hash goes with: only another program of the same user writes it."""
    checked(texts())
    data = json.loads(cache.read_bytes(kept(home).stem, p.KIND) or b"")
    for of in data["cases"].values():
        of[1][1]["workload.phase"] = ["word", 7]
    cache.write_bytes(kept(home).stem, p.KIND, json.dumps(data).encode())
    assert checked(texts(x=rule(then="advise: try-it"))) == ["serves", "trains", "fails"]


def test_where_nothing_can_be_kept_all_are_judged(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(cache, "_replace", refuse)
    assert checked(texts()) == checked(texts()) == ["serves", "trains", "fails"]
    assert not list(home.glob("*.passed"))


def test_two_checks_at_once_leave_a_whole_record() -> None:
    files = texts()
    kb = loaded(files)
    cases = kb.knowledge.cases[:2]
    advice = [judged(kb, case, "evaluator")[1] for case in cases]
    record = Passed(kb.knowledge, files, "evaluator")
    grounds = [(case, record.ground(of)) for case, of in zip(cases, advice, strict=True) if of is not None]

    def check(of: Any) -> None:
        for _ in range(10):
            record = Passed(kb.knowledge, files, "evaluator")
            record.add([of])
            record.keep()

    threads = [threading.Thread(target=check, args=(of,)) for of in grounds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    record = Passed(kb.knowledge, files, "evaluator")
    assert any(record.holds(case) for case in cases)
    assert not record.holds(kb.knowledge.cases[2])


@pytest.mark.slow
def test_a_review_says_how_many_were_not_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in texts().items():
        (tmp_path / "kb" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "kb" / name).write_text(text, encoding="utf-8")
    target = review.Target(tmp_path / "kb", (tmp_path / "kb" / "cases" / "x.yaml", "cases/x.yaml"))
    first, second = review.review(target), review.review(target)
    assert (first.earlier, second.earlier, review.review(target, fresh=True).earlier) == (0, 2, 0)
    assert first.problems == second.problems
    assert [problem.code for problem in first.problems] == ["case-failed"]
    assert first.summary == second.summary
    monkeypatch.setenv(cache.SWITCH, "off")
    assert review.review(target).earlier == 0


def written(folder: Path, files: Mapping[str, str]) -> review.Target:
    """The knowledge base of the files, in a folder."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return review.Target(folder)


@pytest.mark.slow
def test_tests_and_diagnoses_that_passed_run_again_where_their_rules_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def tests(knowledge: Any, rules: Any) -> Any:
        ran.extend(dict.fromkeys(rule.location.file for rule in rules))
        return check_tests(knowledge, rules)

    def diagnoses(*given: Any) -> Any:
        ran.append("diagnoses")
        return check_diagnoses(*given)

    monkeypatch.setattr(parallel, "_cores", lambda: 1)
    monkeypatch.setattr(review, "check_tests", tests)
    monkeypatch.setattr(review, "check_diagnoses", diagnoses)

    def run(files: Mapping[str, str]) -> tuple[list[str], list[str]]:
        ran.clear()
        found = review.review(written(tmp_path / "kb", files)).problems
        return ran[:], [item.code for item in found if item.code == "test-failed"]

    diagnosis = real_texts()["cases/diagnosis.yaml"].partition("\n- id: busy-at")[0]
    files = {**texts(), "cases/diagnosis.yaml": diagnosis}
    every, problems = run(files)
    assert {"diagnoses", "rules/x.yaml", "rules/diagnosis.yaml"} <= set(every)
    assert not problems
    assert run(files) == ([], [])
    worded = {**files, "rules/x.yaml": rule().replace("because: x", "because: y")}
    assert run(worded) == ([], [])
    wrong = {**files, "rules/x.yaml": rule(test="silent")}
    assert run(wrong) == run(wrong) == (["rules/x.yaml"], ["test-failed"])
    assert run({**files, "rules/x.yaml": rule("workload.phase == 'training'")}) == (["rules/x.yaml"], ["test-failed"])
    assert run(files) == ([], []), "it passed before"
    sign = files["rules/diagnosis.yaml"].replace("doubt: compute-limit strong", "doubt: compute-limit mild", 1)
    assert run({**files, "rules/diagnosis.yaml": sign})[0] == ["diagnoses", "rules/diagnosis.yaml"]
    named = {name: text + "\n# a remark\n" if name == "vocabulary.yaml" else text for name, text in files.items()}
    assert run(named)[0] == every
