"""One item of the knowledge with all that belongs to it, and links both ways."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import streamlit as st

from whygpu.knowledge.rules import AnyOf, Condition, in_words
from whygpu.listing import whole
from whygpu.render.catalogue import offering_line, purchase_line, value_text
from whygpu.render.graph import mermaid, rule_graph
from whygpu_ui.markdown import code, literal, rendered
from whygpu_ui.pieces import inline, show, table
from whygpu_ui.session import KNOWLEDGE_PAGE, go

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.rules import ConditionTree, Rule, Table
    from whygpu.listing import Fact, Section

    Titles = Iterable[tuple[str, str]]

_MOST_LINKS = 30
_MOST_PRICES = 12
_TITLE_CHARACTERS = 110


@dataclass(frozen=True, slots=True)
class Items:
    """A kind of item: how many there are, by id and title, and how one of them is drawn."""

    titles: Callable[[Knowledge], Titles]
    draw: Callable[[Knowledge, str], None]


def draw(knowledge: Knowledge, item: str) -> bool:
    """Draw the item with this id, whatever it is; whether there is one."""
    for kind in ITEMS.values():
        if any(name == item for name, _ in kind.titles(knowledge)):
            kind.draw(knowledge, item)
            return True
    return False


# rules and tables


def _rule(knowledge: Knowledge, name: str) -> None:
    rule = knowledge.rule_by_id[name]
    st.title(rendered(rule.title), anchor=False)
    show(f"<p class=who>Rule {inline(f'`{rule.id}`')} in {inline(f'`kb/{rule.location}`')}</p>")
    for title, tree in (("When all of these hold", rule.when), ("Unless", rule.unless)):
        lines = "".join(f"<li>{inline(f'`{_words(part)}`')}</li>" for part in tree.parts)
        show(f"<p><strong>{title}</strong></p><ul>{lines}</ul>" if lines else "")
    effects = "".join(f"<li>{inline(f'`{in_words(effect)}`')}</li>" for effect in rule.effects)
    show(f"<p><strong>Then</strong></p><ul>{effects}</ul>")
    said = "".join(part + (f"{{{name}}}" if name else "") for part, name in rule.because.parts)
    show(f"<p><strong>Because</strong></p><p>{inline(said) or 'nothing is said'}</p>")
    _links("Based on", ((key, _says(knowledge, key)) for key in rule.sources))
    _links("It overrides", _titles(knowledge, rule.overrides))
    _links("It is overridden by", _titles(knowledge, knowledge.overriders.get(rule.id, ())))
    graph = rule_graph(knowledge, rule)
    if graph.number_of_edges():
        alt = f"What {rule.title} rests on and what rests on it; the lists above say it"
        st.mermaid_chart(mermaid(graph, "LR"), alt=alt)


def _words(part: ConditionTree) -> str:
    match part:
        case Condition(text=text):
            return text
        case AnyOf(parts=parts):
            return " or ".join(map(_words, parts))
        case _:
            return " and ".join(map(_words, part.parts))


def _titles(knowledge: Knowledge, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    return ((name, knowledge.rule_by_id[name].title) for name in names if name in knowledge.rule_by_id)


def _table(knowledge: Knowledge, name: str) -> None:
    found = _tables(knowledge)[name]
    st.title(rendered(found.title), anchor=False)
    show(f"<p class=who>Table {inline(f'`{found.id}`')} in {inline(f'`kb/{found.location}`')}</p>")
    of = {rule.id: rule for rule in knowledge.rules if rule.id.startswith(f"{name}/")}
    rows = ((row.id, _when(of.get(row.rule)), "; ".join(map(in_words, row.effects)) or "nothing") for row in found.rows)
    show(table(("row", "when", "then"), rows))
    _links("Its rows as rules", ((rule.id, rule.title) for rule in of.values()))


def _when(rule: Rule | None) -> str:
    return "" if rule is None else " and ".join(map(_words, rule.when.parts))


def _tables(knowledge: Knowledge) -> Mapping[str, Table]:
    return {item.id: item for item in knowledge.tables}


# claims and sources


def _says(knowledge: Knowledge, key: str) -> str:
    claim, document = knowledge.claims.get(key), knowledge.documents.get(key)
    reference = knowledge.catalogue.references.get(key)
    if claim is not None:
        return claim.says
    return document.title if document is not None else reference.title if reference is not None else key


def _claim(knowledge: Knowledge, key: str) -> None:
    claim = knowledge.claims[key]
    st.title(f"Claim {literal(key)}", anchor=False)
    st.markdown(rendered(claim.says))
    _links("Its document", [(claim.document, knowledge.documents[claim.document].title)])
    _rules_of(knowledge, key)
    tensions = [item for item in knowledge.tensions.values() if key in item.between]
    for item in tensions:
        said = "".join(f"<p>{inline(text)}</p>" for text in (item.about, item.how) if text)
        show(f"<p><strong>Sources disagree</strong></p>{said}")
        _links("It disagrees with", ((other, _says(knowledge, other)) for other in item.between if other != key))


def _source(knowledge: Knowledge, key: str) -> None:
    document, reference = knowledge.documents.get(key), knowledge.catalogue.references.get(key)
    if document is not None:
        st.title(literal(document.title), anchor=False)
        st.markdown(literal(", ".join(filter(None, (document.author, document.publisher, document.date)))))
    elif reference is not None:
        st.title(literal(reference.title), anchor=False)
        st.markdown(literal(", ".join(filter(None, (reference.where, reference.as_of, reference.note)))))
        if reference.where is not None and reference.where.startswith("https://"):
            st.link_button("Open the source", reference.where)
    _links("Its claims", ((item.id, item.says) for item in knowledge.claims.values() if item.document == key))
    _rules_of(knowledge, key)


def _rules_of(knowledge: Knowledge, key: str) -> None:
    _links("Rules based on it", ((rule.id, rule.title) for rule in knowledge.rules if key in rule.sources))


# facts


def _entry(section: Section) -> Callable[[Knowledge, str], None]:
    def drawn(knowledge: Knowledge, name: str) -> None:
        found = whole(knowledge, section, name)
        st.title(literal(found.name), anchor=False)
        show(f"<p class=who>{inline(f'`{found.id}`')} in {inline(f'`kb/{found.location}`')}</p>")
        show(table(("", "value", "source"), map(_fact, found.facts)))
        offers = sorted(found.offerings, key=lambda item: item.as_of or "", reverse=True)
        left = len(offers) - _MOST_PRICES
        more = [f"and {left} more, older ones"] if left > 0 else []
        prices = [*map(offering_line, offers[:_MOST_PRICES]), *more, *map(purchase_line, found.purchases)]
        if prices:
            lines = "".join(f"<li>{inline(line)}</li>" for line in prices)
            show(f"<p><strong>Prices</strong></p><ul>{lines}</ul>")
        elif found.unpriced:
            show(f"<p>No hourly price: {inline(found.unpriced)}</p>")
        _links("Sources", ((item.id, item.title) for item in found.sources))

    return drawn


def _fact(fact: Fact) -> tuple[str, str, str]:
    figure = fact.figure
    value = "the hardware lacks it" if figure.absent else value_text(figure.value, fact.unit)
    notes = [f"estimate: {figure.estimate}" if figure.estimate else "", figure.because or ""]
    notes += [f"others say {value_text(other, fact.unit)} ({', '.join(who)})" for other, who in figure.others]
    return fact.name.replace("_", " "), "; ".join(filter(None, (value, *notes))), ", ".join(figure.sources)


# links


def _links(title: str, rows: Titles) -> None:
    found = list(rows)
    if not found:
        return
    st.markdown(f"**{title}**")
    with st.container(gap=None):
        for name, text in found[:_MOST_LINKS]:
            shown = text if len(text) <= _TITLE_CHARACTERS else f"{text[: _TITLE_CHARACTERS - 1]}…"
            st.button(
                f"{code(name)} {literal(shown)}",
                key=f"to-{title}-{name}",
                type="tertiary",
                on_click=go,
                args=(KNOWLEDGE_PAGE, name),
            )
    if len(found) > _MOST_LINKS:
        st.markdown(f"and {len(found) - _MOST_LINKS} more")


def _sources(knowledge: Knowledge) -> Titles:
    yield from ((key, item.title) for key, item in knowledge.documents.items())
    references = knowledge.catalogue.references
    yield from ((key, item.title) for key, item in references.items() if key not in knowledge.documents)


ITEMS: Mapping[str, Items] = MappingProxyType(
    {
        "Rules": Items(lambda kb: ((rule.id, rule.title) for rule in kb.rules), _rule),
        "Tables": Items(lambda kb: ((item.id, item.title) for item in kb.tables), _table),
        "Claims": Items(lambda kb: ((claim.id, claim.says) for claim in kb.claims.values()), _claim),
        "Sources": Items(_sources, _source),
        "Accelerators": Items(
            lambda kb: ((card.id, card.name) for card in kb.catalogue.accelerators.values()), _entry("accelerators")
        ),
        "Models": Items(
            lambda kb: ((model.id, model.name) for model in kb.catalogue.models.values()), _entry("models")
        ),
    }
)
"""The kinds of item, in the order in which an id is looked for."""
