"""The commands that start a recommendation: the flags a plan implies, quotes, refusals, and the tools' own parsers."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

import whygpu
from tests.conftest import ROOT, Command
from tests.loader.small import lean_texts
from whygpu.api import REGISTRY
from whygpu.errors import KnowledgeBaseError
from whygpu.explain.start import Start
from whygpu.loader.assemble import load_texts

OPTIONS: dict[str, list[str]] = yaml.safe_load(
    (ROOT / "tests" / "data" / "launch_options.yaml").read_text(encoding="utf-8")
)
CHAT = {"phase": "inference", "model": "llama-3.1-8b", "concurrency": 16, "context_tokens": 8192, "format": "bf16"}
GIANT = {"phase": "inference", "model": "llama-3.1-405b", "format": "bf16", "concurrency": 64}
ACCUMULATION = "--gradient_accumulation_steps"
TUNE = {"phase": "fine-tuning", "model": "llama-3.1-8b", "method": "full"}
WORK: dict[str, dict[str, Any]] = {
    "one card": {**CHAT, "accelerators": ["l40s"]},
    "fp8 cache": {**CHAT, "accelerators": ["h100-sxm"], "kv_format": "fp8", "adapters": 4},
    "int8 cache": {**CHAT, "accelerators": ["h100-sxm"], "kv_format": "int8"},
    "nf4": {**CHAT, "accelerators": ["l4"], "format": "nf4"},
    "eight cards": {**GIANT, "model": "llama-3.1-70b", "accelerators": ["l40s"]},
    "two machines": {**GIANT, "accelerators": ["h100-sxm"]},
    "gguf": {
        **CHAT,
        "accelerators": ["rtx-4090"],
        "format": "q4_k_m",
        "runtime": "llama.cpp",
        "deployment": "workstation",
    },
    "gguf on two": {
        **CHAT,
        "accelerators": ["rtx-4090"],
        "format": "q4_k_m",
        "tensor_parallel": 2,
        "kv_format": "fp16",
    },
    "gguf on two, int8 cache": {
        **CHAT,
        "accelerators": ["rtx-4090"],
        "format": "q4_k_m",
        "tensor_parallel": 2,
        "kv_format": "int8",
    },
    "pictures of a compiled engine": {
        "phase": "inference",
        "model": "stable-diffusion-xl",
        "requests_per_second": 3,
        "runtime": "compiled",
        "accelerators": ["b200"],
    },
    "pictures on pascal": {
        "phase": "inference",
        "model": "stable-diffusion-xl",
        "owned": [{"accelerator": "p40", "count": 1}],
        "accelerators": ["p40"],
    },
    "passages": {"phase": "inference", "model": "bge-m3", "accelerators": ["l4"]},
    "train": {**TUNE, "accelerators": ["h100-sxm"], "count": 8, "sharding": "fsdp"},
    "train trainium": {**TUNE, "accelerators": ["trainium2"], "count": 16},
    "adapters in bf16 alone on a t4": {
        "phase": "fine-tuning",
        "model": "qwen2.5-0.5b",
        "method": "lora",
        "training_precision": "bf16",
        "accelerators": ["t4"],
    },
    "train fsdp1": {
        **TUNE,
        "accelerators": ["h100-sxm"],
        "count": 8,
        "sharding": "fsdp1",
        "gradient_checkpointing": "full",
    },
    "train without bf16": {**TUNE, "model": "llama-3.2-1b", "accelerators": ["v100-sxm2-32gb"], "count": 1},
    "pairs without bf16": {
        **TUNE,
        "model": "llama-3.2-3b",
        "algorithm": "dpo",
        "method": "qlora",
        "accelerators": ["t4"],
        "count": 1,
    },
    "train fp8": {**TUNE, "accelerators": ["h100-sxm"], "count": 8, "format": "fp8"},
    "train nvfp4": {**TUNE, "accelerators": ["b200"], "count": 8, "format": "nvfp4"},
    "train zero2": {**TUNE, "accelerators": ["h100-sxm"], "count": 8, "sharding": "zero2", "gradient_accumulation": 4},
    "train zero3": {
        **TUNE,
        "accelerators": ["h100-sxm"],
        "count": 16,
        "sharding": "zero3",
        "training_precision": "bf16",
    },
    "train copies": {**TUNE, "accelerators": ["h100-sxm"], "count": 2, "method": "lora", "sharding": "none"},
    "train jax": {**TUNE, "accelerators": ["tpu-v6e"], "count": 16, "framework": "jax", "sharding": "zero2"},
    "train zero2 on tpus": {**TUNE, "accelerators": ["tpu-v6e"], "count": 16, "sharding": "zero2"},
    "pairs": {**TUNE, "algorithm": "dpo", "accelerators": ["h100-sxm"], "count": 4, "sharding": "zero3"},
    "pairs on adapters": {
        **TUNE,
        "algorithm": "dpo",
        "method": "lora",
        "lora_rank": 32,
        "accelerators": ["h100-sxm"],
        "count": 2,
        "sharding": "none",
    },
    "pairs on four bits": {**TUNE, "algorithm": "dpo", "method": "qlora", "accelerators": ["rtx-4090"], "count": 1},
    "rewards": {
        **TUNE,
        "algorithm": "grpo",
        "accelerators": ["h100-sxm"],
        "count": 16,
        "sharding": "fsdp",
        "sequence_tokens": 4096,
        "output_tokens": 3072,
        "batch_size": 1,
        "generations": 24,
    },
    "rewards by a critic": {**TUNE, "algorithm": "ppo", "accelerators": ["h100-sxm"], "count": 8, "sharding": "fsdp"},
    "rewards, gradients spread": {
        **TUNE,
        "algorithm": "grpo",
        "accelerators": ["h200-sxm"],
        "count": 4,
        "sharding": "zero2",
    },
    "rewards on adapters": {**TUNE, "algorithm": "grpo", "method": "lora", "accelerators": ["h100-sxm"], "count": 1},
    "adapters on a mac": {
        **TUNE,
        "model": "llama-3.1-8b",
        "method": "qlora",
        "owned": [{"accelerator": "m4-max", "count": 1}],
        "accelerators": ["m4-max"],
    },
    "rewards on four bits": {**TUNE, "algorithm": "grpo", "method": "qlora", "accelerators": ["rtx-4090"], "count": 1},
    "tensorrt-llm": {
        **CHAT,
        "model": "llama-3.3-70b",
        "accelerators": ["h100-sxm"],
        "count": 2,
        "format": "fp8",
        "kv_format": "fp8",
        "runtime": "tensorrt-llm",
    },
    "experts": {
        **CHAT,
        "model": "qwen3.5-122b-a10b",
        "concurrency": 1,
        "accelerators": ["rtx-4090"],
        "offload": "experts",
    },
    "gaudi fp8": {**CHAT, "accelerators": ["gaudi-3"], "format": "fp8"},
    "adapters": {**CHAT, "accelerators": ["h100-sxm"], "adapters": 40, "lora_rank": 24},
    "shared memory": {**CHAT, "accelerators": ["dgx-spark"]},
    "a full card": {
        **CHAT,
        "model": "qwen3-32b",
        "concurrency": 58,
        "context_tokens": 1024,
        "accelerators": ["h100-sxm"],
        "count": 1,
    },
    "transcripts": {"phase": "inference", "model": "whisper-large-v3", "accelerators": ["l4"], "format": "fp16"},
    "a distilled model": {**CHAT, "model": "deepseek-ai/DeepSeek-R1-Distill-Qwen-14B", "accelerators": ["h100-sxm"]},
    "experts in blocks": {
        **CHAT,
        "model": "minimax-m2.5",
        "format": "fp8",
        "accelerators": ["h100-sxm"],
        "tensor_parallel": 8,
    },
    "code of the model's own": {**CHAT, "model": "kimi-linear-48b-a3b", "format": "bf16", "accelerators": ["h200-sxm"]},
    "a checkpoint": {
        **CHAT,
        "model": "qwen3-coder-480b-a35b",
        "format": "fp8",
        "accelerators": ["h200-sxm"],
        "tensor_parallel": 8,
    },
    "on another's card": {**CHAT, "model": "llama-3.3-70b", "format": "fp8", "accelerators": ["mi300x"]},
    "on a card without the units": {
        **CHAT,
        "model": "llama-3.3-70b",
        "format": "fp8",
        "accelerators": ["a100-sxm-80gb"],
    },
    "a checkpoint in int8": {**CHAT, "model": "llama-3.1-8b", "format": "int8", "accelerators": ["a100-sxm-80gb"]},
    "a job": {
        "phase": "batch-inference",
        "model": "qwen3-embedding-8b",
        "dataset_tokens": 20e9,
        "context_tokens": 1024,
        "accelerators": ["b200"],
    },
    "texts to embed": {"phase": "inference", "model": "bge-m3", "requests_per_second": 50, "accelerators": ["l4"]},
    "pictures": {"phase": "inference", "model": "flux.1-schnell", "accelerators": ["h100-sxm"], "format": "fp8"},
    "clips in four bits": {
        "phase": "inference",
        "model": "wan2.2-t2v-a14b",
        "accelerators": ["b200"],
        "format": "nvfp4",
    },
    "clips at a desk": {
        "phase": "inference",
        "model": "wan2.2-ti2v-5b",
        "accelerators": ["rtx-4090"],
        "deployment": "workstation",
        "format": "bf16",
    },
    "a release before it": {**CHAT, "model": "glm-4.5", "format": "fp8", "accelerators": ["h200-sxm"]},
    "candidates": {"phase": "inference", "model": "qwen3-reranker-4b", "accelerators": ["h100-sxm"], "format": "bf16"},
    "proteins": {"phase": "batch-inference", "model": "esm2-650m", "accelerators": ["l4"], "dataset_samples": 1e6},
    "a release": {**CHAT, "model": "glm-4.6", "format": "fp8", "accelerators": ["h200-sxm"]},
    "transcripts of their own": {
        "phase": "inference",
        "task": "speech",
        "model": {
            "parameters": 1.5e9,
            "kind": "encoder-decoder",
            "model_type": "whisper",
            "layers": 32,
            "hidden_size": 1280,
            "heads": 20,
        },
        "accelerators": ["l4"],
    },
    "voices": {"phase": "inference", "model": "chatterbox", "accelerators": ["l4"]},
    "a desk": {**CHAT, "accelerators": ["rtx-4090"], "deployment": "workstation", "concurrency": 2, "format": "q4_k_m"},
    "a mac": {**CHAT, "accelerators": ["apple-m4-max"], "concurrency": 1, "format": "q4_k_m"},
    "translations": {"phase": "inference", "model": "flan-t5-xl", "accelerators": ["l4"]},
    "inferentia fp8": {**CHAT, "accelerators": ["inferentia2"], "format": "fp8"},
    "trainium2": {**CHAT, "model": "llama-3.3-70b", "accelerators": ["trainium2"], "tensor_parallel": 2},
    "sglang": {**CHAT, "accelerators": ["h100-sxm"], "runtime": "sglang", "adapters": 2},
    "drafted": {**CHAT, "model": "llama-3.3-70b", "accelerators": ["h100-sxm"], "speculative": "eagle"},
    "processors": {**TUNE, "model": "llama-3.2-1b", "accelerators": ["xeon-8480"], "count": 2, "max_nodes": 2},
    "four bits over cards": {
        **TUNE,
        "model": "llama-3.1-70b",
        "method": "qlora",
        "accelerators": ["rtx-a6000"],
        "count": 2,
        "sharding": "fsdp",
    },
}


@pytest.fixture(scope="module")
def starts(kb: whygpu.KnowledgeBase) -> dict[str, dict[str, Start]]:
    """Each tool's start of each work's recommendation."""
    return {
        name: {item.tool: item for item in kb.advise(answers, engine="evaluator").start}
        for name, answers in WORK.items()
    }


def words(start: Start) -> list[str]:
    """A command as a shell reads it."""
    assert start.text is not None
    return shlex.split(start.text.replace("\\\n", " "))


def test_a_plan_implies_its_flags(starts: dict[str, dict[str, Start]]) -> None:
    """vLLM's own names (vllm-arguments), with what was asked for as their values."""
    one = words(starts["one card"]["vllm"])
    assert one[:3] == ["vllm", "serve", "meta-llama/Llama-3.1-8B-Instruct"]
    assert one[one.index("--max-model-len") + 1] == "8192"
    assert one[one.index("--max-num-seqs") + 1] == "16"
    assert one[one.index("--gpu-memory-utilization") + 1] == "0.92"  # its default (vllm-cache-config)
    assert "--tensor-parallel-size" not in one
    eight = words(starts["eight cards"]["vllm"])
    assert eight[eight.index("--tensor-parallel-size") + 1] == "8"
    cache = words(starts["fp8 cache"]["sglang"])
    assert cache[cache.index("--kv-cache-dtype") + 1] == "fp8_e4m3"
    assert "--nnodes" in words(starts["two machines"]["vllm"])
    assert any("RANK=0" in note for note in starts["two machines"]["vllm"].notes)


