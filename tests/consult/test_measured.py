"""One measured figure corrects the estimates of the same model, card and runtime: how much, where, and what is said."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import Any

import pytest

import whygpu
from tests.checks.formulas import value_of
from tests.conftest import Command
from whygpu.checks.calculation import Range
from whygpu.checks.correction import Correction, OperatingPoint, distance
from whygpu.errors import AnswerError

CHAT: dict[str, Any] = {
    "phase": "inference",
    "model": "llama-3.1-8b",
    "format": "bf16",
    "runtime": "vllm",
    "concurrency": 16,
    "context_tokens": 4096,
    "output_tokens": 512,
    "accelerators": ["l40s"],
}
SETUP = {"model": "llama-3.1-8b", "accelerator": "l40s", "format": "bf16", "runtime": "vllm"}
LOAD = {"concurrency": 16, "input_tokens": 3584, "output_tokens": 512}
TUNE: dict[str, Any] = {
    "phase": "fine-tuning",
    "method": "lora",
    "model": "llama-3.1-8b",
    "batch_size": 4,
    "sequence_tokens": 2048,
    "accelerators": ["h100-sxm"],
}


def measured(figures: dict[str, Any] | None = None, *points: dict[str, Any], **setup: Any) -> dict[str, Any]:
    """A measurement."""
    found: dict[str, Any] = {"measurement": 1, "source": "my-bench", "setup": {**SETUP, **setup}}
    return {**found, "figures": figures or {}, "points": list(points)}


def estimate(kb: whygpu.KnowledgeBase, answers: dict[str, Any], *found: dict[str, Any]) -> whygpu.Plan:
    """A plan's estimate, with these measurements."""
    given = {**answers, "measured": list(found)} if found else answers
    return kb.estimate(given, engine="evaluator")


def band(plan: whygpu.Plan, name: str) -> Range:
    """A figure of speed that is known."""
    found = plan.speed[name]
    assert found is not None
    return found


def width(found: Range) -> float:
    """How far the ends are apart, as a logarithm."""
    return math.log(found.high / found.low)


def test_at_the_measured_load_the_estimate_is_what_was_measured(kb: whygpu.KnowledgeBase) -> None:
    """Size from what was measured (ai-rng-31)."""
    before = estimate(kb, CHAT)
    after = estimate(kb, CHAT, measured(None, {**LOAD, "tpot_p50_ms": 50, "ttft_p50_ms": 600}))
    assert band(after, "token_ms").likely == pytest.approx(50)
    assert band(after, "ttft_ms").likely == pytest.approx(600)
    factor = 50 / band(before, "token_ms").likely
    for name in ("tokens_per_s", "requests_per_s"):
        assert band(after, name).likely == pytest.approx(band(before, name).likely / factor)
    for name in ("token_ms", "ttft_ms", "tokens_per_s"):
        assert width(band(after, name)) < 0.5 * width(band(before, name))


def test_ranges_widen_away_from_what_was_measured(kb: whygpu.KnowledgeBase) -> None:
    found = measured(None, {**LOAD, "tpot_p50_ms": 50})
    shares = []
    for concurrency in (16, 32, 64, 128):
        answers = {**CHAT, "concurrency": concurrency}
        before, after = estimate(kb, answers), estimate(kb, answers, found)
        shares.append(width(band(after, "token_ms")) / width(band(before, "token_ms")))
    assert all(one < other for one, other in pairwise(shares))
    assert shares[-1] == pytest.approx(1)  # eight times the load: correction-reach


@pytest.mark.parametrize(
    ("changes", "setup"),
    [
        ({"accelerators": ["l4"]}, {}),
        ({"format": "fp8"}, {}),
        ({"runtime": "sglang"}, {}),
        ({"model": "llama-3.2-3b"}, {}),
        ({}, {"accelerator": "a100-sxm-80gb"}),
    ],
)
def test_nothing_else_is_corrected(kb: whygpu.KnowledgeBase, changes: dict[str, Any], setup: dict[str, Any]) -> None:
    found = measured(None, {**LOAD, "tpot_p50_ms": 50}, **setup)
    answers = {**CHAT, **changes}
    assert estimate(kb, answers, found).speed == estimate(kb, answers).speed


