"""Every fault of durable-rules that was reproduced: what makes it, what the check of the subset says of that, and that
nothing which is compiled has it.
"""

from __future__ import annotations

import json
import re
import resource
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.chain.subset import violations
from tests.conftest import ROOT
from whygpu.chain import durable

if TYPE_CHECKING:
    from whygpu import KnowledgeBase

Rules = dict[str, dict[str, Any]]
GROUP: list[dict[str, Any]] = [{"g": "g1"}]


def rule(*patterns: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    """A rule over these patterns."""
    return {"all": [{f"m{i}": {"$and": tests}} for i, tests in enumerate(patterns)], "pri": 1, "dist": 0, **changes}


def many(count: int, *tests: dict[str, Any], **changes: Any) -> Rules:
    """Rules that make the same tests, and where these say so (``{}``) another one each."""
    return {f"r{i}": rule([*GROUP, *(test or {f"t{i}": True} for test in tests)], **changes) for i in range(count)}


OTHER = {"m0": "v"}
"""The value of another fact."""
DIVIDED = {"$div": {"$l": {"m0": "v"}, "$r": {"m0": "w"}}}
CRASHES: dict[str, tuple[Rules, str]] = {
    "a join whose last term is false reads out of bounds": (
        {"r": rule(GROUP, [*GROUP, {"v": OTHER}, {"$gt": {"w": {"m0": "w"}}}])},
        "does not test against a constant",
    ),
    "a division by zero ends the process": (
        {"r": rule(GROUP, [*GROUP, {"$gt": {"v": DIVIDED}}])},
        "against a constant",
    ),
    "none withdraws nothing": ({"r": {"none": [{"m": {"k": "x"}}], "pri": 1, "dist": 0}}, "not a conjunction"),
    "any gives duplicates": ({"r": {"any": [{"m": {"k": "x"}}], "pri": 1, "dist": 0}}, "not a conjunction"),
    "$or gives duplicates": ({"r": {"all": [{"m": {"$or": GROUP}}], "pri": 1, "dist": 0}}, "not a conjunction|outside"),
    "a count of matches": ({"r": rule(GROUP, count=2)}, "not a conjunction"),
    "no dist: facts are matched once": ({"r": {"all": rule(GROUP)["all"], "pri": 1}}, "not a conjunction"),
    "65 tests that hold at once lose the fact": (many(66, {}), "66 tests on the stack"),
    "256 rules on one condition are refused": (many(256), ": 256 rules"),
    "511 tests under one node never end": (
        {f"r{i}": rule([{"g": f"g{i}"}]) for i in range(600)},
        "600 tests under one node",
    ),
    "33 patterns in a rule refuse the fact": ({"r": rule(*[GROUP] * 33)}, "33 patterns"),
    "4,096 rules in a set": (many(4_096), "4096 rules"),
    "255 properties refuse the fact": (
        {f"r{i}": rule([*GROUP, *({f"t{i}-{j}": True} for j in range(60))]) for i in range(5)},
        "301 properties",
    ),
    "null breaks tests": ({"r": rule([*GROUP, {"v": None}])}, "against a constant"),
    "24 and 24.0 differ in joins": ({"r": rule([*GROUP, {"v": 24}])}, "against a constant"),
    "a group that is not tested first lets all facts in": ({"r": rule([{"v": 1.0}, *GROUP])}, "group is not"),
}
"""What is reproduced, a rule set that has it, and what the check says of it."""


@pytest.mark.parametrize("fault", CRASHES)
def test_the_form_of_every_fault_is_outside_the_subset(fault: str) -> None:
    rules, said = CRASHES[fault]
    with pytest.raises(AssertionError, match=said):
        assert list(violations(rules)) == []


def test_what_is_compiled_has_none_of_them(kb: KnowledgeBase) -> None:
    assert list(violations(kb.program.definition)) == []
    assert len(kb.program.definition) > len(kb.knowledge.rules)


CALLS = {
    "create_ruleset",
    "delete_ruleset",
    "assert_fact",
    "delete_state",
    "start_action_for_state",
    "complete_and_start_action",
    "error",
}
"""What the adapter uses of the library: no timers, no batches (which drop facts), no retraction."""


def test_one_module_talks_to_the_library_by_the_calls_that_are_safe() -> None:
    files = [*(ROOT / "engine").rglob("*.py"), *(ROOT / "ui").rglob("*.py")]
    texts = {path.name: text for path in files if "durable_rules_engine" in (text := path.read_text(encoding="utf-8"))}
    assert texts.keys() == {"durable.py"}
    assert set(re.findall(r"(?:\b_?library|_rules_engine)\.(\w+)", texts["durable.py"])) == CALLS
    assert "from durable" not in "".join(texts.values())


PROCESS = """
import json, sys, durable_rules_engine as library
rules, facts = json.load(sys.stdin)
handle = library.create_ruleset("crash", json.dumps(rules))
for number, fact in enumerate(facts):
    library.assert_fact(handle, json.dumps({"id": str(number), "sid": "s", "g": "g1", **fact}))
"""


def happens(rules: Rules, *facts: dict[str, Any]) -> str:
    """How a process ends that gives the library such rules and facts; three seconds of its processor are for ever."""
    done = subprocess.run(
        [sys.executable, "-c", PROCESS],
        input=json.dumps([rules, facts]),
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (3, 4)),
    )
    return signal.Signals(-done.returncode).name if done.returncode < 0 else done.stderr.strip().rpartition("\n")[2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "facts", "end"),
    [
        ("a division by zero ends the process", [{"v": 1, "w": 0}, {"v": 3}], "SIGFPE"),
        ("511 tests under one node never end", [{}], "SIGXCPU"),
        ("65 tests that hold at once lose the fact", [{f"t{i}": True for i in range(66)}], "error code: 303"),
        ("256 rules on one condition are refused", [{}], "SIGSEGV|SIGABRT|error code: 108"),
        ("255 properties refuse the fact", [{f"t{i}": True for i in range(255)}], "error code: 302"),
    ],
)
def test_the_library_still_has_the_fault(fault: str, facts: list[dict[str, Any]], end: str) -> None:
    """Each in a process of its own, which it ends: what is avoided is there, and the form above is what makes it."""
    assert re.search(end, happens(CRASHES[fault][0], *facts))


def test_the_limits_are_those_of_the_compiler() -> None:
    assert durable.STACK <= 64
    assert durable.GROUP_RULES <= 200
    assert durable.SET_GROUPS < 511
    assert durable.SET_RULES < 4_096
    assert durable.SESSIONS + durable.RETIRED < 1_024