def test_adapters_find_room(starts: dict[str, dict[str, Start]]) -> None:
    """vLLM has room for rank 16 unless told (vllm-lora-config), SGLang asks for rank and layers (sglang-lora)."""
    vllm, sglang = (words(starts["adapters"][tool]) for tool in ("vllm", "sglang"))
    assert vllm[vllm.index("--max-lora-rank") + 1] == "32"  # the next that there is room for after 24
    assert "--max-lora-rank" not in words(starts["fp8 cache"]["vllm"])  # of rank 16
    assert sglang[sglang.index("--max-lora-rank") + 1] == "24"
    assert sglang[sglang.index("--lora-target-modules") + 1] == "all"


def test_experts_are_not_cut_inside_blocks(starts: dict[str, dict[str, Start]]) -> None:
    """1,536 by eight is 192, and a block of MiniMax M2.5 has 128 (vllm-recipe-minimax-m2.5)."""
    assert "--enable-expert-parallel" in words(starts["experts in blocks"]["vllm"])
    sglang = words(starts["experts in blocks"]["sglang"])
    assert sglang[sglang.index("--ep-size") + 1] == "8"
    assert "--enable-expert-parallel" not in words(starts["a release"]["vllm"])


def test_computers_that_a_cable_joins_are_machines_each(kb: whygpu.KnowledgeBase) -> None:
    """A DGX Spark is a computer with one accelerator (spark-stacking), so that two of them are two machines."""
    work = {"phase": "fine-tuning", "model": "llama-3.1-8b", "method": "full", "dataset_tokens": 5e7}
    owned = [{"accelerator": "dgx-spark", "count": 2}]
    advice = kb.advise({**work, "owned": owned, "count": 2}, engine="evaluator")
    assert advice.recommendation is not None
    assert advice.recommendation.count == 2
    assert "--num_processes 2 --num_machines 2" in (advice.start[0].text or "")


