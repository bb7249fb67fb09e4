"""A model given by its parameters alone is sized by the unit of its task, with as wide a range as such models have."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

import whygpu
from whygpu.errors import Location
from whygpu.intake.resolve import shape_of

TODAY = date(2026, 11, 21)


def advise(kb: whygpu.KnowledgeBase, **answers: Any) -> whygpu.Advice:
    return kb.advise(answers, engine="evaluator", today=TODAY)


@pytest.mark.parametrize(
    ("task", "kind"),
    [
        ("vision", "cnn"),
        ("speech", "encoder-decoder"),
        ("embedding", "encoder"),
        ("image-generation", "diffusion"),
        ("recommendation", "recommender"),
        ("other", "tabular"),
        ("language", "decoder"),
        ("multimodal", "decoder"),
        ("", "decoder"),
    ],
)
@pytest.mark.parametrize("parameters", [1e6, 25e6, 3e9])
def test_every_task_has_its_unit(kb: whygpu.KnowledgeBase, task: str, kind: str, parameters: float) -> None:
    shape, _ = shape_of({"parameters": parameters}, kb.knowledge.catalogue, Location("x"), task)
    assert (shape.kind, shape.parameters) == (kind, parameters)
    assert (shape.vocab_size > 0) == (kind in ("decoder", "encoder", "encoder-decoder"))
    assert (shape.flops_per_sample > 0) == (not shape.vocab_size)
    assert shape.active_parameters <= shape.parameters
    inside, _ = shape_of({"parameters": parameters, "task": task}, kb.knowledge.catalogue, Location("x"), "")
    assert inside.kind == kind


@pytest.mark.parametrize(
    "sizes",
    [
        {"vocab_size": 32000},
        {"kind": "decoder"},
        {"heads": 32, "kv_heads": 8, "layers": 16, "hidden_size": 2048},
    ],
)
def test_sizes_that_speak_for_a_decoder_are_believed(kb: whygpu.KnowledgeBase, sizes: dict[str, Any]) -> None:
    shape, _ = shape_of({"parameters": 1e9, **sizes}, kb.knowledge.catalogue, Location("x"), "vision")
    assert shape.kind == "decoder"


def test_what_is_given_is_kept(kb: whygpu.KnowledgeBase) -> None:
    given = {"parameters": 25e6, "flops_per_sample": 8e9, "image_size": 256}
    shape, _ = shape_of(given, kb.knowledge.catalogue, Location("x"), "vision")
    assert (shape.flops_per_sample, shape.image_size) == (8e9, 256)
    assert "flops_per_sample" not in shape.assumed
    larger, _ = shape_of({"parameters": 25e6, "image_size": 448}, kb.knowledge.catalogue, Location("x"), "vision")
    usual, _ = shape_of({"parameters": 25e6}, kb.knowledge.catalogue, Location("x"), "vision")
    assert larger.flops_per_sample == pytest.approx(4 * usual.flops_per_sample)


@pytest.mark.parametrize(
    "preset", ["resnet-18", "resnet-50", "convnext-b", "vgg-16", "regnet-y-16gf", "efficientnet-b0"]
)
def test_the_range_holds_the_models_it_stands_for(kb: whygpu.KnowledgeBase, preset: str) -> None:
    """timm-results: 100 to 590 operations a parameter at 224 pixels in nine of ten models."""
    catalogue = kb.knowledge.catalogue
    known, _ = shape_of(preset, catalogue, Location("x"))
    assumed, _ = shape_of({"parameters": known.parameters}, catalogue, Location("x"), "vision")
    band = catalogue.coefficients.pick("operations-per-parameter", {"kind": "cnn"})
    share = known.flops_per_sample / assumed.flops_per_sample
    assert band.low / band.likely <= share <= band.high / band.likely


def test_a_wide_range_of_operations_is_a_wide_range_of_speeds(kb: whygpu.KnowledgeBase) -> None:
    work = {"phase": "inference", "task": "vision", "batch_size": 32, "accelerators": ["t4"], "format": "fp16"}
    bands = [advise(kb, model=model, **work).recommendation for model in ("resnet-50", {"parameters": 25_557_032})]
    assert bands[0] is not None
    assert bands[1] is not None
    known, assumed = (plan.speed["samples_per_s"] for plan in bands if plan is not None)
    assert known is not None
    assert assumed is not None
    assert assumed.low < known.likely < assumed.high
    assert assumed.high / assumed.low > known.high / known.low


@pytest.mark.parametrize("phase", ["training", "inference", "batch-inference"])
@pytest.mark.parametrize("task", ["vision", "speech", "recommendation", "other", "embedding", "image-generation"])
def test_a_small_model_needs_little(kb: whygpu.KnowledgeBase, phase: str, task: str) -> None:
    """A CNN of 25 million parameters once took 250 GiB of logits over a vocabulary."""
    advice = advise(kb, phase=phase, task=task, model={"parameters": 25e6}, batch_size=8)
    best = advice.recommendation
    assert best is not None
    assert best.count == 1
    assert best.memory.total_gib < 16
    assert best.memory.logits_gib < 8
    assert any(item.id == "model-shape" and "kind" in item.text for item in advice.warnings)


def test_the_source_of_the_operations_is_told(kb: whygpu.KnowledgeBase) -> None:
    answers = {"task": "vision", "model": {"parameters": 25e6}, "accelerators": ["l4"]}
    compute = next(item for item in kb.estimate_in_full(answers, today=TODAY).speed if item.name == "compute_s")
    assert next(term for term in compute.terms if term.name == "forward").source == ("timm-results",)


def test_a_recommender_is_counted_in_samples_whatever_is_given_of_it(kb: whygpu.KnowledgeBase) -> None:
    """Naumov et al. 2019 (arXiv:1906.00091), section 2: perceptrons on what the tables give. With its dense part given
    and no operations it was taken for a model of tokens, 80 times as slow.
    """
    catalogue = kb.knowledge.catalogue
    known, _ = shape_of("dlrm-criteo-1tb", catalogue, Location("x"))
    sizes = {"parameters": 50e9, "kind": "recommender", "active_parameters": known.active_parameters}
    shape, _ = shape_of(sizes, catalogue, Location("x"))
    assert shape.lookup_parameters == known.lookup_parameters
    assert shape.flops_per_sample == pytest.approx(known.flops_per_sample, rel=0.1)


def test_tables_are_no_lookups(kb: whygpu.KnowledgeBase) -> None:
    sizes = {"parameters": 50e9, "kind": "recommender", "lookup_parameters": 49.9e9}
    with pytest.raises(whygpu.AnswerError, match="what one sample looks up"):
        shape_of(sizes, kb.knowledge.catalogue, Location("x"))
