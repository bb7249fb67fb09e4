"""What a conjunction of conditions allows each name to be, as far as tests against constants tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.chain.normal import MAX_ALTERNATIVES, Literal, alternatives, constant_test
from whygpu.language.domains import Domain, everything, of_any, of_test
from whygpu.language.tree import Constant, Expression, Name, OneOf

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whygpu.language.names import NameSpec


def allowed(tree: Expression, vocabulary: Mapping[str, NameSpec]) -> tuple[str, Domain] | None:
    """The name that a condition tests against constants, and the values it allows; None for any other condition."""
    if isinstance(tree, OneOf) and isinstance(tree.left, Name):
        spec = vocabulary[tree.left.name]
        return spec.name, of_any(spec, [option.value for option in tree.options])
    test = constant_test(Literal(tree, True))
    if test is None:
        return None
    return test.name, of_test(vocabulary[test.name], test.op, test.constant)


def satisfiable(condition: Expression, vocabulary: Mapping[str, NameSpec]) -> bool:
    """Whether the condition may hold; False only where no value of some name could make it true."""
    if len(found := alternatives(condition)) > MAX_ALTERNATIVES:
        return True
    return any(_consistent(literals, vocabulary) for literals in found)


def _consistent(literals: Iterable[Literal], vocabulary: Mapping[str, NameSpec]) -> bool:
    domains: dict[str, Domain] = {}
    for literal in literals:
        if isinstance(literal.part, Constant):
            if literal.part.value is not literal.positive:
                return False
            continue
        found = _domain(literal, vocabulary)
        if found is None:
            continue
        name, domain = found
        domains[name] = domains.get(name, everything(vocabulary[name])).meet(domain)
        if domains[name].empty:
            return False
    return True


def _domain(literal: Literal, vocabulary: Mapping[str, NameSpec]) -> tuple[str, Domain] | None:
    if literal.positive and isinstance(literal.part, OneOf):
        return allowed(literal.part, vocabulary)
    test = constant_test(literal)
    return None if test is None else (test.name, of_test(vocabulary[test.name], test.op, test.constant))
