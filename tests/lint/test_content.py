"""Digests of content: the same wherever it stands, another one for anything else that is said."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from whygpu.errors import Location
from whygpu.lint.content import digest_of
from whygpu.yamldoc.document import parse


@dataclass(frozen=True)
class Thing:
    """Something with a place."""

    id: str
    location: Location
    parts: tuple[object, ...] = ()


def test_where_it_stands_does_not_matter() -> None:
    assert digest_of(Thing("x", Location("a.yaml", 1, 2))) == digest_of(Thing("x", Location("b.yaml", 3)))
    assert digest_of(parse("{a: [1, b]}", "x", [])) == digest_of(parse("\n\n{a:   [1,\n b]}", "y", []))


def test_all_else_does() -> None:
    here = Location("a.yaml")
    found = [
        *(
            "",
            "a",
            "ab",
            "1",
            1,
            1.0,
            True,
            None,
            (),
            ("a",),
            ("a", "b"),
            (("a",), "b"),
            ("a", ("b",)),
            frozenset({"a"}),
        ),
        *({"a": "b"}, {"b": "a"}, {"a": "b", "c": 1}, {"c": 1, "a": "b"}),
        *(Thing("a", here), Thing("b", here), Thing("a", here, ("a",)), Thing("a", here, (("a",),))),
        *(parse(text, "x", []) for text in ("a", "1", "'1'", "[a]", "[a, b]", "{a: b}", "{a: [b]}", "{a: b, c: d}")),
        object(),
        object(),
    ]
    assert not [(one, other) for one, other in combinations(found, 2) if digest_of(one) == digest_of(other)]
