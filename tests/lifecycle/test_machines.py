"""Where hardware is bought: what it costs counts in every month, and one machine does both phases where it can."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

import whygpu
from whygpu.render.lifecycle import LifeRenderer

TODAY = date(2026, 11, 21)
TRAIN = {"phase": "fine-tuning", "method": "qlora", "dataset_tokens": "15M", "training_runs": 5, "retrain_months": 6}
SERVE = {"concurrency": 12, "context_tokens": 8192, "output_tokens": 400}
BOUGHT: dict[str, Any] = {
    "phases": {"train": TRAIN, "serve": SERVE},
    "model": "qwen2.5-32b",
    "service_months": 24,
    "deployment": "on-prem",
    "criticality": "production",
}


def lived(kb: whygpu.KnowledgeBase, train: dict[str, Any], serve: dict[str, Any], **more: Any) -> Any:
    answers = BOUGHT | more | {"phases": {"train": TRAIN | train, "serve": SERVE | serve}}
    return kb.advise(answers, engine="evaluator", today=TODAY)


def test_it_trains_on_the_machine_that_is_bought_to_serve(kb: whygpu.KnowledgeBase) -> None:
    found = lived(kb, {}, {})
    train, serve = (advice.recommendation for advice in found.phases)
    assert found.machines.both == "serve"
    assert train.owned
    assert train.accelerator == serve.accelerator
    assert train.count <= serve.count
    assert found.cost.train_usd == pytest.approx(20 * train.cost.usd_total)  # power
    assert found.cost.usd_total < found.apart_cost.usd_total
    alone = {key: value for key, value in BOUGHT.items() if key != "phases"}
    apart: Any = kb.advise(alone | TRAIN, engine="evaluator", today=TODAY).recommendation
    assert found.apart_cost.train_machine_usd == pytest.approx(apart.cost.buying.usd_purchase)
    life = found.to_dict()["life_cost"]
    assert (life["one_machine"], life["apart_usd_total"]) == ("serve", pytest.approx(found.apart_cost.usd_total))


@pytest.mark.parametrize("serve", [{}, {"accelerators": ["L4"]}])
def test_each_run_has_one_price(kb: whygpu.KnowledgeBase, serve: dict[str, Any]) -> None:
    """What the text says of each, and the JSON, is what the sum was made of."""
    found = lived(kb, {}, serve)
    life = found.to_dict()["life_cost"]["train"]
    runs = found.cost.train_usd - (found.cost.train_machine_usd or 0)
    assert life["runs"] * life["usd_per_run"] == pytest.approx(runs)
    assert " of power each" in LifeRenderer(width=100).render(found)
    assert found.cost.equal_runs is None


def test_a_machine_that_only_trains_counts_whole(kb: whygpu.KnowledgeBase) -> None:
    found = lived(kb, {"method": "full", "accelerators": ["A100 SXM4 80GB"]}, {"accelerators": ["L40S"]})
    assert found.machines.both is None
    bought = found.train.recommendation.cost.buying
    assert found.cost.train_machine_usd == pytest.approx(bought.usd_purchase)  # written off over the 24 months
    assert found.cost.usd_total > bought.usd_purchase
    assert found.to_dict()["life_cost"]["train_machine_usd"] == pytest.approx(found.cost.train_machine_usd)
    text = LifeRenderer(width=100).render(found)
    assert "what is bought for it, and for nothing else" in text
    assert "as much as the serving" not in text


def test_half_the_months_are_half_of_a_machine_with_other_work(kb: whygpu.KnowledgeBase) -> None:
    """Who says that it is used for longer has other work for it; where nobody does, its price is the service's."""
    where = {"method": "full", "accelerators": ["A100 SXM4 80GB"], "deployment": "on-prem"}
    answers = {key: value for key, value in BOUGHT.items() if key not in ("service_months", "deployment")}
    shares = []
    for months in ({}, {"service_months": 48}):
        serve = SERVE | {"service_months": 24, "deployment": "on-prem", "accelerators": ["L40S"]}
        found: Any = kb.advise_lifecycle(
            answers | {"phases": {"train": TRAIN | where | months, "serve": serve}}, engine="evaluator"
        )
        shares.append(found.cost.train_machine_usd / found.train.recommendation.cost.buying.usd_purchase)
    assert shares == pytest.approx([1, 0.5])