def test_shared_memory_leaves_room_for_the_system(starts: dict[str, dict[str, Start]]) -> None:
    """0.92 of a DGX Spark cannot be had when vLLM starts (vllm-recipe-nemotron-3-super)."""
    spark = words(starts["shared memory"]["vllm"])
    assert spark[spark.index("--gpu-memory-utilization") + 1] == "0.85"


def test_a_full_card_keeps_room_for_the_drivers_context(starts: dict[str, dict[str, Start]]) -> None:
    """vLLM does not start where its share of all memory is not free (vllm-memory-profiling): 0.6 GB of an H100's 79.02
    GiB are the context's. SGLang's share is without what it works in (sglang-server-arguments).
    """
    vllm, sglang = (words(starts["a full card"][tool]) for tool in ("vllm", "sglang"))
    given = float(vllm[vllm.index("--gpu-memory-utilization") + 1])
    assert 0.92 < given <= 1 - 0.6e9 / (79.02 * 2**30)
    assert float(sglang[sglang.index("--mem-fraction-static") + 1]) < given


def test_what_was_named_is_started(starts: dict[str, dict[str, Start]]) -> None:
    """The repository that was named; of a model without a name of its own the one that converses."""
    assert words(starts["a distilled model"]["vllm"])[2] == "deepseek-ai/DeepSeek-R1-Distill-Qwen-14B"
    assert "zai-org/GLM-4.6-FP8" in words(starts["a release"]["vllm"])
    assert "openai/whisper-large-v3" in words(starts["transcripts"]["vllm"])  # vllm-supported-models
    assert words(starts["transcripts of their own"]["vllm"])[:2] == ["vllm", "serve"]
    assert starts["translations"]["vllm"].text is None
    assert "vllm" not in starts["voices"]  # a decoder of its own kind, which no list of the stacks has


