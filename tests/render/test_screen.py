"""The one screen: how long and how wide it is, what it says, and texts that are kept to be read."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.render.cases import CASES, GOLDEN, LIFE, TODAY, WIDTHS
from tests.render.write_golden import screen
from whygpu.explain.flips import price_flips
from whygpu.render.lifecycle import LifeRenderer
from whygpu.render.screen import Screen
from whygpu.render.view import view_of
from whygpu.render.view.lists import flips
from whygpu.render.view.model import ItemRow, View
from whygpu.render.view.questions import why_not_sections
from whygpu.render.view.rivals import handling_tells, money_with_handling
from whygpu.render.view.words import Words

if TYPE_CHECKING:
    import whygpu


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_a_screen_keeps_to_its_width_and_its_lines(views: dict[str, View], name: str, width: int) -> None:
    lines = Screen(width=width).render(views[name]).splitlines()
    assert max(map(len, lines)) <= width
    if width >= 100:
        assert len(lines) <= 40


@pytest.mark.parametrize("name", CASES)
def test_a_screen_says_what_to_take_why_what_it_lacks_and_what_would_change_it(
    views: dict[str, View], name: str
) -> None:
    view = views[name]
    text = Screen(width=100).render(view)
    if view.headline.confidence is None:
        number = len(view.trouble.repairs if view.trouble else ())
        assert 1 <= number <= 3
        assert ("ANY ONE OF THESE CHANGES" if number > 1 else "THIS CHANGE") + " ALLOWS A PLAN" in text
        return
    assert "\nTAKE " in text
    assert view.headline.confidence.upper() in text
    for word in ("BECAUSE", "needs", "WHY", "ASSUMED"):
        assert word in text
    assert ("\nBUT " in text) == bool(view.but), "a plan that nothing speaks against has none"
    assert text.count("\n> ") == (1 if len(view.shortlist) > 1 else 0)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("width", WIDTHS)
def test_a_screen_reads_as_it_was_read(views: dict[str, View], name: str, width: int) -> None:
    """Where this fails on purpose: ``python -m tests.render.write_golden``, then read the difference."""
    assert screen(views[name], width) == (GOLDEN / f"{name}-{width}.txt").read_text(encoding="utf-8")


def test_a_life_is_at_most_55_lines(kb: whygpu.KnowledgeBase) -> None:
    advice = kb.advise_lifecycle(LIFE, engine="evaluator", today=TODAY)
    for width in (100, 120):
        renderer = LifeRenderer(width=width)
        lines = renderer.render(advice).splitlines()
        assert len(lines) <= 55
        assert max(map(len, lines)) <= width


def test_every_limit_is_told(kb: whygpu.KnowledgeBase) -> None:
    asked = {"requests_per_second": 100, "latency_ms": 200, "token_latency_ms": 15, "criticality": "mission-critical"}
    load = {"context_tokens": 1500, "output_tokens": 150}
    advice = kb.advise({"model": "llama-3.1-8b", "phase": "inference", **load, **asked}, today=TODAY)
    text = Screen(width=100).render(view_of(advice))
    for limit in ("at least 100 requests/s", "at most 200 ms", "at most 15 ms"):
        assert limit in text


def test_a_tipping_point_is_no_value_at_which_nothing_tips(kb: whygpu.KnowledgeBase) -> None:
    """A Jetson of 15 W stays the answer at a limit of 15 W, and is out below it."""
    answers = {"model": "gemma-3-4b", "phase": "inference", "concurrency": 1, "deployment": "edge", "power_watts": 25}
    advice = kb.advise(answers, today=TODAY)
    tight = kb.advise({**answers, "power_watts": 15}, today=TODAY)
    assert tight.recommendation is not None
    assert advice.recommendation is not None
    assert tight.recommendation.label == advice.recommendation.label
    assert "power_watts below 15.0 W (now 25 W)" in Screen(width=100).render(view_of(advice))


def test_what_others_wrote_does_not_reach_the_terminal_as_commands(kb: whygpu.KnowledgeBase) -> None:
    model = {"parameters": "8B", "name": "evil\x1b[2J\x07\u202emodel"}
    advice = kb.advise({"model": model}, engine="evaluator", today=TODAY)
    text = Screen(width=100).render(view_of(advice))
    assert "model" in text.splitlines()[0]
    assert not {"\x1b", "\x07", "\u202e"} & set(text)


def test_a_view_marks_what_was_assumed(views: dict[str, View]) -> None:
    assert "cloud?" in views["chat"].request.text
    assert "production," in views["chat"].request.text
    assert "production?" not in views["chat"].request.text


def test_what_every_such_work_is_told_comes_last(views: dict[str, View]) -> None:
    items: tuple[ItemRow, ...] = views["chat"].items
    assert any(item.general for item in items)
    assert [item.general for item in items] == sorted(item.general for item in items)


@pytest.mark.parametrize(("card", "seen"), [("a100-sxm-80gb", True), ("mi300x", False)])
def test_what_was_never_measured_is_a_rough_estimate(kb: whygpu.KnowledgeBase, card: str, seen: bool) -> None:
    advice = kb.advise({"model": "llama-3.1-8b", "phase": "inference", "accelerators": [card], "runtime": "vllm"})
    headline = view_of(advice).headline
    assert ("no measurement covers" in headline.why) != seen
    assert seen or headline.confidence == "rough estimate"


def test_a_request_says_how_long_a_clip_is_and_how_large(kb: whygpu.KnowledgeBase) -> None:
    """Without an answer it is the model's own size, with a question mark: the time goes with it."""
    clip = {"phase": "inference", "task": "image-generation", "model": "wan2.2-t2v-a14b", "deployment": "cloud"}
    asked = view_of(kb.advise({**clip, "resolution": "1280x720"}, engine="evaluator", today=TODAY)).request.text
    assert "81 frames of 1280x720," in asked
    assert "81 frames of 0.4 megapixels?" in view_of(kb.advise(clip, engine="evaluator", today=TODAY)).request.text
    changed = Words(kb.consult({**clip, "resolution": "832x480"}, engine="evaluator", today=TODAY))
    assert changed.change({"resolution": "1280x720"}) == "resolution 1280x720 instead of 832x480"
    picture = view_of(kb.advise({**clip, "model": "flux.1-dev"}, engine="evaluator", today=TODAY)).request.text
    assert "1024 pixels a side?" in picture
    assert "frames" not in picture


