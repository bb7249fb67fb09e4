"""What holds for the code as a whole, read from its text: functions fit a screen, and imports go one way."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import networkx as nx

from tests.conftest import ROOT

ENGINE = ROOT / "engine" / "whygpu"
SCREEN = 60
REASON = "# Longer than a screen: "
UPWARD = {
    ("loader.cases", "explain.parts"): "what a worked case may expect of a status is what an advice may say",
    ("loader.cases", "lifecycle.answers"): "a worked case is answered, and checked, like any question",
}
"""Imports against the order of the architecture's table, and why."""


def too_long(text: str) -> list[str]:
    """The functions of a module that no screen shows at once, and that do not say why in a comment above them."""
    lines = text.split("\n")
    return [
        node.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= SCREEN
        and not lines[node.lineno - 2].strip().startswith(REASON)
    ]


def test_a_function_fits_a_screen_or_says_why_not() -> None:
    files = [*ENGINE.rglob("*.py"), *(ROOT / "ui").rglob("*.py")]
    found = {str(path.relative_to(ROOT)): too_long(path.read_text(encoding="utf-8")) for path in files}
    assert found
    assert {name: names for name, names in found.items() if names} == {}


def test_a_long_function_is_found() -> None:
    body = "    pass\n" * SCREEN
    assert too_long(f"def long():\n{body}") == ["long"]
    assert not too_long(f"def short():\n{body[9:]}")
    assert not too_long(f"{REASON}it is one table\ndef long():\n{body}")


def test_a_package_imports_only_from_those_above_it() -> None:
    """In the architecture's table, which is so held to what it says."""
    text = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    table = text[text.index("| package of") :].partition("\n\n")[0]
    order = re.findall(r"`(\w+)`", "".join(re.findall(r"^\|([^|]*)\|", table, re.MULTILINE)))
    assert set(order) == {path.parent.name for path in ENGINE.glob("*/__init__.py")}
    upward = {pair for path in ENGINE.glob("*/**/*.py") for pair in _upward(path, order)}
    assert upward == UPWARD.keys()


def _upward(path: Path, order: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The imports of a module from packages that come later."""
    module = ".".join(path.relative_to(ENGINE).with_suffix("").parts)
    for name in _imported(ast.parse(path.read_text(encoding="utf-8")).body):
        package = name.partition(".")[0]
        if package in order and order.index(package) > order.index(path.relative_to(ENGINE).parts[0]):
            yield module, name


def _imported(body: Sequence[ast.stmt]) -> Iterator[str]:
    """The modules of whygpu that these statements import, in functions too; those for the type checker as well."""
    for node in body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("whygpu."):
            yield str(node.module).removeprefix("whygpu.")
        elif isinstance(node, ast.ImportFrom) and node.module == "whygpu":
            yield from (item.name for item in node.names)
        elif isinstance(node, ast.If | ast.ClassDef | ast.FunctionDef):
            yield from _imported(node.body)


def circles(modules: Mapping[str, str]) -> list[list[str]]:
    """Modules, by name with their text, that import each other, directly or by way of others."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    for module, text in modules.items():
        for node in ast.walk(ast.parse(text)):  # in functions and for the type checker too
            names = [f"{node.module}.{item.name}" for item in node.names] if isinstance(node, ast.ImportFrom) else []
            names = [item.name for item in node.names] if isinstance(node, ast.Import) else names
            found = (name if name in modules else name.rpartition(".")[0] for name in names)
            graph.add_edges_from((module, name) for name in found if name in modules and name != module)
    return [sorted(part) for part in nx.strongly_connected_components(graph) if len(part) > 1]


def test_no_modules_import_each_other() -> None:
    found = {}
    for base in (ENGINE.parent, ROOT / "ui"):
        for path in base.rglob("*.py"):
            name = ".".join(path.relative_to(base).with_suffix("").parts).removesuffix(".__init__")
            found[name] = path.read_text(encoding="utf-8")
    assert {"whygpu", "whygpu.answers", "whygpu_ui.app"} <= found.keys()
    assert circles(found) == []


def test_a_circle_of_imports_is_found() -> None:
    late = "def f() -> None:\n    from p import a\n"
    assert circles({"p": "", "p.a": "from p.b import x", "p.b": "import p.c", "p.c": late}) == [["p.a", "p.b", "p.c"]]
    assert circles({"p": "", "p.a": "from p.b import x", "p.b": "import p.c", "p.c": "import math"}) == []


CLOCKS = {f"time.{clock}{unit}" for clock in ("time", "monotonic", "perf_counter") for unit in ("", "_ns")}


def clocks(text: str) -> Iterator[str]:
    """Where a test reads the clock, or waits no longer than a busy machine may take."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            waits = [item.value for item in node.keywords if (item.arg or "").endswith("timeout")]
            waits += node.args if name.endswith((".wait", ".communicate", ".set_default_timeout")) else []
            if name in CLOCKS or any(isinstance(item, ast.Constant) for item in waits):
                yield f"{name} in line {node.lineno}"


def test_no_test_fails_by_the_clock() -> None:
    """Those that did failed on a busy machine. What is waited for has the patience of tests/effort.py."""
    for path in (ROOT / "tests").rglob("*.py"):
        assert list(clocks(path.read_text(encoding="utf-8"))) == [], path
    seen = list(clocks("time.perf_counter()\nrun(timeout=9)\ndone.wait(2)\ndone.wait(PATIENCE)"))
    assert seen == ["time.perf_counter in line 1", "run in line 2", "done.wait in line 3"]