def test_a_desk_is_told_what_its_users_start(starts: dict[str, dict[str, Start]]) -> None:
    """Ollama takes context and requests from its environment (ollama-context-length, ollama-faq), MLX runs on Macs."""
    ollama = starts["a desk"]["ollama"]
    assert words(ollama) == ["OLLAMA_CONTEXT_LENGTH=8192", "OLLAMA_NUM_PARALLEL=2", "ollama", "serve"]
    assert any("ollama run hf.co/REPOSITORY:q4_k_m" in note for note in ollama.notes)  # hub-ollama
    assert words(starts["a mac"]["mlx-lm"])[:2] == ["mlx_lm.server", "--model"]
    assert "mlx-lm" not in starts["a desk"]
    assert "ollama" not in starts["one card"]


def test_what_other_hardware_asks_for_is_written(starts: dict[str, dict[str, Start]]) -> None:
    """JAX runs one program on each host (jax-multi-process); FP8 on Gaudi is INC's, measured first (vllm-gaudi-inc)."""
    assert words(starts["train jax"]["jax"]) == ["python3", "train.py"]
    assert any("jax.distributed.initialize" in note for note in starts["train jax"]["jax"].notes)
    gaudi = starts["gaudi fp8"]["vllm"]
    assert words(gaudi)[words(gaudi).index("--quantization") + 1] == "inc"
    assert any("QUANT_CONFIG" in note for note in gaudi.notes)


def test_what_newer_releases_changed_is_said(starts: dict[str, dict[str, Start]]) -> None:
    """llama-cpp-split-mode, sglang-serve, vllm-bnb-plugin."""
    two = words(starts["gguf on two"]["llama.cpp"])
    assert two[two.index("--split-mode") + 1] == "tensor"
    assert any("experiment" in note for note in starts["gguf on two"]["llama.cpp"].notes)
    assert words(starts["one card"]["sglang"])[:2] == ["sglang", "serve"]
    assert any("vllm-bnb-plugin" in note for note in starts["nf4"]["vllm"].notes)
    assert not any("vllm-bnb-plugin" in note for note in starts["one card"]["vllm"].notes)


def test_the_stack_that_was_sized_for_comes_first(starts: dict[str, dict[str, Start]]) -> None:
    assert next(iter(starts["one card"])) == "vllm"
    assert next(iter(starts["gguf"])) == "llama.cpp"
    assert next(iter(starts["train"])) == "accelerate"
    assert next(iter(starts["tensorrt-llm"])) == "trtllm-serve"


def test_tensorrt_llm_starts_a_checkpoint_in_its_format(starts: dict[str, dict[str, Start]]) -> None:
    """trtllm-serve: a cache in FP8 is said in a file of options."""
    command = words(starts["tensorrt-llm"]["trtllm-serve"])
    assert command[:2] == ["trtllm-serve", "nvidia/Llama-3.3-70B-Instruct-FP8"]
    assert command[command.index("--tp_size") + 1] == "2"
    assert command[command.index("--config") + 1] == "cache.yaml"
    assert any("kv_cache_config" in note for note in starts["tensorrt-llm"]["trtllm-serve"].notes)


def test_experts_in_the_hosts_memory_are_copied_for_many_tokens_at_once(starts: dict[str, dict[str, Start]]) -> None:
    """textgen issue 7309: prompts three times as fast in micro-batches of 2,048 as of 512, llama.cpp's default."""
    command = words(starts["experts"]["llama.cpp"])
    assert "--cpu-moe" not in command, "the card holds those that it has room for (llama.cpp, pull request 16653)"
    assert command[command.index("--n-gpu-layers") + 1] == "auto"
    assert command[command.index("--fit") + 1] == "on"
    assert command[command.index("--ubatch-size") + 1] == "2048"
    assert "--ubatch-size" not in words(starts["gguf"]["llama.cpp"])


