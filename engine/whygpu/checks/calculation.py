"""A worked figure: the formula, the numbers put in, the result. It is what a trace and a reader see of a check."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

Number: TypeAlias = "int | float"
Phase = Literal["training", "inference", "life", "sizing"]

_MEMORY = ("weights", "activations", "logits", "overhead", "total")
_MONEY = (
    *("usd_per_hour", "usd_power_per_hour", "usd_purchase", "usd_owning_per_hour", "break_even_months"),
    *("usd_per_month", "usd_per_million_tokens", "usd_total"),
)
CHECKS = MappingProxyType(
    {
        "training": frozenset(
            {
                *_MEMORY,
                *_MONEY,
                *("layer_activations", "gradients", "optimizer", "asleep", "kv_cache", "reused"),
                *("products", "attention", "products_s", "attention_s", "traffic_s"),
                *("compute_s", "step_s", "prepared_samples_per_s"),
                *("samples_per_s", "train_tokens_per_s", "train_hours"),
            }
        ),
        "inference": frozenset(
            {
                *_MEMORY,
                *_MONEY,
                *("kv_cache", "cache_of_layers", "states", "working_width", "reused"),
                *("further_cache_of_layers", "further_states", "model_weights", "adapter_weights", "draft_weights"),
                *("prefill_compute_s", "prefill_read_s", "prefill_moved_s", "prefill_s"),
                *("read_s", "compute_s", "moved_s", "token_s", "batch_s"),
                *("longest_prefill_s", "step_s", "speculative_gain"),
                *("ttft_ms", "token_ms", "tokens_per_s", "requests_per_s", "samples_per_s", "decoded_frames_per_s"),
                *("prepared_samples_per_s", "times_real_time", "train_hours"),
            }
        ),
        "life": frozenset(
            {
                *("trainings", "runs", "train_usd", "usd_per_month", "serve_usd", "usd_total"),
                *("serving_share", "equal_runs", "training_share", "train_machine_usd", "rented_train_usd"),
                *("same_usd_per_month", "same_serve_usd", "same_usd_total", "same_times"),
            }
        ),
        "sizing": frozenset(
            {
                *("usable_per_s", "needed", "replicas", "accelerators", "usd_per_month", "usd_per_million_tokens"),
                *("efficiency", "between_failures_hours", "interval_minutes", "lost_share"),
                *("days", "all_days", "accelerator_hours", "usd_total"),
            }
        ),
    }
)
"""Every figure that is computed, by phase, of a lifecycle or by sizing: ``kb/formulas.yaml`` says what it is."""
_NUMBER = re.compile(r"_\d+\Z")


@dataclass(frozen=True, slots=True)
class Range:
    """A figure with its uncertainty: low <= likely <= high, all in one unit (NaN throughout where it is not known)."""

    low: float
    likely: float
    high: float

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.likely + other.likely, self.high + other.high)

    def times(self, factor: float) -> Range:
        """The range scaled by a factor that is not negative."""
        return Range(self.low * factor, self.likely * factor, self.high * factor)


@dataclass(frozen=True, slots=True)
class Term:
    """One number put into a formula. `name` is the word the formula uses; `source` the reference ids, if it is a
    fact.
    """

    name: str
    value: float
    unit: str
    source: tuple[str, ...] = ()
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Calculation:
    """A figure and how it came about.

    `formula` is an arithmetic expression over the names of `terms` (`+ - * / **`, min, max, ceil), so that putting the
    terms in gives `value`; a term may be the result of an earlier calculation of the same name.
    """

    name: str
    formula: str
    terms: tuple[Term, ...]
    value: float
    unit: str
    sources: tuple[str, ...] = ()
    note: str = ""

    @property
    def check(self) -> str:
        """The figure's name without a number: groups of layers are computed one by one."""
        return _NUMBER.sub("", self.name)

    def as_term(self) -> Term:
        """This result as a term of the next formula."""
        return Term(self.name, self.value, self.unit, (), self.note)
