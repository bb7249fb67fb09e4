"""From answer to action: what starts a plan, with each tool that can, in the words of ``launches`` of the knowledge
base.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from whygpu.chain.environment import known_value, plain, unknown_of
from whygpu.chain.strata import used_names
from whygpu.checks.memory.alignment import serving
from whygpu.checks.memory.inference import further_tokens
from whygpu.checks.memory.share import memory_share
from whygpu.checks.speed.splitting import chunk_of_rank
from whygpu.checks.speed.training import TrainingWork
from whygpu.knowledge.catalogue import fold
from whygpu.knowledge.rules import expression_of
from whygpu.language.evaluate import Evaluator
from whygpu.plans.splits import can_split, context_cards
from whygpu.quantity import show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from whygpu.checks.setup import ParallelLayout, Setup
    from whygpu.consult.consultation import Consultation
    from whygpu.knowledge.catalogue import Entry
    from whygpu.knowledge.launches import Launch, LaunchLine
    from whygpu.knowledge.rules import AllOf, Template
    from whygpu.language import values as v

START_NAMES = (
    "start.model",
    "start.checkpoint",
    "start.maker",
    "start.remote_code",
    "start.requests",
    "start.requests_on_card",
    "start.context_cards",
    "start.chunk_tokens",
    "start.divides_cache",
    "start.cuts_blocks",
    "start.cache_tokens",
    "start.ranks",
    "start.cards",
    "start.machines",
    "start.cards_a_machine",
    "start.processes_a_machine",
    "start.memory_share",
    "start.engine_cards",
    "start.engine_share",
    "start.prompt_tokens",
    "start.accumulation",
    "start.pairs",
    "start.card",
    "start.tool",
    "start.command",
)
_BLOCK = "start.command"
"""Stands in a block of YAML, which holds it as it is."""
_OF_STACK = frozenset({"workload.runtime", "plan.format_runs"})
"""What rules say of serving stacks by."""
_CACHED = re.compile(r"models--([^/\\]+?)--([^/\\]+)")
"""A folder of the Hugging Face cache: organisation and name."""


_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9._/-]*")
"""Text that is a text in YAML without quotes."""


@dataclass(frozen=True, slots=True)
class Start:
    """How one tool starts a plan."""

    tool: str
    name: str
    version: str
    """The versions that it is for."""
    text: str | None
    """The command, or what the file holds; None where the tool cannot start the plan."""
    file: str | None
    run: str | None
    """The command that takes the file."""
    cannot: str | None
    """Why the tool cannot start the plan."""
    notes: tuple[str, ...]
    claims: tuple[str, ...]


def starts(consultation: Consultation, row: int) -> tuple[Start, ...]:
    """Every tool for such work; those that can start the plan first, and of these its own serving stack."""
    base = _Plan(consultation, row)
    found: list[Start] = []
    told = [item for item in consultation.knowledge.launches if base.holds(item.when)]
    for launch in sorted(told, key=lambda item: (item.file is not None, item.runtime != base.runtime)):
        command = next((start for start in found if start.text is not None and start.file is None), None)
        found.append(_start(_Plan(consultation, row, launch, command), launch))
    return tuple(sorted(found, key=lambda start: start.text is None))


def _start(plan: _Plan, launch: Launch) -> Start:
    form = {"tool": launch.id, "name": launch.name, "version": launch.version}
    for cannot, sources in plan.refusals(launch):
        return Start(**form, text=None, file=None, run=None, cannot=cannot, notes=(), claims=sources)
    lines = plan.lines(launch.lines, _in_yaml if launch.file else shlex.quote)
    inner = plan.command.notes if plan.command is not None and launch.file else ()
    return Start(
        **form,
        text=("\n" if launch.file else " \\\n  ").join(lines),
        file=launch.file,
        run=launch.run,
        cannot=None,
        notes=(*inner, *plan.lines(launch.notes)),
        claims=launch.sources,
    )


def _in_yaml(text: str) -> str:
    """A text in quotes where it needs them."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text)