@pytest.mark.parametrize(("model", "side"), [("dinov2-large", 224), ("resnet-50", 224), ("yolo11m", 640)])
def test_a_request_says_which_images_a_model_is_trained_on(kb: whygpu.KnowledgeBase, model: str, side: int) -> None:
    """The model's own size, where nothing else was answered: the hours go with it."""
    run = {"phase": "training", "model": model, "dataset_samples": 100_000}
    assert f"{side} pixels a side?" in view_of(kb.advise(run, engine="evaluator", today=TODAY)).request.text
    asked = view_of(kb.advise({**run, "resolution": "256x256"}, engine="evaluator", today=TODAY)).request.text
    assert "256x256" in asked or "256 pixels a side," in asked
    assert str(side) not in asked


def test_no_plan_is_said_to_cost_less_whose_handling_makes_it_cost_more(kb: whygpu.KnowledgeBase) -> None:
    """A job of minutes: on the dearer card its hours cost less, with the hour before and after it they do not."""
    asked = {"phase": "fine-tuning", "method": "lora", "task": "image-generation", "model": "flux.1-dev"}
    advice = kb.advise(
        {**asked, "dataset_samples": 3000, "epochs": 1, "ecosystem": "cuda"}, engine="evaluator", today=TODAY
    )
    assert advice.recommendation is not None
    best = advice.recommendation
    dearer = [
        pick.plan
        for pick in advice.shortlist
        if pick.plan.cost
        and best.cost
        and (pick.plan.cost.compared.usd_total or 0) < (best.cost.compared.usd_total or 0)
    ]
    assert dearer, "nothing on the shortlist costs less an hour: ask for a smaller job"
    said = " ".join(sentence.text for sentence in view_of(advice).but)
    assert not any(f"{plan.accelerator.name} BF16 with LoRA would cost less" in said for plan in dearer)


