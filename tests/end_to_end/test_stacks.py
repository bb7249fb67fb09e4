"""What cannot run is out, and says what would: the tables of serving stacks on all hardware; ``runtime: auto``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.effort import one_in
from tests.intake.files import LLAMA_GGUF, LLAMA_KEYS, gguf_bytes
from whygpu.explain.templates import fill_template

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import whygpu
    from whygpu.chain.names import EngineName

WORKS: dict[str, dict[str, Any]] = {
    "language": {"model": "llama-3.1-8b", "concurrency": 8},
    "language at a desk": {"model": "llama-3.1-8b", "deployment": "workstation"},
    "language in GGUF": {"model": "llama-3.1-8b", "format": "q4_k_m"},
    "vision": {"task": "vision", "model": "yolo11m"},
    "vision in production": {"task": "vision", "model": "yolo11m", "criticality": "production"},
    "speech": {"task": "speech", "model": "whisper-large-v3"},
    "training": {"phase": "fine-tuning", "method": "lora", "model": "llama-3.1-8b"},
}
STACKS = {"vLLM": "vllm", "llama.cpp": "llama.cpp", "Plain PyTorch (transformers)": "transformers"}
"""The stacks that the rows name as what runs instead."""


def _work(name: str, folder: Path) -> dict[str, Any]:
    if name != "a GGUF file":
        return {"phase": "inference"} | WORKS[name]
    path = folder / "tiny.gguf"
    path.write_bytes(gguf_bytes(LLAMA_GGUF, LLAMA_KEYS))
    return {"phase": "inference", "model": {"gguf": str(path)}}


@pytest.mark.parametrize("engine", ["evaluator", pytest.param("durable", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", one_in(4, [*WORKS, "a GGUF file"]))
def test_auto_is_no_answer(kb: whygpu.KnowledgeBase, tmp_path: Path, name: str, engine: EngineName) -> None:
    """It once meant eager PyTorch, 4.5 times slower than the vLLM that is assumed."""
    answers = _work(name, tmp_path)
    silent, auto = (
        kb.advise(given, engine=engine).to_dict(trace=False) for given in (answers, answers | {"runtime": "auto"})
    )
    assert auto.pop("answers").keys() - silent.pop("answers").keys() == {"runtime"}
    assert auto == silent
    assert ("workload.runtime" in silent["assumed"]) == (answers["phase"] == "inference")


@pytest.mark.parametrize("name", [*WORKS, "a GGUF file"])
def test_auto_is_no_answer_to_an_estimate(kb: whygpu.KnowledgeBase, tmp_path: Path, name: str) -> None:
    answers = _work(name, tmp_path) | {"accelerators": ["rtx-4090"], "count": 1}
    auto = answers | {"runtime": "auto"}
    assert kb.estimate(auto) == kb.estimate(answers)
    if answers["phase"] == "inference" and name.startswith("language"):
        assert kb.estimate(auto) != kb.estimate(answers | {"runtime": "transformers"})


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (
            {"runtime": "vllm", "accelerators": ["P40"]},
            "vLLM needs compute capability 7.5; P40 has 6.1. llama.cpp runs on it.",
        ),
        (
            {"format": "int8", "runtime": "vllm", "accelerators": ["RTX 5090"]},
            "vLLM runs INT8 (W8A8) below compute capability 10; RTX 5090 has 12. In FP8 it runs there.",
        ),
        (
            {"format": "awq-int4", "runtime": "llama.cpp", "accelerators": ["L4"]},
            "llama.cpp does not run AWQ-INT4. Stacks that do, on hardware they have kernels for: "
            "transformers, vllm, sglang, tensorrt-llm.",
        ),
    ],
)
def test_the_reason_says_what_would_run(kb: whygpu.KnowledgeBase, answers: dict[str, Any], said: str) -> None:
    advice = kb.advise({"phase": "inference", "model": "llama-3.1-8b"} | answers)
    (rejection,) = advice.rejected
    assert said in [reason.text for reason in rejection.because]


def _out(kb: whygpu.KnowledgeBase, runtime: str) -> Iterator[tuple[str, str]]:
    """The accelerators that a stack does not run on at all, each with what is said of it."""
    consultation = kb.consult({"phase": "inference", "model": "llama-3.2-1b", "runtime": runtime}, engine="evaluator")
    cards = list(kb.knowledge.catalogue.accelerators)
    for rule_id, mask in consultation.plans.fired.items():
        if rule_id.startswith("stack-runs-hardware/"):
            because = kb.knowledge.rule_by_id[rule_id].because
            for index in np.flatnonzero(mask):
                text = fill_template(because, consultation.plans.environment, kb.knowledge, int(index))
                yield cards[consultation.plans.plan_set.card[index]], text


def test_what_is_named_instead_runs_there(kb: whygpu.KnowledgeBase) -> None:
    """A row that sends people to a stack which another row keeps off the same hardware would mislead them."""
    runtimes = [word for word in kb.knowledge.vocabulary["workload.runtime"].values if word != "auto"]
    out = {runtime: dict(_out(kb, runtime)) for runtime in runtimes}
    named = 0
    for runtime, cards in out.items():
        for card, text in cards.items():
            for name, stack in STACKS.items():
                sentences = re.findall(rf"{re.escape(name)}[^.]*(?:\.cpp[^.]*)? runs? on [^.]*", text)
                if sentences and stack != runtime and "From Maxwell on" not in text:
                    named += 1
                    assert card not in out[stack], f"{runtime} on {card}: {text}"
    assert named > 100
    assert {"p40", "m60", "v100-pcie-16gb"} <= out["vllm"].keys()
    assert out["llama.cpp"].keys() >= {"k80", "tpu-v5e", "gaudi-3", "trainium2"}
    others = {card.id for card in kb.knowledge.catalogue.accelerators.values() if card.text("software") != "cuda"}
    assert out["tensorrt-llm"].keys() >= others
