"""The benchmark of recommendations where it can be tried without the panel: judgement, workloads, sweeps, page."""

from __future__ import annotations

import datetime
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from benchmarks.accuracy.subjects import Subjects
from benchmarks.recommendations import __main__ as command
from benchmarks.recommendations import experts, panel, report, stability, strips, sweeps
from benchmarks.recommendations.panel import Answer, Choice, Label, Pattern, judge

import whygpu
from whygpu.errors import AnswerError

pytestmark = pytest.mark.slow

L4 = Choice("l4", "L4", "data-centre", 1, 1, "fp8", False, 0.8, None)
GEFORCE = Choice("rtx-3090", "RTX 3090", "consumer", 8, 2, "int8", False, 1.7, 34.0)
LABEL = Label(
    "chat",
    "Eight people chat",
    {"model": "llama-3.1-8b"},
    (Pattern(families=frozenset({"L4"}), least=1, most=2),),
    (Pattern(kinds=frozenset({"consumer"})), Pattern(least=5), Pattern(nodes_min=2)),
    (0.2, 1.0),
    None,
    "13 GB a token",
)


@pytest.fixture(scope="module")
def kb() -> whygpu.KnowledgeBase:
    return whygpu.load()


def answer(*plans: Choice, status: str = "recommended", shortlist: tuple[Choice, ...] = ()) -> Answer:
    return Answer(status, plans, shortlist)


def test_family_and_count_decide_what_is_acceptable() -> None:
    assert judge(LABEL, answer(L4)).acceptable
    assert judge(LABEL, answer(replace(L4, count=2))).acceptable
    assert not judge(LABEL, answer(replace(L4, count=3))).acceptable
    assert not judge(LABEL, answer(replace(L4, family="T4"))).acceptable


@pytest.mark.parametrize(
    ("choice", "embarrassing"),
    [
        (GEFORCE, True),
        (replace(L4, count=5), True),
        (replace(L4, count=4), False),
        (replace(L4, count=4, nodes=2), True),
        (replace(L4, nodes=2), False),  # what is listed as acceptable is no embarrassment
        (replace(L4, family="T4"), False),  # in neither list
    ],
)
def test_what_is_listed_as_unacceptable_embarrasses(choice: Choice, embarrassing: bool) -> None:
    assert judge(LABEL, answer(choice)).embarrassing is embarrassing


def test_an_acceptable_plan_counts_among_the_first_three_and_in_the_shortlist() -> None:
    assert judge(LABEL, answer(GEFORCE, GEFORCE, L4)).among_three
    assert not judge(LABEL, answer(GEFORCE, GEFORCE, GEFORCE, L4)).among_three
    assert judge(LABEL, answer(GEFORCE, shortlist=(GEFORCE, L4))).among_shortlist
    assert judge(LABEL, answer(GEFORCE)).among_shortlist is None


def test_nothing_is_neither_acceptable_nor_embarrassing_unless_the_label_asks_for_it() -> None:
    none = answer(status="infeasible")
    assert (judge(LABEL, none).acceptable, judge(LABEL, none).embarrassing) == (False, False)
    impossible = replace(LABEL, acceptable=(Pattern(nothing=True),))
    assert judge(impossible, none).acceptable
    assert not judge(impossible, answer(L4)).acceptable
    assert judge(impossible, answer(L4, status="nothing-sensible")).acceptable, (
        "the least bad plan is no recommendation"
    )


def test_owned_hardware_is_told_from_the_same_rented() -> None:
    label = replace(LABEL, acceptable=(Pattern(owned=True),), unacceptable=(Pattern(owned=False),))
    assert judge(label, answer(replace(L4, owned=True))).acceptable
    assert judge(label, answer(L4)).embarrassing


@pytest.mark.parametrize(
    ("usd", "price"), [(0.1, "below"), (0.2, "as expected"), (1.0, "as expected"), (1.1, "above"), (None, "unknown")]
)
def test_the_hour_is_held_against_the_price_expected(usd: float | None, price: str) -> None:
    assert judge(LABEL, answer(replace(L4, usd_per_hour=usd))).price == price


def test_a_job_is_held_against_its_total() -> None:
    job = replace(LABEL, usd_per_hour=None, usd_total=(30.0, 40.0))
    assert judge(job, answer(GEFORCE)).price == "as expected"
    assert judge(job, answer(L4)).price == "unknown"
    assert judge(job, answer(status="infeasible")).price is None
    assert judge(replace(job, usd_total=None), answer(GEFORCE)).price is None