def test_where_the_hour_to_set_it_up_decides_that_is_said(kb: whygpu.KnowledgeBase) -> None:
    """A dearer accelerator would be done sooner and for less; an hour of it before the job turns that around."""
    asked = {"phase": "fine-tuning", "method": "lora", "task": "image-generation", "model": "flux.1-dev"}
    advice = kb.advise(
        {**asked, "dataset_samples": 3000, "epochs": 1, "ecosystem": "cuda"}, engine="evaluator", today=TODAY
    )
    best = advice.recommendation
    assert best is not None
    turned = [pick.plan for pick in advice.shortlist if handling_tells(best, pick.plan)]
    assert turned, "nothing on the shortlist costs less without that hour: ask for a smaller job"
    for plan in turned:
        sections = why_not_sections(advice, plan.accelerator.id, advice.why_not(plan.id))
        said = [line.text for section in sections for line in section.lines]
        costs = f"{money_with_handling(plan)} against {money_with_handling(best)}"
        assert f"With the time to set it up and look after it, it costs {costs}." in said


def test_two_prices_that_differ_are_written_differently(kb: whygpu.KnowledgeBase) -> None:
    consultation = kb.consult({"phase": "inference", "model": "llama-3.1-8b"}, engine="evaluator", today=TODAY)
    first = price_flips(consultation)[0]
    for times in (1.002, 1.0002):
        (row,) = flips((replace(first, before=0.6, after=0.6 * times),), (), Words(consultation))
        after, before = re.findall(r"\$([\d.]+)", row.change)
        assert float(after) > float(before)


def test_power_and_a_purchase_are_both_told_by_the_month(kb: whygpu.KnowledgeBase) -> None:
    service = {"phase": "inference", "model": "deepseek-v3.2", "concurrency": 64, "context_tokens": 32_000}
    view = view_of(kb.advise({**service, "owned": "8x H100 SXM"}, engine="evaluator", today=TODAY))
    (costs,) = [sentence.text for sentence in view.because if sentence.text.startswith("It costs ")]
    assert re.match(r"It costs \$[\d,.]+ a month for power against \$[\d,.]+ a month to own for ", costs)


def test_no_price_is_named_that_the_budget_rules_out(kb: whygpu.KnowledgeBase) -> None:
    """Another card would win at three times the price, but the budget ends the plan before."""
    run = {"phase": "training", "model": {"parameters": "1.5B"}, "dataset_tokens": 1e11, "accelerators": ["h100"]}

    def dearest(**budget: float) -> float:
        found = kb.consult({**run, "price_kinds": ["spot", "on-demand"], **budget}, engine="evaluator", today=TODAY)
        (own,) = [item for item in price_flips(found) if item.after > item.before]
        assert own.plan.cost is not None
        assert own.plan.cost.usd_total is not None
        return own.plan.cost.usd_total * own.after / own.before

    assert dearest(budget_total=5_000) == pytest.approx(5_000)
    assert 5_000 < dearest(budget_total=20_000) < 20_000


def test_what_costs_less_is_told_of_once_for_each_card(kb: whygpu.KnowledgeBase) -> None:
    """The reasons say why not four cards that cost less; eight of them were held against the recommendation."""
    run = {"phase": "training", "task": "vision", "model": "vit-l-16", "dataset_samples": 1281167, "epochs": 90}
    view = view_of(kb.advise({**run, "deadline_hours": 16, "batch_size": 64}, engine="evaluator", today=TODAY))
    cheaper = [sentence.text for sentence in view.because if " costs less, " in sentence.text]
    assert cheaper, "nothing costs less than the recommendation: ask for a job with another deadline"
    card = cheaper[0].partition("x ")[2].partition(" BF16")[0]
    assert not any(f"{card} BF16" in sentence.text and "would cost less" in sentence.text for sentence in view.but)


