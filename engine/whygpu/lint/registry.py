"""The lint checks by code: what loading lets through and an author should still look at.

Most are warnings; what would make answers wrong is an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from whygpu.errors import Problem
from whygpu.lint import accelerators, diagnoses, facts, prices, rules, tables, use

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from whygpu.errors import Severity
    from whygpu.knowledge.base import Knowledge
    from whygpu.lint.finding import Finding


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to look for."""

    code: str
    meaning: str
    find: Callable[..., Iterable[Finding]]
    """Takes the knowledge base, and the day where that matters."""
    severity: Severity = "warning"
    of_day: bool = False


CHECKS = (
    Check("no-test", "a rule that no test makes fire", rules.untested),
    Check("unnamed-verdict", "a rule whose verdicts no test of it names", rules.unnamed_verdicts, "error"),
    Check("unsatisfiable", "conditions that can never hold together", rules.unsatisfiable),
    Check("duplicate-condition", "a condition written twice in one rule", rules.repeated),
    Check("implied-condition", "a condition that another one of the rule already implies", rules.implied),
    Check("idle-override", "an override of a rule that never fires together with it", rules.idle_overrides),
    Check("rewards-more-cards", "a preference for plans because they need several cards", rules.rewards_more_cards),
    Check("unbounded-count", "a preference for a card, however many of it are needed", rules.unbounded_count),
    Check("no-such-value", "a comparison with a word that nothing in the catalogues has", rules.no_such_value),
    Check("table-gap", "values that no row of a table covers", tables.gaps),
    Check("table-redundant", "a row of a table that another one already says", tables.redundant),
    Check("table-shadowed", "a row of a first-hit table that can never be reached", tables.shadowed),
    Check("open-flag", "a flag that is unknown where no rule concludes it", use.open_flags),
    Check("unread-conclusion", "a name that is concluded and never read", use.unread_conclusions),
    Check("unread-value", "a value that is computed and never read", use.unread_values),
    Check("unused-name", "a name that nothing uses", use.unused_names),
    Check("unused-source", "a reference that nothing cites", use.unused_sources),
    Check("uncited-claim", "a claim that no rule, fact, formula, question or table cites", use.uncited_claims),
    Check("no-formula", "a figure that is computed and that no formula explains", use.unexplained_checks, "error"),
    Check("unsigned-cause", "a cause that no rule diagnoses", diagnoses.unsigned_causes),
    Check("no-measure", "a figure that signs rest on and nothing says how to measure", diagnoses.unmeasured_figures),
    Check("idle-measure", "how a figure is measured that no sign rests on", diagnoses.idle_measures),
    Check("no-profile", "a phase that no profile describes", use.missing_profiles),
    Check("no-such-model", "a model assumed for an open question that no preset is", facts.missing_models),
    Check("bad-model", "a model whose figures do not go together", facts.bad_models),
    Check("high-rate", "a rate too high for its neighbours: sparse for dense?", accelerators.high_rates, "error"),
    Check("high-bandwidth", "a bandwidth too high for its neighbours: bits?", accelerators.high_bandwidths, "error"),
    Check("high-link", "a link too fast for its neighbours: bits for bytes?", accelerators.high_links, "error"),
    Check("odd-memory", "usable memory that does not go with the marketed", accelerators.odd_memory, "error"),
    Check("shared-alias", "a name that cards of two families claim", accelerators.shared_aliases, "error"),
    Check("far-price", "a price far from what others ask for the same card", prices.far_prices),
    Check("stale-price", "prices that are old or undated", prices.stale_prices, of_day=True),
    Check("no-price", "accelerators without a known price", prices.unpriced),
)


def lint(knowledge: Knowledge, today: date | None = None) -> Iterator[Problem]:
    """Every finding about a knowledge base that loads, as of a day."""
    for item in CHECKS:
        subject = (knowledge, today or date.today()) if item.of_day else (knowledge,)
        for location, message, help_text in item.find(*subject):
            yield Problem(item.code, message, location, help_text, severity=item.severity)