def test_what_learns_from_answers_is_started_by_what_runs_it(starts: dict[str, dict[str, Start]]) -> None:
    """trl-cli, verl-main-ppo, unsloth-grpo: pairs by TRL, rewards by verl, and by Unsloth beside 4 bits."""
    for work, tool, command in (
        ("pairs", "trl", ["trl", "dpo"]),
        ("pairs on four bits", "trl", ["trl", "dpo"]),
        ("rewards", "verl", ["python3", "-m", "verl.trainer.main_ppo", "algorithm.adv_estimator=grpo"]),
        ("rewards by a critic", "verl", ["python3", "-m", "verl.trainer.main_ppo", "algorithm.adv_estimator=gae"]),
        ("rewards on adapters", "unsloth", ["UNSLOTH_VLLM_STANDBY=1", "python3", "train.py"]),
        ("rewards on four bits", "unsloth", ["UNSLOTH_VLLM_STANDBY=1", "python3", "train.py"]),
        ("train", "accelerate", ["accelerate", "launch"]),
        ("adapters on a mac", "mlx-lm-lora", ["mlx_lm.lora", "--model", "MODEL_4BIT", "--train"]),  # mlx-lm-lora
    ):
        assert next(iter(starts[work])) == tool, work
        assert words(starts[work][tool])[: len(command)] == command
    assert "trl" not in starts["train"]
    task = yaml.safe_load(starts["rewards"]["skypilot"].text or "")
    assert shlex.split(task["run"])[2] == "verl.trainer.main_ppo"


def test_rewards_are_learned_from_as_the_plan_was_sized(starts: dict[str, dict[str, Start]]) -> None:
    """The engine is as wide as it was timed, and its share of a card is that of verl-performance-tuning."""
    verl = words(starts["rewards"]["verl"])
    assert {"data.max_prompt_length=1024", "data.max_response_length=3072"} <= set(verl)
    assert {"trainer.n_gpus_per_node=8", "trainer.nnodes=2", "actor_rollout_ref.rollout.n=24"} <= set(verl)
    assert "actor_rollout_ref.rollout.gpu_memory_utilization=0.6" in verl
    (wide,) = (int(word.partition("=")[2]) for word in verl if "rollout.tensor_model_parallel_size" in word)
    trl = words(starts["rewards"]["trl"])
    assert trl[trl.index("--vllm_tensor_parallel_size") + 1] == str(wide)
    assert 16 % wide == 0
    assert any("ray start" in note for note in starts["rewards"]["verl"].notes)


def test_a_step_of_trl_holds_whole_groups_of_answers(starts: dict[str, dict[str, Start]]) -> None:
    """Else TRL refuses it (trl-grpo-config); 16 micro-batches of one sequence are two thirds of 24 answers."""
    trl = words(starts["rewards"]["trl"])
    batch, steps = (int(trl[trl.index(name) + 1]) for name in ("--per_device_train_batch_size", ACCUMULATION))
    assert (batch, steps) == (1, 3)
    assert batch * 16 * steps % 24 == 0


def test_a_micro_batch_of_pairs_counts_pairs_for_trl(starts: dict[str, dict[str, Start]]) -> None:
    """TRL's DPO counts examples, each with two answers (trl-dpo)."""
    trl = words(starts["pairs on four bits"]["trl"])
    assert trl[trl.index("--per_device_train_batch_size") + 1] in ("1", "2", "4")
    assert "--load_in_4bit" in trl
    adapters = words(starts["pairs on adapters"]["trl"])
    assert adapters[adapters.index("--lora_r") + 1] == "32"


def test_a_card_without_bf16_is_started_in_fp16(starts: dict[str, dict[str, Start]]) -> None:
    """On a V100 Accelerate stops where BF16 is asked of it (huggingface/accelerate#1693)."""
    volta = words(starts["train without bf16"]["accelerate"])
    assert volta[volta.index("--mixed_precision") + 1] == "fp16"
    turing = words(starts["pairs without bf16"]["trl"])
    assert (turing[turing.index("--dtype") + 1], turing[turing.index("--fp16") + 1]) == ("float16", "True")
    assert "--fp16" not in words(starts["pairs on four bits"]["trl"])
    narrow = words(starts["train fp8"]["accelerate"])
    assert narrow[narrow.index("--mixed_precision") + 1] == "fp8"


def test_a_process_trains_on_each_logical_core(starts: dict[str, dict[str, Start]]) -> None:
    """AWS, PyTorch NeuronX programming guide: 16 Trainium2 have 64 logical cores."""
    text = starts["train trainium"]["torchrun"].text
    assert text is not None
    assert "--nproc-per-node 64" in text


def test_adapters_are_scaled_where_bf16_is_not_there(starts: dict[str, dict[str, Start]]) -> None:
    text = starts["adapters in bf16 alone on a t4"]["accelerate"].text
    assert text is not None
    assert "--mixed_precision fp16" in text


