"""Reviews a knowledge base, or one file in the context of one: loading, inline tests, cases, lint."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from whygpu.api import REGISTRY, KnowledgeBase
from whygpu.chain.durable import default_engine
from whygpu.checks.setup import TRAINING_PHASES
from whygpu.collector import collector_at_rest
from whygpu.errors import KnowledgeBaseError, Problem
from whygpu.knowledge.rules import concluded_names
from whygpu.lint.cases import judged
from whygpu.lint.content import digest_of
from whygpu.lint.diagnoses import check_diagnoses
from whygpu.lint.grounds import digests_of
from whygpu.lint.parallel import at_once, batched
from whygpu.lint.passed import Passed
from whygpu.lint.registry import lint
from whygpu.lint.tests import check_tests
from whygpu.loader import cache
from whygpu.loader.assemble import load_texts
from whygpu.loader.files import SUFFIXES, default_root, read_text, read_texts, yaml_files
from whygpu.yamldoc.document import Scalar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import date

    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.cases import Case
    from whygpu.knowledge.causes import DiagnosisCase
    from whygpu.knowledge.rules import Rule
    from whygpu.lint.grounds import Ground
    from whygpu.yamldoc.parsed import Parsed


class NotThereError(Exception):
    """There is no such file or folder, or it is not one of YAML."""


@dataclass(frozen=True, slots=True)
class Target:
    """What is reviewed. ``file``: the one file that counts, and the name it has (or gets) in the knowledge base."""

    root: Path
    file: tuple[Path, str] | None = None

    @classmethod
    def of(cls, path: str | None) -> Target:
        """A folder is a whole knowledge base; a file is seen in the one it lies in, else in the default one.

        Raises NotThereError.
        """
        if path is None:
            return cls(default_root())
        given = Path(path)
        if given.is_dir():
            return cls(given)
        if not given.is_file():
            raise NotThereError(f"there is no file or folder '{path}'")
        if given.suffix not in SUFFIXES:
            raise NotThereError(f"'{path}' is not a YAML file (.yaml)")
        for folder in given.resolve().parents:
            if (folder / "vocabulary.yaml").is_file():
                return cls(folder, (given, given.resolve().relative_to(folder).as_posix()))
        return cls(default_root(), (given, _name_in(default_root(), given.resolve())))

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files it depends on, for watching."""
        found = yaml_files(self.root) if self.root.is_dir() else []
        return (*found, *((self.file[0],) if self.file is not None else ()))

    def texts(self) -> Mapping[str, str]:
        """Every file's text; raises KnowledgeBaseError."""
        if self.file is None:
            return read_texts(self.root)
        path, name = self.file
        own = read_text(path, name)
        if isinstance(own, Problem):
            raise KnowledgeBaseError([own])
        return {**read_texts(self.root), name: own}

    def load(self, today: date | None = None) -> KnowledgeBase:
        """The knowledge base with its cases, those without a day asked ``today``; raises KnowledgeBaseError."""
        return self.made_of(self.texts(), today)

    def made_of(
        self, texts: Mapping[str, str], today: date | None = None, parsed: Parsed | None = None
    ) -> KnowledgeBase:
        """The same of texts that were read; ``parsed``: those that were so before."""
        knowledge = load_texts(texts, str(self.root), REGISTRY, parsed=parsed)
        if today is None:
            return KnowledgeBase(knowledge)
        cases = (case if case.on is not None else replace(case, on=today.isoformat()) for case in knowledge.cases)
        return KnowledgeBase(replace(knowledge, cases=tuple(cases)))

    def shown(self, problem: Problem) -> Problem:
        """The problem with its file as a path that can be opened from here."""
        location = problem.location
        if self.file is not None and location.file == self.file[1]:
            return replace(problem, location=replace(location, file=str(self.file[0])))
        if Path(location.file).is_absolute() or not (self.root / location.file).exists():
            return problem
        return replace(problem, location=replace(location, file=str(_short(self.root / location.file))))


def _name_in(root: Path, path: Path) -> str:
    """The file of the knowledge base that a file elsewhere stands for: the same folder and name, else a new one."""
    tail = "/".join(path.parts[-2:])
    return tail if (root / tail).is_file() else path.name


