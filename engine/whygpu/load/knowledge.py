"""Assembles a knowledge base from a folder of YAML files; everything wrong with it is reported at once."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from whygpu.catalogue import Catalogue
from whygpu.chain.strata import stratify, value_cycles
from whygpu.errors import KnowledgeBaseError, Place, Problem, did_you_mean
from whygpu.knowledge import Knowledge, NameSpec, Rule, concluded_names
from whygpu.language.tree import names, negated_names
from whygpu.load.conditions import Reading
from whygpu.load.document import Mapping, Node, Scalar, Sequence, parse
from whygpu.load.entries import read_coefficients, read_formats, read_models
from whygpu.load.facts import FactReader
from whygpu.load.fields import Fields, problem
from whygpu.load.prices import read_offerings, read_providers, read_purchases
from whygpu.load.rules import read_rules
from whygpu.load.vocabulary import read_claims, read_documents, read_names, read_questions, read_values

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping as ReadOnly

    from whygpu.language.types import Signature

MAX_FILES = 500
_LISTS = frozenset(
    {
        "claims",
        "tensions",
        "questions",
        "rules",
        "tables",
        "cases",
        "references",
        "accelerators",
        "providers",
        "offerings",
        "purchases",
        "models",
        "formats",
        "coefficients",
    }
)
_MAPPINGS = frozenset({"about", "documents", "names", "values"})


def default_root() -> Path:
    """The knowledge base that comes with whygpu: inside the wheel, or the checkout's ``kb/`` in an editable install."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "kb"
    return inside if inside.is_dir() else package.parents[1] / "kb"


def read_texts(root: Path) -> dict[str, str]:
    """Every YAML file under ``root`` as text, by its path from there; raises KnowledgeBaseError where that fails."""
    if not root.is_dir():
        raise KnowledgeBaseError(
            [
                Problem(
                    "no-folder",
                    "there is no such folder",
                    Place(str(root)),
                    "give the folder that holds vocabulary.yaml",
                )
            ]
        )
    paths = sorted(path for path in root.rglob("*") if path.suffix in (".yaml", ".yml") and path.is_file())
    if not paths or len(paths) > MAX_FILES:
        what = f"more than {MAX_FILES} files" if paths else "no YAML files"
        raise KnowledgeBaseError([Problem("not-a-knowledge-base", f"the folder holds {what}", Place(str(root)))])
    texts: dict[str, str] = {}
    problems: list[Problem] = []
    for path in paths:
        name = path.relative_to(root).as_posix()
        try:
            texts[name] = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            problems.append(Problem("unreadable", f"cannot be read: {error}", Place(str(path))))
    if problems:
        raise KnowledgeBaseError(problems)
    return texts


def load_texts(texts: ReadOnly[str, str], root: str, registry: Registry) -> Knowledge:
    """Build the knowledge base from file texts; raises KnowledgeBaseError with every problem."""
    problems: list[Problem] = []
    knowledge = _Assembly(texts, root, registry, problems).build()
    if knowledge is None or problems:
        raise KnowledgeBaseError(problems)
    return knowledge


class Registry:
    """What the library supplies to the knowledge base: numeric checks for expressions, and names it gives values to."""

    def __init__(self, functions: ReadOnly[str, Signature], provided: Iterable[str]) -> None:
        """``provided``: vocabulary names whose values come from checks and plans."""
        self.functions = functions
        self.provided = frozenset(provided)


