"""What the JSON of docs/reference/contract.md holds, as types: those who write it are checked against them, and
``whygpu schema`` is made from them. A record that is written as it is stands here as its own class.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from whygpu.explain.parts import Comparison, OpenQuestion, Reason, Relaxation, Status
from whygpu.explain.plan import AcceleratorName, Cost, Counted, Memory, Parallelism
from whygpu.explain.start import Start
from whygpu.trace import Fact, Step

SPARSE = "sparse"
"""Marks a record of which only what says something is written."""


class KnowledgeBaseJson(TypedDict):
    """Which knowledge base answered."""

    version: str
    hash: str


class RangeJson(TypedDict):
    """A figure with its uncertainty; null where it is not known."""

    low: float | None
    likely: float | None
    high: float | None


VerdictJson = TypedDict(
    "VerdictJson", {"criterion": str, "strength": str, "for": bool, "rules": list[str], "claims": list[str]}
)
ConflictJson = TypedDict("ConflictJson", {"criterion": str, "plan": str, "for": list[str], "against": list[str]})


class PlanJson(TypedDict):
    """One way to run the work. Memory is GiB per accelerator; speed and cost are of the whole plan."""

    id: str
    """Such as ``l4-x1-fp8``; ``--why-not`` takes it."""
    accelerator: AcceleratorName
    count: int
    """Accelerators."""
    nodes: int
    """Machines."""
    format: str
    kv_format: str | None
    """The number format of the key and value cache."""
    method: str | None
    """How it is trained; null in inference."""
    batch_size: int | None
    """Samples for one accelerator and step, where the plan chose it."""
    techniques: list[str]
    """What is applied."""
    parallelism: Parallelism
    memory: Memory
    speed: dict[str, RangeJson | None]
    """``ttft_ms``, ``token_ms``, ``tokens_per_s``, ``requests_per_s``, ``train_tokens_per_s``, ``samples_per_s``,
    ``frames_per_s`` (no more than decoders give), ``decoded_frames_per_s`` (of several camera streams),
    ``prepared_samples_per_s`` (images or sound that the host or the card's JPEG engine decodes), ``times_real_time``
    (seconds of sound a second), ``train_hours``; null where one does not apply.
    """
    cost: Cost | None
    """Null where no price is known."""
    unpriced: str | None
    """Why there is no cost."""
    verdicts: list[VerdictJson]
    owned: bool
    """Whether it runs on existing hardware."""
    rank: int | None
    """1 for the recommendation; plans that tie share a rank. Null where it is ruled out."""
    unverified: bool
    """Whether a limit could not be checked."""
    counted: Counted | None
    behind: str | None
    """What it lost by."""
    variants: NotRequired[list[PlanJson]]
    """Other plans on the same accelerator, without variants of their own."""


class AssumedJson(TypedDict):
    """A value taken where nothing was answered."""

    value: Any
    because: str


class PickJson(TypedDict):
    """A plan of the shortlist."""

    role: str
    """What it is the best at."""
    plan: PlanJson
    gains: str
    """What one gains by it, beside the recommendation."""
    gives_up: str
    """What one gives up."""


class ItemJson(TypedDict):
    """A piece of advice, a technique or a warning."""

    id: str
    topic: str
    text: str
    rules: list[str]
    claims: list[str]


class RejectionJson(TypedDict):
    """A plan that is ruled out, and every reason."""

    plan: PlanJson
    because: list[Reason]


class InfeasibleJson(TypedDict):
    """Why no plan is left, and what would allow one."""

    conflict: list[str]
    """The rules that leave no plan."""
    relaxations: list[Relaxation]
    """What would allow a plan."""
    least_bad: PlanJson | None
    """Where plans are left and none is sensible: the one that counts least."""


class PointJson(TypedDict):
    """One thing that a profile says."""

    text: str
    claims: list[str]


class ProfileJson(TypedDict):
    """What a phase is like."""

    phase: str
    title: str
    points: list[PointJson]


class TraceJson(TypedDict):
    """Every fact and step behind the plans shown."""

    facts: list[Annotated[Fact, SPARSE]]
    steps: list[Annotated[Step, SPARSE]]


class AdviceJson(TypedDict):
    """The answer to a consultation: ``kb-explain --format json``. A line of a batch may leave out what is optional."""

    schema: int
    """Counts incompatible versions: 1."""
    kb: KnowledgeBaseJson
    engine: str
    status: Status
    """``tied``: two or more plans within a tenth of each other."""
    answers: dict[str, Any]
    """What was answered, as given."""
    assumed: dict[str, AssumedJson]
    """By name."""
    recommendation: PlanJson | None
    alternatives: NotRequired[list[PlanJson]]
    """The other plans, one for each accelerator, best first."""
    shortlist: list[PickJson]
    rejected: NotRequired[list[RejectionJson]]
    techniques: list[ItemJson]
    advice: list[ItemJson]
    warnings: list[ItemJson]
    conflicts: NotRequired[list[ConflictJson]]
    """Rules that disagree about a plan by a criterion."""
    comparisons: NotRequired[list[Comparison]]
    """Two plans side by side where that decides something, such as buying against renting."""
    open: NotRequired[list[OpenQuestion]]
    """Unanswered questions."""
    infeasible: InfeasibleJson | None
    """Null where there is a recommendation."""
    start: NotRequired[list[Start]]
    """How each tool for such work starts the recommendation."""
    profile: NotRequired[ProfileJson | None]
    """What the phase is like."""
    trace: NotRequired[TraceJson]
    """The whole chain of reasoning."""


class TrainCostJson(TypedDict):
    """What training costs over the lifecycle; what is not known is null, and ``because`` says why."""

    usd_per_run: float | None
    """Of what is bought, and of what is owned, the power of a run."""
    trainings: float | None
    runs: float | None
    usd_total: float | None
    because: str | None


class ServeCostJson(TypedDict):
    """What serving costs over the lifecycle."""

    usd_per_month: float | None
    usd_total: float | None
    because: str | None


class SameHardwareJson(TypedDict):
    """What it costs to serve on the accelerator that trains."""

    plan: PlanJson | None
    usd_per_month: float | None
    serve_usd_total: float | None
    usd_total: float | None
    times: float | None
    because: str | None


class LifecycleCostJson(TypedDict):
    """The cost of both phases together."""

    service_months: float | None
    train: TrainCostJson
    serve: ServeCostJson
    usd_total: float | None
    serving_share: float | None
    equal_runs: float | None
    same_hardware: SameHardwareJson
    one_machine: Literal["train", "serve"] | None
    """The phase whose machine, which is bought, does the other's work too."""
    train_machine_usd: float | None
    """What is bought for training alone, which is part of ``usd_total`` of ``train``."""
    apart_usd_total: float | None
    """What both phases would cost with a machine for each, where one does both."""
    advice: list[ItemJson]
    warnings: list[ItemJson]
    trace: NotRequired[TraceJson]


class LifecycleJson(TypedDict):
    """The answer to a consultation about a lifecycle: answers with ``phases``."""

    schema: int
    kb: KnowledgeBaseJson
    engine: str
    status: Status
    answers: dict[str, Any]
    phases: list[AdviceJson]
    life_cost: LifecycleCostJson


class DecisionJson(TypedDict):
    """What was decided."""

    plan: str | None
    text: str
    price: str
    confidence: str | None
    usd_per_hour: float | None
    counted: float | None
    because: list[str]


class AlternativeJson(TypedDict):
    """Another option that was not chosen."""

    role: str
    plan: str
    text: str
    price: str


class NeedJson(TypedDict):
    """What is needed against what the plan gives."""

    needs: str
    gets: str
    status: str


WeightJson = TypedDict("WeightJson", {"for": bool, "worth": str, "says": str})


class RecordJson(TypedDict):
    """A decision record: ``kb-explain --record FILE``."""

    kind: Literal["whygpu decision record"]
    schema: int
    date: str
    kb: KnowledgeBaseJson
    engine: str
    life: str
    request: str
    answers: dict[str, Any]
    assumed: dict[str, Any]
    status: Status
    decision: DecisionJson
    alternatives: list[AlternativeJson]
    figures: dict[str, NeedJson]
    consequences: list[str]
    reasons: dict[str, WeightJson]
    sources: dict[str, str]


class ProblemJson(TypedDict):
    """Something wrong with the input, and where."""

    file: str
    line: int
    column: int
    end_column: int
    code: str
    severity: Literal["error", "warning"]
    message: str
    help: str | None
    snippet: str | None
    text: str


class ErrorJson(TypedDict):
    """What a command writes to standard error where the input is bad and ``--format json`` is asked for."""

    error: list[ProblemJson]