def test_what_a_tool_cannot_run_is_said_and_not_written(starts: dict[str, dict[str, Start]]) -> None:
    for work, tool, word in (
        ("gguf", "vllm", "q4_k_m"),
        ("nf4", "llama.cpp", "nf4"),
        ("fp8 cache", "llama.cpp", "FP8 cache"),
        ("gguf on two, int8 cache", "llama.cpp", "16 bits only"),
        ("int8 cache", "sglang", "INT8 cache"),
        ("two machines", "kubernetes", "one machine"),
        ("two machines", "llama.cpp", "2 machines"),
        ("train nvfp4", "accelerate", "ends at FP8"),
        ("train jax", "accelerate", "starts PyTorch"),  # jax-multi-process
        ("train zero2 on tpus", "accelerate", "either TPUs or zero2"),  # accelerate-launcher
        ("inferentia fp8", "vllm", "compiled"),  # neuron-fp8-tutorial
        ("pictures on pascal", "sglang-diffusion", "7.5"),  # sglang-capability
        ("pictures of a compiled engine", "sglang-diffusion", "slower"),
        ("rewards by a critic", "trl", "no command for PPO"),  # trl-cli
        ("rewards on four bits", "trl", "once more, in 16 bits"),  # unsloth-grpo-script
        ("processors", "accelerate", "by MPI alone"),  # accelerate-launcher
    ):
        item = starts[work][tool]
        assert item.text is None, (work, tool)
        assert word in (item.cannot or ""), (work, tool)


def test_files_are_yaml_that_asks_for_the_cards(starts: dict[str, dict[str, Start]]) -> None:
    task = yaml.safe_load(starts["eight cards"]["skypilot"].text or "")
    assert task["resources"]["accelerators"] == "L40S:8"
    assert shlex.split(task["run"])[:2] == ["vllm", "serve"]
    assert yaml.safe_load(starts["two machines"]["skypilot"].text or "")["num_nodes"] == 2
    pod = yaml.safe_load(starts["eight cards"]["kubernetes"].text or "")
    (container,) = pod["spec"]["containers"]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": 8}
    assert pod["spec"]["nodeSelector"] == {"nvidia.com/gpu.product": "NVIDIA-L40S"}
    assert "--tensor-parallel-size" in shlex.split(container["command"][2])


def test_a_command_of_one_line_is_a_command(starts: dict[str, dict[str, Start]]) -> None:
    """In a block of YAML quotes would be part of it: a shell looked for a program of that name."""
    task = yaml.safe_load(starts["clips at a desk"]["sglang-diffusion"].text or "")
    assert task == "sglang serve --model-path Wan-AI/Wan2.2-TI2V-5B-Diffusers"
    for work, command in (("rewards on adapters", "UNSLOTH_VLLM_STANDBY=1 python3 train.py"), ("proteins", None)):
        task = yaml.safe_load(starts[work]["skypilot"].text or "")
        assert '"' not in task["run"]
        assert command is None or task["run"].strip() == command


def test_a_cloud_machine_gets_what_the_command_needs(starts: dict[str, dict[str, Start]]) -> None:
    """skypilot-yaml: setup installs, workdir brings the program along; servers listen where the port is open."""
    serving = yaml.safe_load(starts["sglang"]["skypilot"].text or "")
    assert serving["setup"].strip() == "pip install sglang"
    assert serving["resources"]["ports"] == 8000
    assert "--host 0.0.0.0 --port 8000" in serving["run"]
    training = yaml.safe_load(starts["train"]["skypilot"].text or "")
    assert (training["workdir"], training["setup"].strip()) == (".", "pip install -r requirements.txt")


def test_ranks_are_logical_cores_where_a_chip_has_several(starts: dict[str, dict[str, Start]]) -> None:
    """neuron-vllm-ranks: four on a Trainium2."""
    command = words(starts["trainium2"]["vllm"])
    assert command[command.index("--tensor-parallel-size") + 1] == "8"


def test_what_was_answered_of_drafts_and_adapters_is_asked_for(starts: dict[str, dict[str, Start]]) -> None:
    """vllm-speculative, vllm-lora-config, peft-lora-targets, bnb-fsdp-qlora."""
    drafted = words(starts["drafted"]["vllm"])
    assert drafted[drafted.index("--speculative-config.method") + 1] == "eagle3"
    assert any("--lora-modules" in note for note in starts["adapters"]["vllm"].notes)
    assert any("--lora-paths" in note for note in starts["sglang"]["sglang"].notes)
    adapters = words(starts["pairs on adapters"]["trl"])
    assert adapters[adapters.index("--lora_target_modules") + 1] == "all-linear"
    assert any("bnb_4bit_quant_storage" in note for note in starts["four bits over cards"]["accelerate"].notes)


def test_sentences_have_numbers_as_they_are_read(kb: whygpu.KnowledgeBase, starts: dict[str, dict[str, Start]]) -> None:
    """A refusal said that a card has 31.4507289266586 GiB."""
    rewards = {**TUNE, "algorithm": "grpo", "method": "lora", "accelerators": ["rtx-5090"], "count": 1}
    trl = next(item for item in kb.advise(rewards, engine="evaluator").start if item.tool == "trl")
    assert "twice 29.9 GiB leave no room on a card with 31.5" in (trl.cannot or "")
    told = [text for found in starts.values() for item in found.values() for text in (*item.notes, item.cannot or "")]
    assert not [text for text in told if re.search(r"\d\.\d{4}", text)]