def test_what_would_cost_less_is_said_with_what_keeps_it_back(kb: whygpu.KnowledgeBase) -> None:
    asked = {"phase": "inference", "model": "qwen2.5-32b", "format": "int8", "concurrency": 1}
    view = view_of(kb.advise(asked, engine="evaluator", today=TODAY))
    (said,) = (sentence.text for sentence in view.but if "would cost less" in sentence.text)
    assert ". Against it: " in said or " only: " in said


def test_what_is_easier_to_get_is_said_with_who_rents_it(kb: whygpu.KnowledgeBase) -> None:
    """It said how much of the memory stayed free, which nobody chooses a card for that is easy to get."""
    job = {"model": "llama-2-7b", "batch_size": 4, "sequence_tokens": 4096, "dataset_tokens": 1e11, "max_nodes": 16}
    asked = {"phase": "training", **job, "deadline_hours": 504, "criticality": "production"}
    advice = kb.advise(asked, engine="evaluator", today=TODAY)
    (easiest,) = (pick for pick in advice.shortlist if pick.role == "easiest-to-get")
    providers: Any = advice.consultation.plans.environment.value("plan.providers")
    recommended = advice.recommendation
    assert recommended is not None
    more, usual = (int(providers.low[plan.index]) for plan in (easiest.plan, recommended))
    assert more > usual
    said = [sentence.text for sentence in view_of(advice).but]
    assert any(f"would be easier to get: {more} providers rent it out instead of {usual}." in text for text in said)


def test_that_nobody_rents_so_many_is_said(kb: whygpu.KnowledgeBase) -> None:
    """Nothing was: there is no plan that a rule could have rejected."""
    asked = {"phase": "training", "model": "gpt2", "accelerators": ["tpu-v5e"], "count": 3}
    trouble = view_of(kb.advise(asked, engine="evaluator", today=TODAY)).trouble
    assert trouble is not None
    (said,) = (sentence.text for sentence in trouble.conflict)
    assert "slices are of 1, 4, 8," in said


def test_what_speaks_against_the_least_bad_is_true_of_it(kb: whygpu.KnowledgeBase) -> None:
    """Other plans are gaming cards: it was said of one MI350X as well."""
    asked = {"phase": "inference", "model": "llama-3.1-405b", "concurrency": 10, "criticality": "production"}
    advice = kb.advise({**asked, "budget_per_hour": 5}, engine="evaluator", today=TODAY)
    assert advice.infeasible is not None
    least_bad = advice.infeasible.least_bad
    assert least_bad is not None
    fired = advice.consultation.plans.fired
    assert not all(fired[rule][least_bad.index] for rule in advice.infeasible.conflict)
    trouble = view_of(advice).trouble
    assert trouble is not None
    assert trouble.conflict
    assert all(fired[str(said.evidence.rule)][least_bad.index] for said in trouble.conflict if said.evidence)


def test_more_money_for_what_was_called_bad_is_no_repair(kb: whygpu.KnowledgeBase) -> None:
    """A larger budget let in better plans, and the processor at two thirds of a second a token counted least still."""
    asked = {"phase": "inference", "model": "deepseek-v3.2", "concurrency": 4, "deployment": "on-prem"}
    answers = {**asked, "criticality": "development", "budget_total": 20_000}
    advice = kb.advise(answers, engine="evaluator", today=TODAY)
    assert advice.infeasible is not None
    least_bad = advice.infeasible.least_bad
    assert least_bad is not None
    trouble = view_of(advice).trouble
    assert trouble is not None
    assert trouble.repairs
    assert all(least_bad.label not in repair.plan for repair in trouble.repairs)


def test_output_without_a_context_is_no_part_of_one(kb: whygpu.KnowledgeBase) -> None:
    run = {"phase": "fine-tuning", "model": "llama-3.1-8b", "algorithm": "grpo", "dataset_samples": 1000}
    said = view_of(kb.advise({**run, "output_tokens": "2k"}, engine="evaluator", today=TODAY)).request.text
    assert "2,000 tokens of output" in said
    asked = {"phase": "inference", "model": "llama-3.1-8b", "context_tokens": 4096, "output_tokens": 256}
    assert "256 of them output" in view_of(kb.advise(asked, engine="evaluator", today=TODAY)).request.text