def test_every_problem_of_labels_is_told_at_once(tmp_path: Path) -> None:
    good = {
        "id": "a",
        "title": "A",
        "answers": {},
        "acceptable": [{"family": ["L4", "T4"], "count": [1, 2]}],
        "why": ".",
    }
    bad = {**good, "acceptable": [{"familly": "L4"}], "usd_per_hour": [2, 1], "prize": 3}
    path = tmp_path / "labels.yaml"
    path.write_text(yaml.safe_dump({"workloads": [good]}), encoding="utf-8")
    assert panel.read(path)[0].acceptable[0] == Pattern(families=frozenset({"L4", "T4"}), most=2)
    path.write_text(yaml.safe_dump([good, bad, {"id": "b"}]), encoding="utf-8")
    with pytest.raises(panel.LabelError) as caught:
        panel.read(path)
    for problem in (
        "'familly'",
        "[2, 1] is no [least, most]",
        "'prize'",
        "a: used twice",
        "b: no 'acceptable'",
        "b: no 'why'",
    ):
        assert problem in str(caught.value)


def test_our_workloads_ask_what_can_be_asked_about_hardware_there_is(kb: whygpu.KnowledgeBase) -> None:
    labels = panel.read(command.WORKLOADS)
    assert len(labels) >= 100
    assert panel.unknown_hardware(labels, kb.knowledge.catalogue) == []
    for label in labels:
        try:
            kb.check(label.answers)
        except AnswerError as error:
            pytest.fail(f"{label.id}: {error}")
    assert len({repr(label.answers) for label in labels}) == len(labels)
    odd = replace(LABEL, unacceptable=(Pattern(families=frozenset({"L4", "L5"})),))
    assert panel.unknown_hardware([odd], kb.knowledge.catalogue) == ["chat: no family 'L5' in the catalogue"]


def test_an_answer_tells_what_the_advice_says(kb: whygpu.KnowledgeBase) -> None:
    answers = {"model": "llama-3.1-8b", "accelerators": ["L4"], "count": 2, "deployment": "cloud"}
    got = panel.answer_of(kb, answers)
    plan = kb.advise(answers).recommendation
    assert got.first is not None
    assert plan is not None
    assert plan.cost is not None
    assert (got.first.family, got.first.kind, got.first.count) == ("L4", "data-centre", 2)
    assert got.first.usd_per_hour == pytest.approx(plan.cost.usd_per_hour)
    assert panel.answer_of(kb, {"model": "llama-3.1-405b", "accelerators": ["T4"], "count": 1}).first is None


def expert(**of: Any) -> dict[str, Any]:
    return {
        "id": "r1",
        "family": "doc",
        "phase": "inference",
        "workload": "LLM",
        "params_b": 8,
        "recommended_any_of": [],
        **of,
    }


def test_a_documents_row_becomes_a_question(kb: whygpu.KnowledgeBase) -> None:
    subjects = Subjects(kb.knowledge.catalogue)
    asked = experts.answers_of(expert(active_b=2, context=8192, precision="FP8", latency_need="fast"), subjects)
    assert asked == {
        "phase": "inference",
        "model": {"parameters": 8_000_000_000, "active_parameters": 2_000_000_000},
        "format": "fp8",
        "context_tokens": 8192,
        "priority": "latency",
    }
    assert experts.answers_of(expert(phase="training", method="QLoRA"), subjects)["method"] == "qlora"
    assert experts.answers_of(expert(workload="FLUX.1 LoRA"), subjects)["task"] == "image-generation"
    rewarded = experts.answers_of(expert(method="GRPO"), subjects)
    assert (rewarded["phase"], rewarded["algorithm"], rewarded["method"]) == ("fine-tuning", "grpo", "full")


def test_a_documents_own_cards_are_those_it_names(kb: whygpu.KnowledgeBase) -> None:
    subjects = Subjects(kb.knowledge.catalogue)
    options = [{"gpu": "L4 24GB", "n": 1}, {"gpu": "GPU with >= 24 GB", "n": 1}, {"gpu": "Apple GPU"}]
    row = expert(recommended_any_of=options[:2], advised_against=[*options[2:], {"gpu": "T4"}])
    own = experts.named_by([row], subjects)
    assert own == {"doc": frozenset({"l4", "t4"})}
    compared = experts.compare(row, own["doc"], kb, subjects)
    assert compared.own is not None
    assert compared.own.three
    assert [count.accelerator for count in compared.counts] == ["L4 24GB"], "a size of memory alone says no count"
    assert experts.compare(row, frozenset({"t4"}), kb, subjects).own is None


def test_steps_are_even_and_hold_both_ends() -> None:
    assert sweeps.steps(1, 1000, 1) == (1, 10, 100, 1000)
    assert sweeps.steps(1, 10, 16)[:4] == (1, 2, 3, 4), "whole numbers, each once"
    assert sweeps.steps(0.5, 5, 2) == (0.5, 1.58, 5.0)


