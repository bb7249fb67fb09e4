"""Changes of the answers that let an owned card do the work before another one is bought."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import whygpu


def test_a_smaller_micro_batch_lets_an_owned_card_train(kb: whygpu.KnowledgeBase) -> None:
    """runpod-03: when training runs out of memory, cut the batch; gradient accumulation keeps the step."""
    work = {"phase": "fine-tuning", "model": "vit-l-16", "method": "full", "dataset_samples": 50_000, "epochs": 10}
    given = {**work, "deployment": "workstation", "owned": "1x RTX 4080", "batch_size": 256}
    advice = kb.advise(given, engine="evaluator")
    assert advice.recommendation is not None
    assert not advice.recommendation.owned
    said = " ".join(item.text for item in (*advice.warnings, *advice.advice))
    assert "batch_size = 128, gradient_accumulation = 2 would allow it" in said
    smaller = kb.advise({**given, "batch_size": 128, "gradient_accumulation": 2}, engine="evaluator").recommendation
    assert smaller is not None
    assert smaller.owned


def test_a_provider_that_asks_less_lifts_a_budget(kb: whygpu.KnowledgeBase) -> None:
    """A budget is held against the median; what the cheapest asks may be within it (runpod-67)."""
    work = {"phase": "inference", "model": "internlm2.5-20b", "quantization": "forbidden", "concurrency": 1}
    given = {**work, "deployment": "cloud", "context_tokens": 4096, "budget_per_hour": 1.2}
    advice = kb.advise(given, engine="evaluator")
    why, *_ = advice.why_not("L40S")
    assert why.fix is not None
    assert tuple(why.fix) == ("providers",)
    after = kb.consult({**given, **why.fix}, engine="evaluator").plans
    l40s = list(kb.knowledge.catalogue.accelerators).index("l40s")
    assert (after.alive & (after.plan_set.card == l40s)).any()