def test_a_rule_that_speaks_by_two_criteria_says_which(kb: whygpu.KnowledgeBase) -> None:
    """Two lines that read alike would look like one reason told twice."""
    answers = {"model": "llama-3.3-70b", "concurrency": 1, "context_tokens": 8192, "deployment": "workstation"}
    owned = {"criticality": "personal", "owned": [{"accelerator": "rtx-3090", "count": 2}]}
    view = view_of(kb.advise({"phase": "inference", **answers, **owned}, engine="evaluator", today=TODAY))
    titles = [(row.title, row.about) for row in view.reasons]
    assert len(set(titles)) == len(titles)
    assert {"Speed does not help where memory is short (memory)"} <= {title for title, _ in titles}


def test_a_batch_job_is_not_said_to_have_a_number_of_requests_that_no_plan_takes(kb: whygpu.KnowledgeBase) -> None:
    """Each plan takes as many at once as it holds (its micro-batch), unless the number was answered."""
    job = {"phase": "batch-inference", "model": "qwen3-32b", "dataset_samples": 10_000, "accelerators": ["h100-sxm"]}
    free, asked = (
        view_of(kb.advise(answers, engine="evaluator", today=TODAY)).request.text
        for answers in (job, {**job, "concurrency": 16})
    )
    assert "at once" not in free
    assert "16 requests at once" in asked


def test_a_rate_is_not_said_to_have_a_number_of_requests_that_no_plan_takes(kb: whygpu.KnowledgeBase) -> None:
    """Each plan has as many at once as the rate brings while it answers one, unless the number was answered."""
    work = {"phase": "inference", "model": "qwen3-32b", "requests_per_second": 3, "accelerators": ["h100-sxm"]}
    free, asked = (
        view_of(kb.advise(answers, engine="evaluator", today=TODAY)).request.text
        for answers in (work, {**work, "concurrency": 16})
    )
    assert "at once" not in free
    assert "16 requests at once" in asked


def test_a_rent_for_more_than_is_used_says_so(kb: whygpu.KnowledgeBase) -> None:
    """AWS rents A100 by the eight (aws-p4d-24xlarge-eu-central-1); four of them cost as much."""
    answers = {"phase": "inference", "model": "llama-3.3-70b", "concurrency": 20, "accelerators": ["a100-sxm-40gb"]}
    answers |= {"providers": ["aws"], "regions": ["eu-central-1"]}
    texts = {
        count: Screen(width=100).render(
            view_of(kb.advise({**answers, "count": count}, engine="evaluator", today=TODAY))
        )
        for count in (4, 8)
    }
    assert "an hour for a machine of 8, of which it uses 4, $" in texts[4]
    assert "of which it uses" not in texts[8]


def test_a_purchase_of_more_than_is_used_says_so(kb: whygpu.KnowledgeBase) -> None:
    """MI300X are sold by the board of eight: one was 186,200 dollars "to buy"."""
    answers = {"phase": "inference", "model": "mistral-large-2", "concurrency": 10, "deployment": "on-prem"}
    texts = {
        count: Screen(width=100).render(
            view_of(kb.advise({**answers, "accelerators": ["mi300x"], "count": count}, engine="evaluator", today=TODAY))
        )
        for count in (1, 8)
    }
    assert " to buy 8 (whole boards), machine included" in texts[1]
    assert "whole boards" not in texts[8]


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (
            {"model": "yolo11m", "method": "qlora"},
            "QLoRA keeps the frozen weights in 4 or 8 bits, and for YOLO11m only BF16 is left.",
        ),
        ({"model": "llama-3.1-8b", "method": "lora", "format": "nf4"}, "Only QLoRA trains beside weights in NF4."),
    ],
)
def test_a_method_that_no_format_is_left_for_is_named(
    kb: whygpu.KnowledgeBase, answers: dict[str, str], said: str
) -> None:
    advice = kb.advise({"phase": "fine-tuning", "dataset_samples": 1000, **answers}, engine="evaluator", today=TODAY)
    trouble = view_of(advice).trouble
    assert trouble is not None
    assert [sentence.text for sentence in trouble.conflict] == [said]