def _short(path: Path) -> Path:
    try:
        return path.relative_to(Path.cwd())
    except ValueError:
        return path


@dataclass(frozen=True, slots=True)
class Review:
    """What was found. ``elsewhere``: problems of other files than the one asked about."""

    problems: tuple[Problem, ...]
    elsewhere: tuple[Problem, ...]
    summary: str
    earlier: int = 0
    """Cases that were not judged: they passed an earlier check, and nothing that they rest on has changed."""

    @property
    def errors(self) -> int:
        """How many problems are more than warnings."""
        return sum(problem.severity == "error" for problem in self.problems)

    @property
    def warnings(self) -> int:
        """How many are only warnings."""
        return len(self.problems) - self.errors

    @property
    def clean(self) -> bool:
        """Whether there is no error, and everything could be looked at."""
        return not self.errors and bool(self.summary)


def review(target: Target, today: date | None = None, *, fresh: bool = False, parsed: Parsed | None = None) -> Review:
    """Look at everything as of a day; ``fresh``: judge cases that passed an earlier check, too; ``parsed``: files that
    an earlier review read.

    Raises KnowledgeBaseError where the folder is not a knowledge base.
    """
    summary, earlier = "", 0
    problems: list[Problem] = []
    with collector_at_rest():
        try:
            texts = target.texts()
            kb = target.made_of(texts, today, parsed)
        except KnowledgeBaseError as error:
            if any(problem.code in ("no-folder", "not-a-knowledge-base") for problem in error.problems):
                raise
            problems += error.problems
        else:
            record = None if fresh or cache.folder() is None else partial(Passed, kb.knowledge, texts, default_engine())
            found, earlier = _findings(kb, target, today, record)
            problems += (_with_snippet(problem, target) for problem in found)
            summary = _summary(kb.knowledge, target)
    problems.sort(key=lambda item: (item.location.file, item.location.line, item.location.column))
    name = target.file[1] if target.file is not None else None
    own = [problem for problem in problems if name is None or problem.location.file == name]
    others = [problem for problem in problems if name is not None and problem.location.file != name]
    return Review(tuple(map(target.shown, own)), tuple(map(target.shown, others)), summary, earlier)


def _findings(
    kb: KnowledgeBase, target: Target, today: date | None, record: Callable[[], Passed] | None
) -> tuple[list[Problem], int]:
    """What tests, cases and lint find, of a single file only its own tests and cases; and how many cases passed an
    earlier check.
    """
    knowledge = kb.knowledge
    name = target.file[1] if target.file is not None else None
    rules = [rule for rule in knowledge.rules if name is None or rule.location.file == name]
    cases = [case for case in knowledge.cases if name is None or case.location.file == name]
    worked = tuple(case for case in knowledge.diagnoses if name is None or case.location.file == name)
    passed = record() if record is not None and cases else None
    left = cases if passed is None else [case for case in cases if not passed.holds(case)]
    others = [piece for piece in (*_diagnosed(kb, worked), *_tested(knowledge, rules)) if not _passed(piece, passed)]
    pieces = [*(piece.work for piece in others), *_judged(kb, left, passed)]
    with at_once(pieces) as done:
        found = [item for item in lint(knowledge, today) if name is None or item.location.file == name]
        grounds: dict[int, Ground | None] = {}
        results = list(done())
    for result in results:
        found += result.problems
        grounds |= result.grounds
    if passed is not None:
        passed.add((left[number], ground) for number, ground in grounds.items())
        for other, result in zip(others, results, strict=False):  # those of the cases come after
            if not result.problems:
                passed.note(other.name)
        passed.keep()
    return found, len(cases) - len(left)


@dataclass(frozen=True, slots=True)
class _Piece:
    """What a piece of the work found: problems, and of each case that passed, by its number, what it rests on."""

    problems: tuple[Problem, ...]
    grounds: Mapping[int, Ground | None] = field(default_factory=dict)


_Work: TypeAlias = "Callable[[], _Piece]"
_RULES, _CASES = 64, 4
"""How many of them are a piece of work."""