def test_all_layers_are_kept_on_the_card(starts: dict[str, dict[str, Start]]) -> None:
    """llama-cpp-fit: else a plan that fills a card may leave layers with the host."""
    command = words(starts["a desk"]["llama.cpp"])
    assert command[command.index("--n-gpu-layers") + 1] == "all"


def test_a_path_is_quoted(kb: whygpu.KnowledgeBase, tmp_path: Path) -> None:
    folder = tmp_path / "my model; rm -rf $HOME"
    folder.mkdir()
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 2048, "vocab_size": 32000}
    sizes = {"intermediate_size": 5632, "num_hidden_layers": 22, "num_attention_heads": 32, "num_key_value_heads": 4}
    (folder / "config.json").write_text(json.dumps({**config, **sizes}), encoding="utf-8")
    answers = {**CHAT, "model": {"config": str(folder / "config.json")}, "accelerators": ["l4"]}
    found = {item.tool: item for item in kb.advise(answers, engine="evaluator").start}
    assert words(found["vllm"])[2] == str(folder)
    pod = yaml.safe_load(found["kubernetes"].text or "")
    assert shlex.split(pod["spec"]["containers"][0]["command"][2])[2] == str(folder)


def test_both_engines_start_it_alike(kb: whygpu.KnowledgeBase, starts: dict[str, dict[str, Start]]) -> None:
    for name in ("one card", "train zero2"):
        assert {item.tool: item for item in kb.advise(WORK[name]).start} == starts[name]


def test_a_checkpoint_made_beforehand_is_served_by_its_name(starts: dict[str, dict[str, Start]]) -> None:
    """As vLLM's recipes have them (vllm-recipes-models): nothing is left to be looked up, and 960 GB are not loaded to
    be quantized. FP8 of Qwen3-Coder in blocks of 128 keeps its experts whole on eight cards.
    """
    large = words(starts["a checkpoint"]["vllm"])
    assert large[2] == "Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8"
    assert "--quantization" not in large
    assert "--enable-expert-parallel" in large
    assert words(starts["a checkpoint in int8"]["vllm"])[2] == "RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w8a8"
    assert "--quantization" in words(starts["on a card without the units"]["vllm"])
    assert words(starts["on another's card"]["vllm"])[2:5] == [
        "meta-llama/Llama-3.3-70B-Instruct",
        "--quantization",
        "fp8",
    ]
    release = words(starts["a release"]["vllm"])  # GLM-4.6: its own, not that of GLM-4.5
    assert release[2] == "zai-org/GLM-4.6-FP8"
    assert "--quantization" not in release
    assert words(starts["a release before it"]["vllm"])[2] == "zai-org/GLM-4.5-FP8"


def test_what_vllm_serves_otherwise_or_not_at_all_is_said(starts: dict[str, dict[str, Start]]) -> None:
    """Qwen3 Reranker writes text unless it is told to score (vllm-scoring); no list of embedding models has ESM."""
    assert any("--hf-overrides" in note for note in starts["candidates"]["vllm"].notes)
    assert not any("--hf-overrides" in note for note in starts["texts to embed"]["vllm"].notes)
    assert all(starts["proteins"][tool].text is None for tool in ("vllm", "sglang"))


def test_pictures_and_clips_are_started(starts: dict[str, dict[str, Start]]) -> None:
    """SGLang serves pipelines of diffusers (sglang-diffusion); under a desk ComfyUI comes first (comfyui-readme)."""
    pictures = ["sglang", "serve", "--model-path", "black-forest-labs/FLUX.1-schnell", "--quantization", "fp8"]
    assert words(starts["pictures"]["sglang-diffusion"])[:6] == pictures
    desk = starts["clips at a desk"]
    assert next(iter(desk)) == "comfyui"
    assert words(desk["sglang-diffusion"])[3] == "Wan-AI/Wan2.2-TI2V-5B-Diffusers"
    assert "comfyui" not in starts["pictures"]


def test_a_job_is_not_held_to_the_batch_it_was_timed_with(starts: dict[str, dict[str, Start]]) -> None:
    """Four texts of a thousand tokens fill a B200, and forty short ones do (vllm-arguments: 256 unless set)."""
    assert "--max-num-seqs" not in words(starts["a job"]["vllm"])
    assert "--max-running-requests" not in words(starts["a job"]["sglang"])
    assert "--max-num-seqs" not in words(starts["texts to embed"]["vllm"])
    assert "--max-num-seqs" in words(starts["one card"]["vllm"])


def test_checkpoints_are_formats_and_repositories(kb: whygpu.KnowledgeBase) -> None:
    formats = kb.knowledge.catalogue.formats
    for entry in kb.knowledge.catalogue.models.values():
        for text in entry.data.get("checkpoints", ()):
            number_format, repository = text.split()
            assert number_format in formats, entry.id
            assert repository.count("/") == 1, entry.id