def test_of_several_loads_the_nearest_counts(kb: whygpu.KnowledgeBase) -> None:
    loads = [{**LOAD, "concurrency": number, "tpot_p50_ms": time} for number, time in ((1, 30), (16, 50), (64, 130))]
    found = measured(None, *loads)
    for load in loads:
        after = estimate(kb, {**CHAT, "concurrency": load["concurrency"]}, found)
        assert band(after, "token_ms").likely == pytest.approx(load["tpot_p50_ms"])


def test_a_step_time_corrects_training(kb: whygpu.KnowledgeBase) -> None:
    setup = {key: TUNE[key] for key in ("phase", "method", "batch_size", "sequence_tokens")}
    bare = {"measurement": 1, "setup": {"model": "llama-3.1-8b", "accelerator": "h100-sxm", **setup}}
    before = estimate(kb, TUNE)
    after = estimate(kb, TUNE, {**bare, "figures": {"step_ms": 2000}})
    assert band(after, "samples_per_s").likely == pytest.approx(2)  # 4 samples in 2 s
    assert band(after, "train_tokens_per_s").likely == pytest.approx(2 * 2048)
    memory = estimate(kb, TUNE, {**bare, "figures": {"memory_gib": 40}}).memory
    assert memory.total_gib == pytest.approx(40)
    parts = [getattr(memory, name) for name in memory.__slots__ if name.endswith("_gib")]
    assert sum(parts) - sum((memory.total_gib, memory.low_gib, memory.high_gib, memory.usable_gib or 0)) == (
        pytest.approx(40)
    )
    assert memory.high_gib - memory.low_gib < before.memory.high_gib - before.memory.low_gib


def test_memory_that_a_server_takes_is_not_what_it_needs(kb: whygpu.KnowledgeBase) -> None:
    """vLLM takes its share of the card whatever the model needs (vllm-cache-config)."""
    found = measured({"memory_gib": 44}, {**LOAD, "tpot_p50_ms": 50})
    assert estimate(kb, CHAT, found).memory == estimate(kb, CHAT).memory


def test_a_start_up_log_corrects_the_parts_of_memory(
    kb: whygpu.KnowledgeBase, run: Command, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """What vLLM prints of its weights and activations when it starts; the card is the one that is asked about."""
    file = tmp_path_factory.mktemp("logs") / "server.log"
    file.write_text(
        "INFO 08-19 14:58:40 [core.py:72] Initializing a V1 LLM engine (v0.10.0) with config: "
        "model='meta-llama/Llama-3.1-8B', max_seq_len=4096, tensor_parallel_size=1\n"
        "INFO 08-19 14:58:41 [gpu_model_runner.py:1801] Model loading took 16.5 GiB and 3.1 seconds\n"
        "INFO 08-19 14:58:45 [gpu_worker.py:276] Available KV cache memory: 20.00 GiB\n",
        encoding="utf-8",
    )
    asked = [f"--set={key}={value}" for key, value in CHAT.items() if key != "accelerators"]
    found = run("estimate", *asked, "--set=accelerators=l40s", "--engine=evaluator", "--measured", str(file))
    before = estimate(kb, CHAT).memory
    assert "weights 16.5 GiB" in found.stdout, found.stderr
    assert "measured_over_estimated" in found.stdout
    after = estimate(kb, CHAT, measured({"weights_gib": 16.5})).memory
    assert after.weights_gib == pytest.approx(16.5)
    assert after.total_gib - before.total_gib == pytest.approx(16.5 - before.weights_gib)
    assert after.kv_cache_gib == before.kv_cache_gib


def test_what_is_measured_is_named(kb: whygpu.KnowledgeBase) -> None:
    """File, figures and factor, in the trace and in a note; what is beyond the range is questioned."""
    found = kb.advise({**CHAT, "measured": measured(None, {**LOAD, "tpot_p50_ms": 400})}, engine="evaluator")
    text = str(found.to_dict()["trace"])
    assert "measured_over_estimated" in text
    (note,) = [item.text for item in found.warnings if item.topic == "measured"]
    assert "400 ms measured" in note
    assert "my-bench" in note
    assert "is it the same model, format and load?" in note
    usual = kb.advise({**CHAT, "measured": measured(None, {**LOAD, "tpot_p50_ms": 45})}, engine="evaluator")
    assert not any("is it the same" in item.text for item in usual.warnings)


def test_worked_figures_give_what_they_say(kb: whygpu.KnowledgeBase) -> None:
    found = measured(None, {**LOAD, "tpot_p50_ms": 50, "ttft_p50_ms": 600})
    full = kb.estimate_in_full({**CHAT, "measured": found}, engine="evaluator")
    corrected = [item for item in full.speed if any(term.name == "measured_over_estimated" for term in item.terms)]
    assert {item.name for item in corrected} == {"token_ms", "ttft_ms", "tokens_per_s"}
    for item in corrected:
        assert value_of(item) == pytest.approx(item.value)
        assert item.value == pytest.approx(band(full.plan, item.name).likely)


def test_both_engines_correct_alike(kb: whygpu.KnowledgeBase) -> None:
    answers = {**CHAT, "measured": measured(None, {**LOAD, "tpot_p50_ms": 50})}
    one, other = (kb.advise(answers, engine=engine).to_dict() for engine in ("durable", "evaluator"))
    assert {**one, "engine": ""} == {**other, "engine": ""}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (measured(None, {**LOAD, "tpot_p50_ms": 50}, model="llama-3.2-3b"), "is of Llama 3.2 3B"),
        ({"measurement": 1, "figures": {"step_ms": 5}}, "does not say on which accelerator"),
        (measured({"gpu_utilisation": 0.5}), "no figure that an estimate can be compared with"),
    ],
)
def test_what_corrects_nothing_says_so(kb: whygpu.KnowledgeBase, found: dict[str, Any], said: str) -> None:
    advice = kb.advise({**CHAT, "accelerators": ["l40s", "l4"], "measured": found}, engine="evaluator")
    assert [item.text for item in advice.warnings if said in item.text]