class _Assembly:
    def __init__(self, texts: ReadOnly[str, str], root: str, registry: Registry, problems: list[Problem]) -> None:
        self._texts, self._root, self._registry, self._problems = texts, root, registry, problems
        self._lists: dict[str, list[tuple[str, Node]]] = {}
        self._mappings: dict[str, list[Node]] = {}

    def build(self) -> Knowledge | None:
        for name, text in self._texts.items():
            self._file(name, text)
        problems = self._problems
        if self._mappings.get("names") is None:
            problems.append(
                Problem(
                    "no-vocabulary", "no file has 'names:'", Place(self._root), "vocabulary.yaml declares every name"
                )
            )
            return None
        documents = read_documents(next(iter(self._mappings.get("documents", [])), None), problems)
        claims = read_claims(self._nodes("claims"), documents, problems)
        facts = FactReader({section: self._nodes(section) for section in _LISTS}, {*documents, *claims}, problems)
        listed = self._value_lists()
        vocabulary = read_names(self._mappings["names"], listed, problems)
        catalogue = self._catalogue(facts, vocabulary)
        sources = frozenset({*claims, *catalogue.references})
        reading = Reading(vocabulary, self._registry.functions, sources, problems)
        values = read_values(self._mappings.get("values", []), reading)
        options = {
            "format": frozenset(catalogue.formats),
            "method": self._choices(vocabulary, "method"),
            "sharding": self._choices(vocabulary, "sharding"),
        }
        rules = read_rules([(topic, node) for topic, node in self._lists.get("rules", [])], options, reading)
        questions = read_questions(self._nodes("questions"), reading)
        self._cross_check(vocabulary, values, rules)
        cycles = value_cycles(values)
        problems += cycles
        strata, order_problems = stratify(rules, values)
        problems += order_problems
        if problems:
            return None
        return Knowledge(
            version=self._version(),
            hash=self._hash(),
            root=self._root,
            documents=MappingProxyType(documents),
            claims=MappingProxyType(claims),
            vocabulary=MappingProxyType(vocabulary),
            questions=tuple(questions),
            values=MappingProxyType(values),
            rules=tuple(rules),
            catalogue=catalogue,
            strata=strata,
        )

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
            formats=MappingProxyType(read_formats(facts)),
            coefficients=read_coefficients(facts),
        )

    def _file(self, name: str, text: str) -> None:
        node = parse(text, name, self._problems)
        if node is None:
            return
        if not isinstance(node, Mapping):
            problem(
                self._problems,
                node,
                "wrong-type",
                "a knowledge base file is a mapping",
                f"sections: {', '.join(sorted(_LISTS | _MAPPINGS))}",
            )
            return
        for section, inner in node.items.items():
            if section in _MAPPINGS:
                self._mappings.setdefault(section, []).append(inner)
            elif section not in _LISTS:
                problem(
                    self._problems,
                    node.keys[section],
                    "unknown-key",
                    f"there is no section '{section}'",
                    did_you_mean(section, _LISTS | _MAPPINGS) or f"sections: {', '.join(sorted(_LISTS | _MAPPINGS))}",
                )
            elif isinstance(inner, Sequence):
                topic = name.rpartition("/")[2].partition(".")[0]
                self._lists.setdefault(section, []).extend((topic, item) for item in inner.items)
            elif not (isinstance(inner, Scalar) and inner.value is None):
                problem(self._problems, inner, "wrong-type", f"'{section}' must be a list")

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
        return frozenset(value for spec in vocabulary.values() if spec.answer == answer for value in spec.values)

    def _version(self) -> str:
        for node in self._mappings.get("about", []):
            fields = Fields.of(node, "about", self._problems)
            version = fields.text("version") if fields else None
            if version is not None:
                return version
        return "unversioned"

    def _hash(self) -> str:
        digest = hashlib.sha256()
        for name, text in sorted(self._texts.items()):
            digest.update(f"{name}\0{len(text)}\0{text}".encode())
        return digest.hexdigest()[:16]

    def _cross_check(
        self, vocabulary: ReadOnly[str, NameSpec], values: ReadOnly[str, object], rules: list[Rule]
    ) -> None:
        concluded = frozenset(concluded_names(rules))
        for spec in vocabulary.values():
            given = (
                spec.answer is not None
                or spec.entity in ("gpu", "measured")
                or spec.name in values
                or spec.name in concluded
            )
            if not given and spec.name not in self._registry.provided:
                self._problems.append(
                    Problem(
                        "no-value",
                        f"nothing gives '{spec.name}' a value",
                        spec.place,
                        "give it an answer key, a value in values.yaml or a rule that concludes it",
                    )
                )
        for rule in rules:
            for name in negated_names(rule.condition):
                if name.name in concluded and vocabulary[name.name].otherwise is None:
                    self._problems.append(
                        Problem(
                            "open-negation",
                            f"rule '{rule.id}' negates '{name.name}', which may stay unknown",
                            rule.place,
                            f"give '{name.name}' an 'otherwise:' in vocabulary.yaml",
                        )
                    )
        seen: dict[str, Rule] = {}
        for rule in rules:
            if rule.title in seen:
                self._problems.append(
                    Problem(
                        "duplicate-title", f"rules '{rule.id}' and '{seen[rule.title].id}' share a title", rule.place
                    )
                )
            seen[rule.title] = rule


__all__ = ["Registry", "default_root", "load_texts", "names", "read_texts"]