class _Plan:
    """One plan as a tool sees it: names of the plan, those of ``start``, and the tool's own stack as the runtime."""

    def __init__(
        self, consultation: Consultation, row: int, launch: Launch | None = None, command: Start | None = None
    ) -> None:
        self._of, self._row, self._launch, self.command = consultation, row, launch, command
        self._candidate = consultation.plans.plan_set.candidate(row)
        self._evaluator = Evaluator(self)

    @property
    def runtime(self) -> str:
        """The serving stack that the plan was sized for."""
        return self._candidate.setup.runtime

    # an environment of conditions

    def value(self, name: str) -> v.Value:
        """The name's value for this plan."""
        own = self._own(name)
        if own is not None:
            return known_value(own)
        if name in START_NAMES:
            return unknown_of(self._of.knowledge.vocabulary[name])
        derived = self._of.knowledge.values.get(name)
        if derived is not None and derived.aggregate is None:
            return self._evaluator.value(derived.expression)
        return self._of.plans.environment.at(name, self._row)

    def call(self, function: str, arguments: Sequence[v.Value]) -> v.Value:
        """Numeric checks are of the consultation."""
        return self._of.plans.environment.call(function, arguments)

    def holds(self, when: AllOf) -> bool:
        """Whether every condition surely holds."""
        return self._evaluator.truth(expression_of(when)).true is True

    def _requests(self) -> int:
        """Requests that each replica takes at most: also those of the replicas that may fail."""
        spare, replicas = self._of.plans.options.replicas - 1, self._candidate.layout.data
        return self._candidate.setup.requests_per_replica(max(replicas - spare, 1))

    # Longer than a screen: a case for each name that launches may use
    def _own(self, name: str) -> float | bool | str | None:
        setup, layout = self._candidate.setup, self._candidate.layout
        cards = layout.cards if setup.trains else layout.tensor * layout.pipeline
        machines = math.ceil(cards / math.ceil(layout.cards / layout.nodes))
        if self._candidate.accelerator.text("form") == "soc":
            machines = cards  # each is a computer of its own, also where a cable joins two
        runtime = self._launch.runtime if self._launch is not None else None
        match name:
            case "workload.runtime":
                return runtime
            case "plan.format_runs":
                return None if runtime is None else setup.format.runs_on(runtime)
            case "start.model":
                return _model(self._of)
            case "start.checkpoint":
                return _checkpoint(self._of, setup.format.id)
            case "start.maker":
                checkpoint = _checkpoint(self._of, setup.format.id)
                return None if checkpoint is None else checkpoint.partition("/")[0]
            case "start.remote_code":
                entry = _entry(self._of)
                return bool(entry is not None and entry.data.get("remote_code"))
            case "start.requests":
                return float(self._requests())
            case "start.requests_on_card":
                return float(layout.requests_on_card(self._requests()))
            case "start.context_cards":
                return float(context_cards(self._candidate.memory.shape, layout))
            case "start.chunk_tokens":
                return self._chunk_tokens()
            case "start.divides_cache":
                return runtime is None or self._divides(runtime)
            case "start.cuts_blocks":
                return self._cuts_blocks()
            case "start.cache_tokens":
                return self._cache_tokens()
            case "start.cards":
                return float(cards)
            case "start.machines":
                return float(machines)
            case "start.cards_a_machine":
                return float(math.ceil(cards / machines))
            case "start.processes_a_machine":
                each = self._candidate.accelerator.number("processes") or 1.0
                return math.ceil(cards / machines) * each
            case "start.memory_share":
                return self._memory_share()
            case "start.engine_cards":
                return self._engine_cards()
            case "start.engine_share":
                return self._likely("rollout-memory-share") if setup.trains else None
            case "start.prompt_tokens":
                return float(setup.sequence_tokens - serving(setup).output_tokens) if setup.trains else None
            case "start.accumulation":
                return float(_accumulation(setup, layout)) if setup.trains else None
            case "start.pairs":
                return float(max(setup.batch_size // 2, 1)) if setup.trains else None
            case "start.card":
                return None if self._launch is None else self._launch.cards.get(self._candidate.accelerator.id)
            case "start.ranks":
                return layout.tensor * (self._candidate.accelerator.number("processes") or 1.0)
            case "start.tool":
                return None if self.command is None else self.command.tool
            case "start.command":
                return None if self.command is None else self.command.text
            case _:
                return None

    def _chunk_tokens(self) -> float:
        """Tokens of prompts worked on at once, by each rank where ranks divide requests, as the plan was timed."""
        layout = self._candidate.layout
        ranks = layout.tensor if layout.cache_split == "requests" else 1
        return float(chunk_of_rank(self._likely("prefill-chunk-tokens"), ranks))

    def _likely(self, coefficient: str) -> float:
        """The likely value of a coefficient for the plan's work."""
        context = self._candidate.setup.context(self._candidate.memory.shape)
        return self._of.knowledge.catalogue.coefficients.pick(coefficient, context).likely

    def _engine_cards(self) -> float | None:
        """Accelerators that the engine which writes answers is spread over, as the plan was timed."""
        work = self._of.plans.plan_set.estimate(self._row).work
        return max(float(work.rollout.ranks[0]), 1.0) if isinstance(work, TrainingWork) else None

    def _divides(self, runtime: str) -> bool:
        """Whether a serving stack divides the cache as the plan does."""
        plan_set = self._of.plans.plan_set
        work = replace(plan_set.work, setup=replace(self._candidate.setup, runtime=runtime))
        kind = plan_set.cards.kinds[int(plan_set.cards.kind[plan_set.card[self._row]])]
        return can_split(work, kind.software, self._candidate.layout.cache_split)

    def _cache_tokens(self) -> float:
        """Tokens of the cache that the requests of a replica share: one at its longest, and the others' share."""
        need, setup = self._candidate.memory, self._candidate.setup
        further = further_tokens(setup, need.coefficients, setup.context(need.shape))
        others = setup.requests_per_replica(self._candidate.layout.data) - 1
        return float(setup.context_tokens + others * math.ceil(further))

    def _cuts_blocks(self) -> bool:
        """Whether shards of an expert would end inside the blocks that the model's makers quantized its weights by."""
        setup, entry = self._candidate.setup, _entry(self._of)
        block = None if entry is None else entry.data.get("weight_block")
        if entry is None or block is None:
            return False
        if setup.format.id != entry.data.get("published_format", "fp8" if _checkpoint(self._of, "fp8") else None):
            return False
        return bool(self._candidate.memory.shape.expert_ffn_size % (block * self._candidate.layout.tensor))

    def _memory_share(self) -> float | None:
        """The share of the card that the tool is to take."""
        catalogue = self._of.knowledge.catalogue
        usable = catalogue.usable_bytes(self._candidate.accelerator)
        if math.isnan(usable) or self._launch is None or self._launch.runtime is None:
            return None
        form = self._candidate.accelerator.text("form")
        return memory_share(usable, self._candidate.memory, self._launch.runtime, form)

    # what is told

    def refusals(self, launch: Launch) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Why the tool cannot start the plan, and by which sources: its entry, then the rules about its stack."""
        for refusal in launch.refusals:
            if self.holds(refusal.when):
                yield self._fill(refusal.because), launch.sources
        knowledge = self._of.knowledge
        for rule in knowledge.rules if launch.runtime not in (None, self.runtime) else ():
            of_stack = rule.rejects and not _OF_STACK.isdisjoint(used_names([rule.condition], knowledge.values))
            if of_stack and self._evaluator.truth(rule.condition).true is True:
                yield self._fill(rule.because), rule.sources

    def lines(self, lines: Iterable[LaunchLine], quote: Callable[[str], str] | None = None) -> Iterator[str]:
        """The lines whose conditions hold."""
        yield from (self._fill(line.text, quote) for line in lines if self.holds(line.when))

    def _fill(self, template: Template, quote: Callable[[str], str] | None = None) -> str:
        """The text with its names' values put in; what is unknown stands in capitals, to be filled in by hand.

        ``quote``: how texts stand in a command or a file; None: it is a sentence, with numbers as they are read.
        """
        found: list[str] = []
        for literal, name in template.parts:
            found.append(literal)
            value = None if name is None else plain(self.value(name))
            if name is not None and value is None:
                found.append(name.rpartition(".")[2].upper())
            elif isinstance(value, str):
                blanks = " " * (len(literal) - len(literal.rstrip(" ")))
                found.append((value if quote is None or name == _BLOCK else quote(value)).replace("\n", f"\n{blanks}"))
            elif isinstance(value, float):
                found.append(show(value) if quote is None else f"{value:.15g}")
        return "".join(found).rstrip()


def _accumulation(setup: Setup, layout: ParallelLayout) -> int:
    """Micro-batches of a step: those of the plan, and more until all replicas together work on whole groups of answers
    to one prompt, as TRL's GRPO asks for (trl-cli).
    """
    at_once = setup.batch_size * layout.data
    group = setup.generations // math.gcd(setup.generations, at_once)
    return math.ceil(setup.gradient_accumulation / group) * group


def _repository(entry: Entry, typed: str, *, serves: bool) -> str | None:
    """The repository on the Hub that was named, or else the entry's own: to serve the one that converses. None where
    none is known.
    """
    names = [alias for alias in entry.aliases if "/" in alias]
    if fold(typed) not in (fold(entry.id), fold(entry.name)):
        named = next((name for name in names if fold(typed) in (fold(name), fold(name.partition("/")[2]))), None)
        if named is not None:
            return named
    own = next(iter(names), None)
    return entry.data.get("converses", own) if serves else own


def _entry(consultation: Consultation) -> Entry | None:
    """The model's entry in the catalogue; None where it was given otherwise."""
    given = consultation.answers.model
    return consultation.knowledge.catalogue.models[given] if isinstance(given, str) else None


def _checkpoint(consultation: Consultation, number_format: str) -> str | None:
    """The repository on the Hub that has the model in a format made beforehand, where its entry knows one: the first,
    which is of the entry's own release; of another that was named, the one whose name goes on from it.
    """
    entry, model = _entry(consultation), _model(consultation)
    if entry is None or model is None:
        return None
    known = (str(text).split(maxsplit=1) for text in entry.data.get("checkpoints", ()))
    made = [repository for stored, repository in known if stored == number_format]
    if model != _repository(entry, entry.id, serves=True):
        made = [repository for repository in made if f"/{model.partition('/')[2]}-" in repository]
    return next(iter(made), None)


def _model(consultation: Consultation) -> str | None:
    """The model's name on the Hub, or its file or folder; None where neither is known."""
    given, entry = consultation.answers.model, _entry(consultation)
    if isinstance(given, str) and entry is not None:
        typed = consultation.answers.given.get("model")
        serves = not consultation.plans.work.setup.trains
        return _repository(entry, typed if isinstance(typed, str) else given, serves=serves)
    for key, path in (given if isinstance(given, Mapping) else {}).items():
        if key in ("gguf", "safetensors", "config", "diffusers") and isinstance(path, str):
            cached = _CACHED.search(path)
            if cached is not None:
                return "/".join(cached.groups())
            return path if key in ("gguf", "diffusers") else str(PurePath(path).parent)
    return None
