"""Assembles a knowledge base from a folder of YAML files; everything wrong with it is reported at once."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from whygpu.chain.strata import stratify, value_cycles
from whygpu.errors import KnowledgeBaseError, Location, Problem, did_you_mean
from whygpu.knowledge.base import Knowledge
from whygpu.knowledge.catalogue import Catalogue
from whygpu.loader.causes import cause_ids, read_causes, read_measures
from whygpu.loader.citations import citations
from whygpu.loader.conditions import Reading
from whygpu.loader.crosscheck import cross_check, unweighed
from whygpu.loader.entries import read_coefficients, read_formats, read_models
from whygpu.loader.facts import FactReader
from whygpu.loader.files import default_root, read_texts
from whygpu.loader.formulas import read_formulas
from whygpu.loader.launches import read_launches
from whygpu.loader.preferences import read_preferences
from whygpu.loader.prices import read_areas, read_offerings, read_providers, read_purchases
from whygpu.loader.profiles import read_profiles
from whygpu.loader.registry import Registry
from whygpu.loader.rules import read_rules
from whygpu.loader.sources import read_claims, read_documents, read_tensions, unsettled
from whygpu.loader.tables import read_tables
from whygpu.loader.vocabulary import (
    read_heard,
    read_misnamed,
    read_names,
    read_questions,
    read_said,
    read_unasked,
    read_values,
    read_works,
)
from whygpu.yamldoc.document import Document, Mapping, Node, Scalar, Sequence
from whygpu.yamldoc.fields import Fields, kind_of, problem
from whygpu.yamldoc.forms import DAY, TEXT
from whygpu.yamldoc.parsed import Parsed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from collections.abc import Mapping as ReadOnly

    from whygpu.knowledge.rules import Rule, Table
    from whygpu.knowledge.sources import SourceDocument
    from whygpu.language.names import NameSpec
    from whygpu.yamldoc.forms import Form

LISTS = frozenset(
    {
        "claims",
        "tensions",
        "formulas",
        "questions",
        "unasked",
        "misnamed",
        "said",
        "heard",
        "works",
        "profiles",
        "launches",
        "rules",
        "tables",
        "cases",
        "causes",
        "measures",
        "diagnoses",
        "references",
        "accelerators",
        "providers",
        "offerings",
        "purchases",
        "areas",
        "models",
        "formats",
        "coefficients",
    }
)
MAPPINGS = frozenset({"about", "documents", "names", "values", "ranking"})
ABOUT: Form = MappingProxyType({"version": TEXT, "cases_on": DAY})
"""What is read of ``about``; it may say more."""


def load_texts(
    texts: ReadOnly[str, str], root: str, registry: Registry, *, cases: bool = True, parsed: Parsed | None = None
) -> Knowledge:
    """Build the knowledge base from file texts; raises KnowledgeBaseError with every problem.

    Without ``cases`` the files of worked cases are not read (but hashed like all others): to give advice takes none.
    ``parsed``: files that were read before.
    """
    problems: list[Problem] = []
    read = texts if cases else {name: text for name, text in texts.items() if not name.startswith("cases/")}
    knowledge = _Assembly(read, root, registry, problems, cases=cases, parsed=parsed or Parsed()).build(_hash(texts))
    if knowledge is None or problems:
        raise KnowledgeBaseError([_with_snippet(problem, texts) for problem in problems])
    return knowledge


def _hash(texts: ReadOnly[str, str]) -> str:
    digest = hashlib.sha256()
    for name, text in sorted(texts.items()):
        digest.update(f"{name}\0{len(text)}\0{text}".encode())
    return digest.hexdigest()[:16]


def _with_snippet(problem: Problem, texts: ReadOnly[str, str]) -> Problem:
    """The problem with the line it stands on; what was found across rules has only the place."""
    text = texts.get(problem.location.file)
    if problem.snippet is not None or text is None:
        return problem
    return replace(problem, snippet=Document(problem.location.file, text).line(problem.location.line) or None)


def rates_of(vocabulary: Iterable[str]) -> list[str]:
    """The rates of accelerators that the vocabulary names, without ``gpu.``."""
    return [name[4:] for name in vocabulary if name.startswith("gpu.") and name.endswith(("_tflops", "_tops"))]


class _Assembly:
    def __init__(
        self,
        texts: ReadOnly[str, str],
        root: str,
        registry: Registry,
        problems: list[Problem],
        *,
        cases: bool,
        parsed: Parsed,
    ) -> None:
        self._texts, self._root, self._registry, self._problems = texts, root, registry, problems
        self._cases, self._parsed = cases, parsed
        self._lists: dict[str, list[tuple[str, Node]]] = {}
        self._mappings: dict[str, list[Node]] = {}

    # Longer than a screen: each stage takes what all before it made, and parts would hand a dozen names along
    def build(self, digest: str) -> Knowledge | None:
        """The knowledge base, whose files have the ``digest``; None, with problems added, where something is wrong.

        Stage by stage: what builds on a file that cannot be read, or on a name that is not declared well, would only
        echo the first problem.
        """
        problems = self._problems
        broken = [self._file(name, text) for name, text in self._texts.items()]
        if not all(broken):
            return None
        if self._mappings.get("names") is None:
            location = Location("vocabulary.yaml", 1) if "vocabulary.yaml" in self._texts else Location(self._root)
            problems.append(Problem("no-vocabulary", "no file has 'names:'", location, "it declares every name"))
            return None
        before = len(problems)
        documents: dict[str, SourceDocument] = {}
        for node in self._mappings.get("documents", []):
            documents |= read_documents(node, problems)
        claims = read_claims(self._nodes("claims"), documents, problems)
        tensions = read_tensions(self._nodes("tensions"), claims, problems)
        facts = FactReader({section: self._nodes(section) for section in LISTS}, {*documents, *claims}, problems)
        vocabulary = read_names(self._mappings["names"], self._value_lists(), problems)
        version = self._version()
        if len(problems) > before:
            return None
        catalogue = self._catalogue(facts, vocabulary)
        sources = frozenset({*claims, *catalogue.references})
        reading = Reading(vocabulary, self._registry.functions, sources, problems)
        values = read_values(self._mappings.get("values", []), reading)
        options = {
            "format": frozenset(catalogue.formats),
            "kv_format": self._choices(vocabulary, "kv_format"),
            "method": self._choices(vocabulary, "method"),
            "sharding": self._choices(vocabulary, "sharding"),
            "cause": cause_ids(self._nodes("causes")),
        }
        tables, rows = read_tables(self._lists.get("tables", []), options, reading)
        rules = self._with_rows(read_rules(self._lists.get("rules", []), options, reading), rows, tables)
        formulas = read_formulas(self._nodes("formulas"), reading)
        questions = read_questions(self._nodes("questions"), reading)
        unasked = read_unasked(self._nodes("unasked"), {item.id for item in questions}, reading)
        misnamed = read_misnamed(self._nodes("misnamed"), reading)
        said, heard = read_said(self._nodes("said"), reading), read_heard(self._nodes("heard"), reading)
        works = read_works(self._nodes("works"), reading)
        profiles = read_profiles(self._nodes("profiles"), reading)
        launches = read_launches(self._nodes("launches"), catalogue.accelerators, reading)
        preferences = read_preferences(self._mappings.get("ranking", []), reading)
        causes, measures = read_causes(self._nodes("causes"), reading), read_measures(self._nodes("measures"), reading)
        if problems:
            return None
        settlers = {item.id for items in (rules, tables, formulas, questions) for item in items}
        problems += unsettled(tensions, {*settlers, "ranking"})
        problems += cross_check(vocabulary, values, rules, self._registry.provided)
        problems += unweighed(rules, catalogue.coefficients)
        if cycles := value_cycles(values):  # values in a circle have no order
            problems += cycles
            return None
        strata, order_problems = stratify((rule for rule in rules if not rule.diagnoses), values)
        diagnosis, further = stratify((rule for rule in rules if rule.diagnoses), values)
        problems += [*order_problems, *further]
        if problems:
            return None
        knowledge = Knowledge(
            version=version,
            hash=digest,
            root=self._root,
            documents=MappingProxyType(documents),
            claims=MappingProxyType(claims),
            tensions=MappingProxyType(tensions),
            vocabulary=MappingProxyType(vocabulary),
            questions=tuple(questions),
            unasked=tuple(unasked),
            misnamed=MappingProxyType(misnamed),
            said=said,
            heard=heard,
            works=works,
            values=MappingProxyType(values),
            rules=tuple(rules),
            catalogue=catalogue,
            strata=strata,
            formulas=tuple(formulas),
            tables=tuple(tables),
            profiles=MappingProxyType(profiles),
            preferences=preferences,
            launches=tuple(launches),
            causes=MappingProxyType(causes),
            measures=MappingProxyType(measures),
            diagnosis=diagnosis,
        )
        return self._with_cases(knowledge) if self._cases else knowledge

    def _with_cases(self, knowledge: Knowledge) -> Knowledge:
        """The knowledge base with its worked cases, and who cites what."""
        from whygpu.loader.cases import read_cases  # noqa: PLC0415  to give advice takes no cases
        from whygpu.loader.causes import read_diagnoses  # noqa: PLC0415

        day = self._cases_on()
        cases = [
            case if case.on is not None else replace(case, on=day)
            for case in read_cases(self._lists.get("cases", []), knowledge, self._problems)
        ]
        sources = frozenset({*knowledge.claims, *knowledge.catalogue.references})
        reading = Reading(knowledge.vocabulary, self._registry.functions, sources, self._problems)
        diagnoses = read_diagnoses(self._nodes("diagnoses"), knowledge, reading)
        cited = tuple(citations(self._items()))
        return replace(knowledge, cases=tuple(cases), diagnoses=diagnoses, citations=cited)

    def _items(self) -> Iterator[tuple[str, Node]]:
        """Everything in every section, with its section."""
        for section, items in self._lists.items():
            yield from ((section, node) for _, node in items)
        for section, nodes in self._mappings.items():
            yield from ((section, node) for node in nodes)

    @staticmethod
    def _with_rows(rules: list[Rule], rows: list[Rule], tables: list[Table]) -> list[Rule]:
        """The rules and the rows of tables; overriding a table means all of its rows."""
        of_table = {table.id: tuple(row.rule for row in table.rows if row.effects) for table in tables}
        return [
            replace(rule, overrides=tuple(name for other in rule.overrides for name in of_table.get(other, (other,))))
            if any(other in of_table for other in rule.overrides)
            else rule
            for rule in (*rules, *rows)
        ]

    def _catalogue(self, facts: FactReader, vocabulary: ReadOnly[str, NameSpec]) -> Catalogue:
        accelerators = facts.accelerators({name: spec for name, spec in vocabulary.items() if spec.entity == "gpu"})
        providers = read_providers(facts)
        return Catalogue(
            references=MappingProxyType(facts.references),
            accelerators=MappingProxyType(accelerators),
            providers=MappingProxyType(providers),
            offerings=tuple(read_offerings(facts, accelerators, providers)),
            purchases=tuple(read_purchases(facts, accelerators)),
            models=MappingProxyType(read_models(facts)),
            formats=MappingProxyType(read_formats(facts, rates_of(vocabulary), self._choices(vocabulary, "runtime"))),
            coefficients=read_coefficients(facts),
            areas=MappingProxyType(read_areas(facts, providers)),
        )

    def _file(self, name: str, text: str) -> bool:
        """Sort the file's sections; whether it could be read at all."""
        before = len(self._problems)
        node = self._parsed.parse(text, name, self._problems)
        if not text.strip():  # so begins a save that is cut short
            message, help_text = (
                "a knowledge base file is a mapping, and this one is empty",
                "save it again, or delete it",
            )
            self._problems.append(Problem("wrong-type", message, Location(name), help_text))
        if node is None:
            return len(self._problems) == before
        if not isinstance(node, Mapping):
            help_text = f"it begins with a section: {', '.join(sorted(LISTS | MAPPINGS))}"
            message = f"a knowledge base file is a mapping, not {kind_of(node)}"
            problem(self._problems, node, "wrong-type", message, help_text)
            return False
        for section, inner in node.items.items():
            if section in MAPPINGS:
                self._mappings.setdefault(section, []).append(inner)
            elif section not in LISTS:
                problem(
                    self._problems,
                    node.keys[section],
                    "unknown-key",
                    f"there is no section '{section}'",
                    did_you_mean(section, LISTS | MAPPINGS) or f"sections: {', '.join(sorted(LISTS | MAPPINGS))}",
                )
            elif isinstance(inner, Sequence):
                topic = name.rpartition("/")[2].partition(".")[0]
                self._lists.setdefault(section, []).extend((topic, item) for item in inner.items)
            elif not (isinstance(inner, Scalar) and inner.value is None):
                message = f"'{section}' must be a list, not {kind_of(inner)}"
                problem(self._problems, inner, "wrong-type", message, "begin each item with '- '")
        return True

    def _nodes(self, section: str) -> list[Node]:
        return [node for _, node in self._lists.get(section, [])]

    def _value_lists(self) -> dict[str, dict[str, str]]:
        """Choices that a catalogue supplies, before it is read: the vocabulary needs them first."""
        formats: dict[str, str] = {}
        for node in self._nodes("formats"):
            if isinstance(node, Mapping) and isinstance(node.items.get("id"), Scalar):
                identifier, name = node.items["id"], node.items.get("name")
                text = name.text if isinstance(name, Scalar) else ""
                if isinstance(identifier, Scalar):
                    formats[identifier.text] = text or identifier.text
        return {"formats": formats}

    @staticmethod
    def _choices(vocabulary: ReadOnly[str, NameSpec], answer: str) -> frozenset[str]:
        return frozenset(value for spec in vocabulary.values() if spec.answer == answer for value in spec.words)

    def _cases_on(self) -> str | None:
        """The day worked cases are asked on where they say none: prices age, and what a case expects does not."""
        for node in self._mappings.get("about", []):
            fields = Fields.of(node, "about", self._problems, ABOUT)
            day = fields.date("cases_on") if fields else None
            if day is not None:
                return day
        return None

    def _version(self) -> str:
        for node in self._mappings.get("about", []):
            fields = Fields.of(node, "about", self._problems, ABOUT)
            version = fields.text("version") if fields else None
            if version is not None:
                return version
        return "unversioned"


__all__ = ["Registry", "default_root", "load_texts", "read_texts"]