@dataclass(frozen=True, slots=True)
class _Other:
    """A piece of work beside the cases, and the name that it is kept by where it passes: a digest of the rules and
    the tests or diagnoses that it is about.
    """

    name: str
    work: _Work


def _passed(other: _Other, passed: Passed | None) -> bool:
    return passed is not None and passed.knows(other.name)


def _diagnosed(kb: KnowledgeBase, worked: tuple[DiagnosisCase, ...]) -> Iterator[_Other]:
    """The worked diagnoses: they rest on the rules that diagnose, and on what others conclude."""
    if worked:
        rules = [
            rule for rule in kb.knowledge.rules if rule.diagnoses or rule.overrides or any(concluded_names([rule]))
        ]
        digests = digests_of(kb.knowledge)
        name = digest_of(("diagnoses", [digests[rule.id] for rule in rules], worked))
        yield _Other(name, lambda: _Piece(tuple(check_diagnoses(kb, default_engine(), worked))))


def _tested(knowledge: Knowledge, rules: Sequence[Rule]) -> Iterator[_Other]:
    """The tests beside rules, those of each file by themselves: they run on its rules alone."""
    digests = digests_of(knowledge)
    of_file: dict[str, list[Rule]] = {}
    for rule in rules:
        of_file.setdefault(rule.location.file, []).append(rule)
    for some in (some for own in of_file.values() for some in batched(own, _RULES)):
        name = digest_of(("tests", [(digests[rule.id], rule.tests) for rule in some]))
        yield _Other(name, partial(_test, knowledge, some))


def _test(knowledge: Knowledge, rules: Sequence[Rule]) -> _Piece:
    return _Piece(tuple(check_tests(knowledge, rules)))


def _judged(kb: KnowledgeBase, cases: Sequence[Case], passed: Passed | None) -> Iterator[_Work]:
    """Those about training first: they take longest, and the last piece leaves other processes idle."""
    order = sorted(range(len(cases)), key=lambda number: not _trains(cases[number]))
    return (partial(_judge, kb, cases, passed, some) for some in batched(order, _CASES))


def _judge(kb: KnowledgeBase, cases: Sequence[Case], passed: Passed | None, numbers: Sequence[int]) -> _Piece:
    problems: list[Problem] = []
    grounds: dict[int, Ground | None] = {}
    for number in numbers:
        found, advice = judged(kb, cases[number], default_engine())
        problems += found
        if passed is not None and advice is not None and not found:
            grounds[number] = passed.ground(advice)
    return _Piece(tuple(problems), grounds)


def _trains(case: Case) -> bool:
    phase = case.answers.items.get("phase")
    return "phases" in case.answers.items or (isinstance(phase, Scalar) and phase.text in TRAINING_PHASES)


def _with_snippet(problem: Problem, target: Target) -> Problem:
    """The problem with the line it stands on, which what is found after loading no longer has."""
    if problem.snippet is not None or not problem.location.line:
        return problem
    file = target.file
    path = file[0] if file is not None and problem.location.file == file[1] else target.root / problem.location.file
    lines = _lines(path)
    number = problem.location.line
    return replace(problem, snippet=lines[number - 1] if number <= len(lines) else None)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []


def _summary(knowledge: Knowledge, target: Target) -> str:
    if target.file is not None:
        name = target.file[1]
        rules = [rule for rule in knowledge.rules if rule.location.file == name]
        tests = sum(len(rule.tests) for rule in rules)
        places = [*(case.location for case in knowledge.cases), *(case.location for case in knowledge.diagnoses)]
        cases = sum(place.file == name for place in places)
        return f"{_count(len(rules), 'rule')}, {_count(tests, 'test')}, {_count(cases, 'case')}"
    tests = sum(len(rule.tests) for rule in knowledge.rules)
    catalogue = knowledge.catalogue
    parts = (
        (len(knowledge.rules), "rule"),
        (tests, "test"),
        (len(knowledge.cases) + len(knowledge.diagnoses), "case"),
        (len(knowledge.vocabulary), "name"),
        (len(knowledge.claims), "claim"),
        (len(catalogue.accelerators), "accelerator"),
        (len(catalogue.offerings), "offering"),
        (len(catalogue.models), "model"),
    )
    return ", ".join(_count(number, noun) for number, noun in parts)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
