"""``whygpu estimate``: one plan for the accelerator and count named, whether it fits or not."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import whygpu
from tests.intake.files import LLAMA_GGUF, LLAMA_KEYS, gguf_bytes, header_of, llama_tensors, write_safetensors
from whygpu.errors import AnswerError

Run = Callable[..., subprocess.CompletedProcess[str]]
SERVE: dict[str, Any] = {"phase": "inference", "model": "llama-3.1-8b", "format": "bf16", "context_tokens": 8192}
TUNE: dict[str, Any] = {"phase": "fine-tuning", "method": "full", "model": "llama-3.1-8b", "sequence_tokens": 2048}


def test_json_is_one_plan_of_the_contract(run: Run) -> None:
    done = run(
        "estimate", "--model", "llama-3.1-8b", "--set", "accelerators=l4", "--set", "count=2", "--format", "json"
    )
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    wanted = {"id", "accelerator", "count", "nodes", "format", "kv_format", "method", "techniques", "parallelism",
              "memory", "speed", "cost", "verdicts", "rank", "variants"}  # fmt: skip
    assert wanted <= plan.keys()
    assert (plan["accelerator"]["id"], plan["count"], plan["format"]) == ("l4", 2, "bf16")
    layout = {"tensor": 2, "pipeline": 1, "data": 1, "sharding": "none", "cache_split": "heads", "expert": 1}
    assert plan["parallelism"] == layout
    assert plan["memory"]["verdict"] == "fits"
    assert plan["speed"]["token_ms"]["likely"] > 0


def test_a_plan_that_does_not_fit_is_still_a_plan(run: Run, kb: whygpu.KnowledgeBase) -> None:
    settings = ("--model", "llama-3.1-70b", "--set", "accelerators=t4", "--set", "budget_per_hour=0.01")
    done = run("estimate", *settings)
    assert done.returncode == 0, done.stderr
    assert "it does not fit" in done.stdout
    assert "A recommendation would leave it out" in done.stdout
    assert "concurrency: not even 1" in done.stdout
    plan = kb.estimate({"model": "llama-3.1-70b", "accelerators": ["t4"], "count": 3})
    assert plan.memory.verdict == "no"
    assert plan.count == 3


def test_text_shows_formulas_with_the_numbers_put_in(run: Run) -> None:
    text = run("estimate", "--model", "llama-3.1-8b", "--set", "accelerators=l4").stdout
    parts = (
        *("weights", "kv cache", "overhead", "total", "= parameters * bits / 8 * slack", "parameters = 8.03B"),
        *("Needs", "between", "usable", "Uses", "vllm takes", "concurrency: up to", "token_ms", "Cost: $"),
        "(read_s ** 2 + compute_s ** 2) ** 0.5",  # two powers are no emphasis
    )
    for part in parts:
        assert part in text, part
    assert "\x1b[" not in text


def test_a_size_alone_names_a_model(run: Run, kb: whygpu.KnowledgeBase) -> None:
    settings = ("--set", "accelerators=l4", "--format", "json")
    done = [run("estimate", *named, *settings) for named in (("--model", "7B"), ("--set", "model=7B"))]
    assert [item.returncode for item in done] == [0, 0]
    assert done[0].stdout == done[1].stdout
    assert kb.check({"model": "7B"}).model == {"parameters": 7e9}
    with pytest.raises(AnswerError, match="there is no preset model '7X'"):
        kb.check({"model": "7X"})


def test_the_count_is_spread_as_well_as_can_be(kb: whygpu.KnowledgeBase) -> None:
    many = kb.estimate(SERVE | {"accelerators": ["l4"], "count": 4, "concurrency": 8})
    assert many.parallelism.data == 4  # each holds the model and has requests to serve
    one = kb.estimate(SERVE | {"accelerators": ["l4"], "count": 4, "concurrency": 1})
    assert one.parallelism.tensor == 4  # a second replica would stand idle
    large = kb.estimate(
        SERVE | {"model": "llama-3.1-70b", "accelerators": ["a100-sxm-80gb"], "count": 2, "concurrency": 8}
    )
    assert (large.parallelism.tensor, large.memory.verdict) == (2, "tight")
    odd = kb.estimate(SERVE | {"model": "llama-3.1-70b", "accelerators": ["a100-sxm-80gb"], "count": 3})
    assert odd.parallelism.pipeline == 3  # 64 heads do not divide by three, 80 layers may be cut anywhere
    wide = kb.estimate(SERVE | {"accelerators": ["l4"], "count": 200, "concurrency": 512})
    assert (wide.count, wide.nodes > 8) == (200, True)


def test_checkpointing_is_on_only_where_it_would_not_fit_without(kb: whygpu.KnowledgeBase) -> None:
    roomy = kb.estimate_in_full(TUNE | {"accelerators": ["h200-sxm"], "count": 8, "gradient_checkpointing": "auto"})
    assert roomy.checkpointing == "off"
    short = kb.estimate_in_full(
        TUNE | {"accelerators": ["a100-sxm-80gb"], "count": 4, "sequence_tokens": 8192, "batch_size": 2}
    )
    assert (short.checkpointing, short.plan.memory.verdict != "no") == ("full", True)
    asked = kb.estimate_in_full(TUNE | {"accelerators": ["h200-sxm"], "count": 8, "gradient_checkpointing": "full"})
    assert asked.checkpointing == "full"


def test_format_is_the_answer_s_or_the_native_one(kb: whygpu.KnowledgeBase) -> None:
    card = {"accelerators": ["a100-sxm-80gb"]}
    assert kb.estimate({"model": "llama-3.1-8b", **card}).format == "bf16"
    assert kb.estimate({"model": "llama-3.1-8b", "format": "q4_k_m", **card}).format == "q4_k_m"
    assert kb.estimate({"model": "llama-3.1-8b", "accelerators": ["t4"]}).format == "fp16"  # a T4 has no BF16
    assert kb.estimate(TUNE | {"method": "qlora", **card}).format == "nf4"
    assert kb.estimate({"model": "resnet-50", "phase": "training", **card}).memory.verdict == "fits"


@pytest.mark.parametrize(
    ("accelerators", "message"),
    [(None, "none is named"), (["a100"], "selects 4: a100-pcie-40gb"), (["l4", "t4"], "selects 2: l4, t4")],
)
def test_exactly_one_accelerator(kb: whygpu.KnowledgeBase, accelerators: list[str] | None, message: str) -> None:
    with pytest.raises(AnswerError, match=message):
        kb.estimate({"model": "llama-3.1-8b"} | ({"accelerators": accelerators} if accelerators else {}))


def test_the_evaluator_gives_the_same(kb: whygpu.KnowledgeBase) -> None:
    answers = SERVE | {"accelerators": ["l40s"], "count": 2}
    assert kb.estimate(answers, engine="evaluator") == kb.estimate(answers)


def test_largest_sizes_are_the_last_that_fit(kb: whygpu.KnowledgeBase) -> None:
    answers = SERVE | {"accelerators": ["l40s"], "runtime": "transformers"}
    limits = {limit.size: limit.value for limit in kb.estimate_in_full(answers).limits}
    for size in ("concurrency", "context_tokens"):
        value = limits[size]
        assert kb.estimate(answers | {size: value}).memory.verdict != "no"
        assert kb.estimate(answers | {size: value + 1}).memory.verdict == "no"


def test_weights_of_a_gguf_file_are_exact_and_in_its_format(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(gguf_bytes(LLAMA_GGUF, LLAMA_KEYS))
    done = run("estimate", "--model", str(path), "--set", "accelerators=rtx-4090", "--format", "json")
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    assert plan["format"] == "q8_0"
    assert plan["memory"]["weights_gib"] * 2**30 == pytest.approx(45_924, rel=0.05)
    explained = run("explain", "--model", str(path), "--format", "json")
    assert explained.returncode == 0, explained.stderr
    advice = json.loads(explained.stdout)
    assert advice["recommendation"]["format"] == "q8_0"
    assert advice["assumed"]["workload.runtime"]["value"] == "llama.cpp"


def test_a_folder_of_safetensors(run: Run, tmp_path: Path) -> None:
    write_safetensors(tmp_path / "model.safetensors", header_of(llama_tensors()))
    done = run("estimate", "--model", str(tmp_path), "--set", "accelerators=l4")
    assert done.returncode == 0, done.stderr
    assert "bits = 16 bits per weight" in done.stdout
    assert "has no usable config.json beside it" in done.stdout


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("llama-9", "is no preset, no file, and no ORG/NAME"),
        ("no-such-org/no-such-model", "no-such-org/no-such-model"),
        ("../../nowhere", "no ORG/NAME"),
    ],
)
def test_models_that_are_not_found(run: Run, model: str, message: str, tmp_path: Path) -> None:
    done = run("estimate", "--model", model, "--set", "accelerators=l4", HF_HUB_OFFLINE="1", HF_HOME=str(tmp_path))
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_damaged_file_is_a_clear_error(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(b"GGUF" + b"\xff" * 60)
    done = run("estimate", "--model", str(path), "--set", "accelerators=l4")
    assert done.returncode == 2
    assert "bad.gguf: is GGUF version" in done.stderr
    assert "Traceback" not in done.stderr


def test_bare_estimate_prints_help(run: Run) -> None:
    done = run("estimate")
    assert done.returncode == 0
    assert "example: whygpu estimate" in " ".join(done.stdout.split())
