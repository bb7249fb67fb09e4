"""Files that were read before load as they do anew, problems included."""

from __future__ import annotations

import pytest

from tests.loader.small import small_texts
from whygpu.api import REGISTRY
from whygpu.errors import KnowledgeBaseError, Problem
from whygpu.lint.content import digest_of
from whygpu.loader.assemble import load_texts
from whygpu.yamldoc import parsed as p
from whygpu.yamldoc.document import Node, parse

pytestmark = pytest.mark.slow


def test_only_what_changed_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def reading(text: str, name: str, problems: list[Problem]) -> Node | None:
        read.append(name)
        return parse(text, name, problems)

    monkeypatch.setattr(p, "parse", reading)
    files, parsed = small_texts(), p.Parsed()
    first = load_texts(files, "kb", REGISTRY, parsed=parsed)
    assert sorted(read) == sorted(files)
    read.clear()
    again = load_texts(files, "kb", REGISTRY, parsed=parsed)
    assert not read
    assert again.hash == first.hash
    assert digest_of(again.catalogue.accelerators) == digest_of(first.catalogue.accelerators)
    changed = {**files, "about.yaml": files["about.yaml"] + "\n# a remark\n"}
    assert load_texts(changed, "kb", REGISTRY, parsed=parsed).hash != first.hash
    assert read == ["about.yaml"]


def _problems(files: dict[str, str], parsed: p.Parsed) -> list[Problem]:
    with pytest.raises(KnowledgeBaseError) as found:
        load_texts(files, "kb", REGISTRY, parsed=parsed)
    return list(found.value.problems)


@pytest.mark.parametrize("wrong", ["a: [", "a: 1\na: 2\n", "colour: red\n", ""])
def test_problems_are_found_each_time(wrong: str) -> None:
    parsed, files = p.Parsed(), {**small_texts(), "z.yaml": wrong}
    anew = _problems(files, p.Parsed())
    assert anew
    assert _problems(files, parsed) == _problems(files, parsed) == anew
    del files["z.yaml"]
    load_texts(files, "kb", REGISTRY, parsed=parsed)