def test_code_of_the_model_s_own_has_to_be_allowed(starts: dict[str, dict[str, Start]]) -> None:
    """vllm-recipes-models: Kimi Linear's tokenizer is Python of its repository."""
    own = starts["code of the model's own"]["vllm"]
    assert "--trust-remote-code" in words(own)
    assert any("runs Python" in note for note in own.notes)
    assert "--trust-remote-code" not in words(starts["one card"]["vllm"])


def test_one_accelerator_is_no_plural(kb: whygpu.KnowledgeBase) -> None:
    found = kb.advise({**CHAT, "accelerators": ["l4"], "count": 2, "replicas": 2}, engine="evaluator").start
    vllm = next(item for item in found if item.tool == "vllm")
    assert any("on an accelerator of its own" in note for note in vllm.notes)


@pytest.mark.parametrize("tool", sorted(OPTIONS))
def test_every_option_is_one_of_the_tool(starts: dict[str, dict[str, Start]], tool: str) -> None:
    """As its documents list them: these tools are not installed here."""
    used = {
        word.partition("=")[0]
        for found in starts.values()
        if tool in found and found[tool].text
        for word in words(found[tool])
        if word[:2] == "--" or "=" in word
    }
    assert used
    assert used <= set(OPTIONS[tool])


def parser_of(module: str, function: str) -> Any:
    """A tool's own parser; the test is skipped where the tool is not installed."""
    if importlib.util.find_spec(module.partition(".")[0]) is None:
        pytest.skip(f"{module.partition('.')[0]} is not installed: its parser was not asked")
    return getattr(importlib.import_module(module), function)()


@pytest.mark.slow  # to import PyTorch takes seconds
@pytest.mark.parametrize(
    ("tool", "module", "function", "program"),
    [
        ("accelerate", "accelerate.commands.launch", "launch_command_parser", 2),
        ("torchrun", "torch.distributed.run", "get_args_parser", 1),
    ],
)
def test_the_tools_own_parser_takes_it(
    starts: dict[str, dict[str, Start]], tool: str, module: str, function: str, program: int
) -> None:
    parser = parser_of(module, function)
    commands = [words(found[tool])[program:] for found in starts.values() if tool in found and found[tool].text]
    assert len(commands) >= 4
    for command in commands:
        options, unknown = parser.parse_known_args(command)
        assert unknown == []
        assert options.training_script == "train.py"


def test_the_command_line_says_it(run: Command) -> None:
    asked = ["--set", "model=llama-3.1-8b", "--set", "phase=inference", "--engine", "evaluator"]
    found = run("explain", *asked, "--tool", "kubernetis")
    assert found.returncode == 2
    assert "did you mean 'kubernetes'?" in found.stderr
    assert "\nvllm serve CHECKPOINT \\\n" in run("explain", *asked, "--set", "format=gptq-int4", "--start").stdout
    found = run("explain", *asked, "--set", "format=bf16", "--start")
    assert "\nvllm serve meta-llama/Llama-3.1-8B-Instruct \\\n" in found.stdout
    found = run("explain", *asked, "--tool", "torchrun")
    assert "not a tool for such work" in found.stderr
    assert "```\nvllm serve" in run("explain", *asked, "--format", "markdown").stdout


def test_what_is_wrong_with_a_launch_is_said() -> None:
    text = """\
launches:
- id: x
  name: X
  version: "1"
  when: [plan.cuont > 1]
  lines: [{text: "x {start.modle}"}]
  cards: {h100-smx: H}
  source: nowhere
rules: []
"""
    with pytest.raises(KnowledgeBaseError) as caught:
        load_texts({**lean_texts(), "launch.yaml": text}, "kb", REGISTRY)
    assert {problem.code for problem in caught.value.problems} >= {
        "unknown-name",
        "unknown-accelerator",
        "unknown-source",
    }


def test_a_replica_takes_what_one_that_failed_leaves(kb: whygpu.KnowledgeBase) -> None:
    """Two replicas of twenty requests, one of them to spare: either has to take all."""
    answers = {"phase": "inference", "model": "llama-3.1-8b", "concurrency": 20, "criticality": "mission-critical"}
    advice = kb.advise({**answers, "context_tokens": 4000, "deployment": "cloud"}, engine="evaluator")
    plan = advice.recommendation
    assert plan is not None
    assert plan.parallelism.data == 2
    vllm = words(next(item for item in advice.start if item.tool == "vllm"))
    assert vllm[vllm.index("--max-num-seqs") + 1] == "20"


def test_deepspeed_on_several_machines_is_one_training(kb: whygpu.KnowledgeBase) -> None:
    """Accelerate hands several machines to pdsh and a hostfile unless it is told otherwise (its utils/launch.py)."""
    answers = {"phase": "fine-tuning", "model": "llama-3.1-8b", "method": "full", "dataset_tokens": 1e10}
    for count, several in ((8, False), (16, True)):
        layout = {"accelerators": ["h100-sxm"], "count": count, "sharding": "zero2"}
        advice = kb.advise({**answers, **layout}, engine="evaluator")
        start = words(next(item for item in advice.start if item.tool == "accelerate"))
        assert "--use_deepspeed" in start
        assert ("--deepspeed_multinode_launcher" in start) == several