def test_what_serves_must_have_the_time(kb: whygpu.KnowledgeBase) -> None:
    """A thousand runs of hours each half year leave no machine to serve with."""
    found = lived(kb, {"training_runs": 1000}, {})
    assert found.machines.both is None
    assert found.cost.training_share > 0.25


def test_the_best_of_those_that_do_both_is_bought(kb: whygpu.KnowledgeBase) -> None:
    """The cheapest card to serve has no room to train, and one bought to train is not the best at both."""
    answers = {
        "phases": {
            "train": {"method": "lora", "dataset_tokens": "5M", "training_runs": 3, "retrain_months": 3},
            "serve": {"concurrency": 2},
        },
        "model": "qwen3-14b",
        "service_months": 24,
        "deployment": "workstation",
    }
    found: Any = kb.advise_lifecycle(answers, engine="evaluator", today=TODAY)
    assert found.machines.both == "serve"
    bought = found.serve.recommendation.accelerator
    assert bought not in [advice.recommendation.accelerator for advice in found.apart.advice]
    assert found.train.recommendation.accelerator == bought


def test_what_is_bought_to_train_serves_where_only_it_can_train(kb: whygpu.KnowledgeBase) -> None:
    train = {"method": "full", "offload": "none", "accelerators": ["A100 SXM4 80GB"]}
    found = lived(kb, train, {"accelerators": ["L40S", "A100 SXM4 80GB"]})
    assert found.machines.both == "train"
    purchase = found.train.recommendation.cost.buying.usd_purchase
    power = found.serve.recommendation.cost.usd_per_month
    assert found.cost.usd_per_month == pytest.approx(purchase / 24 + power)
    assert {"one-machine", "rent-the-training"} <= {item.id for item in found.advice}


def test_nothing_is_shared_where_it_is_rented_or_owned(kb: whygpu.KnowledgeBase) -> None:
    rented = lived(kb, {}, {}, deployment="cloud")
    owned = lived(kb, {}, {}, owned=[{"accelerator": "RTX PRO 6000 Max-Q", "count": 1}])
    for found in (rented, owned):
        assert (found.machines.both, found.apart, found.cost.train_machine_usd) == (None, None, None)
        assert found.cost.equal_runs is not None
    run = rented.train.recommendation.cost
    assert rented.cost.train_usd == pytest.approx(20 * run.usd_total)


def test_a_job_on_a_data_set_is_paid_once_a_month(kb: whygpu.KnowledgeBase) -> None:
    """A job of 16 hours was billed day and night for a year: $79,497 for one of $149."""
    train = {"phase": "fine-tuning", "dataset_tokens": 2e9}
    serve = {"phase": "batch-inference", "dataset_samples": 5e6, "deadline_hours": 24}
    answers: dict[str, Any] = {"model": "llama-3.2-1b", "phases": {"train": train, "serve": serve}}
    answers["service_months"] = 12
    found = kb.advise_lifecycle(answers, engine="evaluator", today=TODAY)
    plan, cost = found.serve.recommendation, found.cost
    assert plan is not None
    assert plan.cost is not None
    assert cost is not None
    assert plan.cost.usd_total is not None
    assert cost.serve_usd == pytest.approx(12 * plan.cost.usd_total)
    assert "one job in each" in LifeRenderer(width=100).render(found)


def test_a_machine_that_is_bought_for_such_jobs_counts_whole(kb: whygpu.KnowledgeBase) -> None:
    """A purchase of $20,803 came to $763 where its hours were those of a job a month."""
    train = {"phase": "fine-tuning", "dataset_tokens": 2e9}
    serve = {"phase": "batch-inference", "dataset_samples": 5e6, "deadline_hours": 24}
    answers: dict[str, Any] = {"model": "llama-3.2-1b", "phases": {"train": train, "serve": serve}}
    found = kb.advise_lifecycle(
        answers | {"deployment": "on-prem", "service_months": 12}, engine="evaluator", today=TODAY
    )
    plan: Any = found.serve.recommendation
    assert plan.cost.basis == "buying"
    assert found.cost is not None
    assert found.cost.serve_usd is not None
    assert found.cost.serve_usd >= plan.cost.buying.usd_purchase
