"""Which worked cases passed an earlier check, kept in the user's own cache: nine tenths of a check are to judge them.

A case is not judged again only where all that its outcome can depend on is the same: the case itself, every text of the
knowledge base but other cases and rules, the library's code, its libraries, the Python and the engine; and of the rules
either all, or those that may have had a say (``lint/grounds.py``). Only what passed is kept, so a problem is always
found anew; and a case that reads anything else (a model's file, a measurement, the Hub) is always judged. Other checks
that take long, as the tests of the rules of a file, are kept by all that they rest on. Where things are kept, and whom
that trusts: ``loader/cache.py``.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from whygpu.intake.resolve import FILES
from whygpu.lint.content import digest_of
from whygpu.lint.grounds import Ground, Rules
from whygpu.loader import cache
from whygpu.yamldoc.document import Mapping as Node
from whygpu.yamldoc.document import Scalar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whygpu.chain.names import EngineName
    from whygpu.explain.advice import Advice
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.cases import Case
    from whygpu.lifecycle.advice import LifecycleAdvice

KIND = "passed"
_MOST_OTHERS = 1000
"""Other checks of earlier editions that are kept."""
_LINE = re.compile(r"(?:[ #].*|- .*|-|)\Z")
"""A line that begins no section."""
_READS = frozenset({*FILES, "id"})


class Passed:
    """The cases of one knowledge base that passed an earlier check and would pass this one, and those that do now."""

    def __init__(self, knowledge: Knowledge, texts: Mapping[str, str], engine: EngineName) -> None:
        """``texts``: those that the knowledge was made of."""
        self._knowledge = knowledge
        self._key = cache.key_of(_base(texts), "cases", engine, *_libraries())
        self._names = {id(case): _name(case) for case in knowledge.cases if _alone(case, knowledge)}
        self._rules = Rules(knowledge)
        self._edition = digest_of((self._rules.digests, self._rules.concluded))
        self._editions: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        self._found: dict[str, tuple[str, Ground | None]] = {}
        self._kept: dict[str, Ground | None] = {}
        self._others: set[str] = set()
        self._others_now: set[str] = set()
        self._changed = False
        self._read()

    def _read(self) -> None:
        """Read what was kept; what is no such thing is passed over."""
        body = cache.read_bytes(self._key, KIND)
        try:
            data = json.loads(body or b'{"rules": {}, "cases": {}}')
            self._editions = {name: (tuple(rules), tuple(names)) for name, (rules, names) in data["rules"].items()}
            self._found = {name: (str(edition), _ground(of)) for name, (edition, of) in data["cases"].items()}
            self._others = set(map(str, data.get("others", ())))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            self._editions, self._found, self._others = {}, {}, set()

    def holds(self, case: Case) -> bool:
        """Whether the case passed, and nothing that it rests on has changed."""
        name = self._names.get(id(case))
        if name is None or name not in self._found:
            return False
        edition, ground = self._found[name]
        if edition != self._edition and not self._bears(edition, ground):
            return False
        self._changed |= edition != self._edition
        self._kept[name] = ground
        return True

    def _bears(self, edition: str, ground: Ground | None) -> bool:
        """Whether what passed under other rules passes under these."""
        if ground is None or edition not in self._editions:
            return False
        digests, concluded = self._editions[edition]
        try:
            return concluded == self._rules.concluded and self._rules.bear(ground, digests)
        except (ValueError, TypeError, KeyError):  # it is no ground
            return False

    def knows(self, other: str) -> bool:
        """Whether another check passed, which is named by all that it rests on beside what every case does."""
        if other not in self._others:
            return False
        self._others_now.add(other)
        return True

    def note(self, other: str) -> None:
        """Another check that has passed now."""
        self._others_now.add(other)

    def ground(self, advice: Advice | LifecycleAdvice) -> Ground | None:
        """What a case with this advice rests on; None where it is all rules, for more was asked than it shows."""
        consultation = getattr(advice, "consultation", None)
        return None if consultation is None else self._rules.ground(consultation)

    def add(self, grounds: Iterable[tuple[Case, Ground | None]]) -> None:
        """Cases that have passed now."""
        for case, ground in grounds:
            name = self._names.get(id(case))
            if name is not None:
                self._kept[name] = ground
                self._changed = True

    def keep(self) -> None:
        """Keep what passed for the next check, and of earlier ones what may pass again."""
        if not self._changed and self._others_now <= self._others:
            return
        own, known = set(self._names.values()), self._editions
        cases = {name: of for name, of in self._found.items() if name in own and of[0] in known}
        cases |= {name: (self._edition, ground) for name, ground in self._kept.items()}
        known = {**known, self._edition: (self._rules.digests, self._rules.concluded)}
        used = {edition for edition, _ in cases.values()}
        data = {
            "rules": {name: of for name, of in known.items() if name in used},
            "cases": {
                name: (edition, ground and (ground.heard, ground.session, sorted(ground.failed)))
                for name, (edition, ground) in cases.items()
            },
            "others": sorted(self._others_now | set(sorted(self._others)[:_MOST_OTHERS])),
        }
        cache.write_bytes(self._key, KIND, json.dumps(data, separators=(",", ":")).encode())


def _name(case: Case) -> str:
    """What a case is kept by: all that it asks and expects, and the day."""
    return digest_of((case.id, case.answers, case.expected, case.on or date.today().isoformat()))


def _alone(case: Case, knowledge: Knowledge) -> bool:
    """Whether a case reads nothing but the knowledge base: no measurement, and of models presets or sizes."""
    phases = case.answers.items.get("phases")
    parts = [case.answers, *(phases.items.values() if isinstance(phases, Node) else ())]
    return all(isinstance(part, Node) and _reads_nothing(part, knowledge) for part in parts)


def _reads_nothing(answers: Node, knowledge: Knowledge) -> bool:
    model = answers.items.get("model")
    if isinstance(model, Scalar):
        return "measured" not in answers.items and model.text in knowledge.catalogue.models
    sizes = isinstance(model, Node) and _READS.isdisjoint(model.items)
    return "measured" not in answers.items and (model is None or sizes)


def _ground(data: Any) -> Ground | None:
    """Raises ValueError, TypeError or AttributeError where the data are none."""
    if data is None:
        return None
    heard, session, failed = data
    stages = tuple(tuple(tuple(stratum) for stratum in stage) for stage in heard)
    return Ground(stages, {name: tuple(value) for name, value in session.items()}, frozenset(map(str, failed)))


def _base(texts: Mapping[str, str]) -> dict[str, str]:
    """The texts without the files that hold nothing but cases, or nothing but rules."""
    return {name: text for name, text in texts.items() if _section(text) not in ("cases:", "rules:")}


def _section(text: str) -> str:
    """The section that is the only one of a file; empty where there may be others, or it is written unusually."""
    begins = [line for line in text.splitlines() if not _LINE.match(line)]
    return begins[0].strip() if len(begins) == 1 else ""


def _libraries() -> list[str]:
    """What the figures and the rules run on."""
    found = [f"numpy {np.__version__}", f"yaml {yaml.__version__}"]
    with suppress(PackageNotFoundError):
        found.append(f"durable-rules {version('durable_rules')}")
    return found