SMALL = sweeps.Sweep(
    "size",
    "Size & price",
    "model.parameters",
    "parameters",
    (1e9, 8e9, 4e11),
    {"one T4": {"phase": "inference", "accelerators": ["T4"], "count": 1, "model": {"vocab_size": 32000}}},
)


def test_a_sweep_joins_neighbours_and_says_what_ends_a_stretch(kb: whygpu.KnowledgeBase) -> None:
    strip = sweeps.run(SMALL, "one T4", kb)
    assert strip.stretches[0].label.startswith("1x t4")
    assert strip.stretches[0].span[0] == 1e9
    assert strip.stretches[-1].label == "nothing"
    assert strip.stretches[-1].why
    assert [point.value for stretch in strip.stretches for point in stretch.points] == list(SMALL.values)


def test_an_answer_that_comes_back_is_named() -> None:
    def stretch(choice: Choice | None) -> sweeps.Stretch:
        return sweeps.Stretch((sweeps.Point(1, choice),), "")

    steady = (stretch(L4), stretch(replace(L4, count=2)), stretch(GEFORCE))
    assert sweeps.Strip("cloud", steady).returns == ()
    assert sweeps.Strip("cloud", (*steady, stretch(L4))).returns == ("l4",)


def test_the_sweeps_ask_what_can_be_asked(kb: whygpu.KnowledgeBase) -> None:
    for sweep in sweeps.read():
        assert list(sweep.values) == sorted(set(sweep.values))
        for answers in sweep.settings.values():
            for value in (sweep.values[0], sweep.values[-1]):
                kb.check(sweeps.asked_at(answers, sweep.axis, value))


def test_plot_and_page_hold_every_stretch_and_miss(kb: whygpu.KnowledgeBase) -> None:
    strip = sweeps.run(SMALL, "one T4", kb)
    plot = strips.draw(SMALL, [strip])
    root = ET.fromstring(plot)
    titles = [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")]
    assert titles == ["First recommendation by Size & price", *(stretch.label for stretch in strip.stretches)]
    assert plot == strips.draw(SMALL, [strip]), "the same every time"
    moved = stability.move([LABEL], kb)
    public, own = [judge(LABEL, answer(L4))], [judge(LABEL, answer(GEFORCE))]
    page = report.markdown(
        report.Results(public, own, [], [("r1", "no size")], moved, [(SMALL, [strip])], {"size": "size.svg"}),
        datetime.date(2026, 11, 22),
    )
    assert "| first acceptable | 1 of 1 (100%) | 0 of 1 (0%) |" in page
    assert f"| chat | {GEFORCE} | embarrassing |  |" in page
    assert "(size.svg)" in page
    assert "| 1 | 1B" in page


def test_prices_move_at_all_at_the_first_and_at_its_rivals(kb: whygpu.KnowledgeBase) -> None:
    moved = stability.move([LABEL], kb)
    whose = [one.whose for one in moved]
    assert [whose.count(name) for name in (stability.ALL, stability.FIRST, stability.RIVAL)] == [
        2,
        2,
        2 * stability.RIVALS,
    ]
    one = moved[0]
    assert not replace(one, before=L4, after=L4).another_plan
    assert replace(one, before=L4, after=replace(L4, count=2)).another_plan
    assert not replace(one, before=L4, after=replace(L4, count=2)).another_card
    assert replace(one, before=L4, after=GEFORCE).spoilt
    assert not replace(one, before=GEFORCE, after=L4).spoilt


def test_absent_labels_are_said_and_exit_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--data", str(tmp_path)]) == 2
    assert f"no panel.yaml, {experts.FILES[0]}, {experts.FILES[1]} in {tmp_path}" in capsys.readouterr().err


def test_the_command_scores_both_kinds_of_labels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    label = {"id": "a", "title": "A", "answers": {"accelerators": ["L4"]}, "acceptable": [{"family": "L4"}], "why": "."}
    (tmp_path / "panel.yaml").write_text(yaml.safe_dump([label]), encoding="utf-8")
    row = expert(recommended_any_of=[{"gpu": "L4", "n": 1}])
    for name in experts.FILES:
        (tmp_path / name).write_text(yaml.safe_dump({"rows": [row]}), encoding="utf-8")
    monkeypatch.setattr(command, "WORKLOADS", tmp_path / "panel.yaml")
    assert command.main(["--data", str(tmp_path), "--rows"]) == 0
    said = capsys.readouterr().out
    assert "a: ok" in said
    assert "1 of 1 (100%)" in said
    (tmp_path / "panel.yaml").write_text("[{id: a}]", encoding="utf-8")
    assert command.main(["--data", str(tmp_path)]) == 2
    assert "no 'why'" in capsys.readouterr().err
