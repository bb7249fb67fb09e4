"""Every source says where it is: an address, or a named document."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT

if TYPE_CHECKING:
    import whygpu

ADDRESS = re.compile(r"https://[\w.-]+\.[a-z]{2,}/\S+")
NAMED = re.compile(r"arXiv:\d{4}\.\d{5}|doi:10\.\d{4,}/\S+|IEEE [\d-]+|kb/sources\.yaml, document \w+")
PINNED = re.compile(
    r"github\.com/[\w.-]+/[\w.-]+/(blob|tree|discussions|issues|pull|search|wiki)/|github\.com/search\?"
)


def test_every_reference_says_where_it_is(kb: whygpu.KnowledgeBase) -> None:
    for reference in kb.knowledge.catalogue.references.values():
        where = reference.where or ""
        ours = where.startswith("docs/") and (ROOT / where).is_file()
        assert ours or ADDRESS.fullmatch(where) or NAMED.fullmatch(where), f"{reference.id}: {where}"


def test_a_repository_is_named_with_the_file_in_it(kb: whygpu.KnowledgeBase) -> None:
    for reference in kb.knowledge.catalogue.references.values():
        if reference.where and "github.com/" in reference.where and "gist." not in reference.where:
            assert PINNED.search(reference.where), f"{reference.id}: {reference.where}"


def test_no_two_references_are_the_same_place(kb: whygpu.KnowledgeBase) -> None:
    seen: dict[tuple[str | None, str], str] = {}
    for reference in kb.knowledge.catalogue.references.values():
        key = (reference.where, reference.title)
        assert seen.setdefault(key, reference.id) == reference.id


@pytest.mark.parametrize("identifier", ["griddly", "primer", "runpod", "nuface", "ai-rng"])
def test_the_documents_have_a_title(kb: whygpu.KnowledgeBase, identifier: str) -> None:
    assert kb.knowledge.documents[identifier].title
