"""Each bad file in data/ gives exactly the problems written below it: place, code, message, caret, help."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.effort import one_in
from tests.loader.small import lean_texts, small_texts
from whygpu.api import REGISTRY
from whygpu.errors import KnowledgeBaseError
from whygpu.loader.assemble import load_texts
from whygpu.render.problems import problems_data, problems_text
from whygpu.render.style import Style
from whygpu.yamldoc.document import MAX_BYTES, MAX_SCALAR

DATA = Path(__file__).parent / "data"
FILES = sorted(DATA.glob("*.txt"))
ACROSS_RULES = frozenset(
    {
        *("circular-field-values", "circular-overrides", "circular-values", "duplicate-title", "no-value"),
        *("open-negation", "tension-settled", "two-values", "unknown-rule"),
    }
)
"""What is found only where all rules are there; so is what is wrong with cases."""


def problems_of(name: str, text: str, *, across_rules: bool = False) -> KnowledgeBaseError:
    """What loading the small knowledge base with one more file raises."""
    texts = small_texts() if across_rules or name.startswith("cases/") else lean_texts()
    with pytest.raises(KnowledgeBaseError) as caught:
        load_texts({**texts, name: text}, "kb", REGISTRY)
    return caught.value


@pytest.mark.parametrize(
    "path",
    one_in(6, FILES, [path.stem for path in FILES]),
)
def test_message(path: Path) -> None:
    """The text as printed; and columns cut out of the file itself: a shifted snippet cannot hide a wrong one."""
    name, text, expected = path.read_text(encoding="utf-8").split("~~~~\n")
    found = problems_of(name.strip(), text, across_rules=path.stem in ACROSS_RULES)
    assert problems_text(found.problems, Style(False)) == expected.rstrip("\n")
    for problem in found.problems:
        line = text.split("\n")[problem.location.line - 1]
        assert problem.snippet == line
        assert problem.location.column <= len(line) + 1
        word = line[problem.location.column - 1 : problem.location.end_column - 1]
        assert word == word.strip(" ")


def test_the_messages_cover_the_codes() -> None:
    """A new code wants an example."""
    shown = {
        line.split(": ")[1]
        for path in FILES
        for line in path.read_text(encoding="utf-8").splitlines()
        if ".yaml:" in line
    }
    assert len(shown) >= 47


def test_long_value_is_refused_with_its_limit() -> None:
    (problem,) = problems_of("rules/x.yaml", f"rules:\n- id: {'x' * (MAX_SCALAR + 1)}\n").problems
    assert str(problem) == "rules/x.yaml:2:7: too-long: a value of 20,001 characters; the limit is 20,000"


def test_large_file_is_refused_with_its_limit() -> None:
    (problem,) = problems_of("rules/x.yaml", "#" * (MAX_BYTES + 1)).problems
    assert str(problem) == "rules/x.yaml:1: too-large: the text has 4,194,305 characters; the limit is 4,194,304"


@pytest.mark.slow
def test_many_values_are_refused_with_their_limit() -> None:
    (problem,) = problems_of("rules/x.yaml", "rules: [" + "1," * 400_000 + "]\n").problems
    assert problem.code == "too-many-nodes"
    assert "400,000" in problem.message


def test_a_broken_vocabulary_is_not_echoed_by_every_rule() -> None:
    texts = small_texts()
    texts["vocabulary.yaml"] = texts["vocabulary.yaml"].replace(
        "workload.phase:\n    type: choice", "workload.phase:\n    type: choise"
    )
    with pytest.raises(KnowledgeBaseError) as caught:
        load_texts(texts, "kb", REGISTRY)
    assert [problem.code for problem in caught.value.problems] == ["bad-choice"]


def test_problems_as_data_say_what_the_text_says() -> None:
    found = problems_of("rules/x.yaml", "rulez: []\n")
    (data,) = problems_data(found.problems)
    assert data == {
        "file": "rules/x.yaml",
        "line": 1,
        "column": 1,
        "end_column": 6,
        "code": "unknown-key",
        "severity": "error",
        "message": "there is no section 'rulez'",
        "help": "did you mean 'rules'?",
        "snippet": "rulez: []",
        "text": "rules/x.yaml:1:1: unknown-key: there is no section 'rulez'",
    }


@pytest.mark.parametrize("snippet_width", [40, 200, 1500])
def test_a_long_line_is_cut_around_the_caret(snippet_width: int) -> None:
    text = f"rules:\n- {{id: x, title: '{'é' * snippet_width}', titel: y}}\n"
    shown = problems_text(problems_of("rules/x.yaml", text).problems, Style(False)).split("\n")
    index = next(number for number, line in enumerate(shown) if "'titel'" in line)
    line, carets = shown[index + 1], shown[index + 2]
    assert len(line) <= 120
    assert line[carets.index("^") : carets.rindex("^") + 1] == "titel"


@pytest.mark.parametrize("text", ["", "\n"])
def test_an_empty_file_is_no_part_of_a_knowledge_base(text: str) -> None:
    """So begins a save that is cut short: a server would have answered without the prices of a provider."""
    (problem,) = problems_of("facts/offerings/x.yaml", text).problems
    said = "facts/offerings/x.yaml: wrong-type: a knowledge base file is a mapping, and this one is empty"
    assert str(problem) == f"{said} (save it again, or delete it)"
