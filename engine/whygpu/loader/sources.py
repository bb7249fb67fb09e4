"""Reads sources.yaml: documents, their claims, and the tensions between claims."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from whygpu.errors import Problem, did_you_mean
from whygpu.knowledge.sources import ABOUT, Claim, SourceDocument, Tension
from whygpu.yamldoc.document import Scalar
from whygpu.yamldoc.fields import Fields, problem
from whygpu.yamldoc.forms import DAY, IDENTIFIER, TEXT, TEXTS, among, needed, one_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from whygpu.errors import Problem
    from whygpu.yamldoc.document import Node
    from whygpu.yamldoc.forms import Form

CLAIM_KINDS = ("advice", "fact", "formula", "procedure", "symptom", "concept")
DOCUMENT: Form = MappingProxyType({"title": needed(TEXT), "author": TEXT, "publisher": TEXT, "date": DAY})
CLAIM: Form = MappingProxyType(
    {
        "id": needed(IDENTIFIER),
        "kind": needed(one_of(CLAIM_KINDS)),
        "about": among(ABOUT, many=True),
        "says": needed(TEXT),
    }
)
TENSION: Form = MappingProxyType(
    {"id": needed(IDENTIFIER), "between": needed(TEXTS), "about": needed(TEXT), "settled_by": TEXTS, "how": TEXT}
)


def read_documents(node: Node | None, problems: list[Problem]) -> dict[str, SourceDocument]:
    """The documents by id."""
    found: dict[str, SourceDocument] = {}
    fields = Fields.of(node, "documents", problems) if node is not None else None
    for identifier in fields.keys() if fields else ():
        inner = fields.get(identifier) if fields else None
        item = Fields.of(inner, f"document '{identifier}'", problems, DOCUMENT) if inner is not None else None
        if item is not None:
            title, author = item.text("title"), item.text("author")
            publisher, date = item.text("publisher"), item.date("date")
            found[identifier] = SourceDocument(identifier, title or identifier, author, publisher, date)
            item.done()
    return found


def read_claims(nodes: list[Node], documents: dict[str, SourceDocument], problems: list[Problem]) -> dict[str, Claim]:
    """The claims by id; a claim's id begins with its document's, and advice says what it is about."""
    found: dict[str, Claim] = {}
    for node in nodes:
        fields = Fields.of(node, "claim", problems, CLAIM)
        identifier = fields.identifier() if fields is not None else None
        if fields is None or identifier is None:
            continue
        fields.what = f"claim '{identifier}'"
        document = identifier.rpartition("-")[0]
        if document not in documents:
            problem(
                problems,
                node,
                "unknown-document",
                f"{fields.what} belongs to no document",
                f"known: {', '.join(documents)}",
            )
        if identifier in found:
            problem(problems, node, "duplicate-id", f"{fields.what} is defined twice", "rename or remove one")
        kind = fields.choice("kind") or "concept"
        about = fields.choices("about", required=True) if kind == "advice" else ()
        says = fields.text("says") or ""
        fields.done()
        found[identifier] = Claim(identifier, document, kind, says, node.location, about)
    return found


def read_tensions(nodes: list[Node], claims: Mapping[str, Claim], problems: list[Problem]) -> dict[str, Tension]:
    """The tensions by id; what settles them is looked up once everything is read (``unsettled``)."""
    found: dict[str, Tension] = {}
    for node in nodes:
        fields = Fields.of(node, "tension", problems, TENSION)
        identifier = fields.identifier() if fields is not None else None
        if fields is None or identifier is None:
            continue
        fields.what = f"tension '{identifier}'"
        if identifier in found:
            problem(problems, node, "duplicate-id", f"{fields.what} is listed twice", "rename or remove one")
        between = listed(fields, "between", "claim", claims)
        about = fields.text("about") or ""
        settled_by = fields.texts("settled_by")
        how = fields.text("how", required=bool(settled_by))
        fields.done()
        found[identifier] = Tension(identifier, between, about, settled_by, how, node.location)
    return found


def unsettled(tensions: Mapping[str, Tension], known: Collection[str]) -> Iterator[Problem]:
    """A problem for each thing that is said to settle a tension and does not exist."""
    for tension in tensions.values():
        for name in tension.settled_by:
            if name not in known:
                message = f"tension '{tension.id}' is settled by '{name}', which does not exist"
                help_text = did_you_mean(name, known) or "name rules, tables, formulas or questions"
                yield Problem("unknown-settlement", message, tension.location, help_text)


def listed(fields: Fields, key: str, noun: str, known: Collection[str]) -> tuple[str, ...]:
    """The ids under ``key``, each of something that is there."""
    return tuple(
        item.text.strip()
        for item in fields.text_nodes(key)
        if is_known(item, noun, known, fields.what, fields.problems)
    )


def is_known(item: Scalar, noun: str, known: Collection[str], what: str, problems: list[Problem]) -> bool:
    """Whether there is such a thing; adds a problem where there is not."""
    name = item.text.strip()
    if name in known:
        return True
    message = f"{what} names {noun} '{name[:60]}', which does not exist"
    problem(problems, item, f"unknown-{noun}", message, did_you_mean(name, known))
    return False