def test_what_is_wrong_is_refused(kb: whygpu.KnowledgeBase) -> None:
    with pytest.raises(AnswerError) as caught:
        kb.check({**CHAT, "measured": measured(None, {**LOAD, "tpot_p50_ms": 50, "tpot_p95_ms": 20, "colour": 3})})
    assert {problem.code for problem in caught.value.problems} >= {"unknown-figure"}
    with pytest.raises(AnswerError):
        kb.check({**CHAT, "measured": "/etc/passwd"})  # files are read by the command line alone


def test_the_command_line_reads_files_and_folders(run: Command, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("data") / "whygpu" / "measurements"
    folder.mkdir(parents=True)
    file = folder / "mine.yaml"
    file.write_text(
        "measurement: 1\nsetup: {model: llama-3.1-8b, accelerator: l40s, format: bf16, runtime: vllm}\n"
        "points:\n- {concurrency: 16, input_tokens: 3584, output_tokens: 512, tpot_p50_ms: 50}\n",
        encoding="utf-8",
    )
    asked = [f"--set={key}={value}" for key, value in CHAT.items() if key != "accelerators"]
    asked += ["--set=accelerators=l40s", "--engine", "evaluator"]
    for named in (str(file), str(folder), "kept"):
        found = run("estimate", *asked, "--measured", named, XDG_DATA_HOME=str(folder.parents[1]))
        assert re.search(r"token_ms 50(\.0)? ms", found.stdout), found.stderr
        assert "mine.yaml" in found.stdout
    missing = run("estimate", *asked, "--measured", str(folder / "none.yaml"))
    assert (missing.returncode, "cannot be read" in missing.stderr) == (2, True)


def test_distance_and_width_meet_at_the_reach() -> None:
    at = OperatingPoint(8, 4096, 1)
    assert distance(at, at) == 0
    assert distance(at, OperatingPoint(16, 2048, 1)) == pytest.approx(2 * math.log(2))
    correction = Correction("token", "x", "bf16", "vllm", False, 2.0, at, 0.25, math.log(8), 0.03, "")
    estimated = Range(8, 10, 20)
    near, far = (correction.narrowed(estimated, 1, away) for away in (0.0, math.log(8)))
    assert (near.low, near.likely, near.high) == pytest.approx((20 * 0.8**0.25, 20, 20 * 2**0.25))
    assert (far.low, far.likely, far.high) == pytest.approx((16, 20, 40))
