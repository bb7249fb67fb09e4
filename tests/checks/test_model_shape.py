"""What a shape derives: cache groups, parts, active parameters."""

from __future__ import annotations

import pytest

from tests.checks.conftest import Facts
from whygpu.checks.memory.adapters import adapter_parameters
from whygpu.checks.model_shape import KvGroup
from whygpu.checks.row_lengths import row_lengths


@pytest.mark.parametrize(
    ("model", "bytes_per_token"),
    [
        # DeepSeek-AI 2025 (arXiv:2505.09343), table 1: 70.272, 327.680 and 516.096 kB per token in BF16
        ("deepseek-v3", 70_272),
        ("qwen2.5-72b", 327_680),
        ("llama-3.1-405b", 516_096),
        # Kwon et al. 2023 (arXiv:2309.06180), section 3: 800 kB for OPT-13B, 2 * 5120 * 40 * 2
        ("opt-13b", 819_200),
    ],
)
def test_cache_per_token_as_published(facts: Facts, model: str, bytes_per_token: int) -> None:
    assert facts.shape(model).kv_elements_per_token() * 2 == bytes_per_token


def test_vllm_reports_163840_bytes_a_token_for_mistral_small_24b(facts: Facts) -> None:
    # 40 layers, 8 key and value heads of 128 in BF16
    shape = facts.shape(
        {
            "parameters": 23_600_000_000,
            "layers": 40,
            "hidden_size": 5120,
            "heads": 32,
            "kv_heads": 8,
            "head_dim": 128,
            "vocab_size": 131_072,
        }
    )
    assert shape.kv_elements_per_token() * 2 == 163_840


def test_latent_attention_keeps_one_vector_for_all_heads(facts: Facts) -> None:
    assert facts.shape("deepseek-v3").kv_groups == (KvGroup(61, 512 + 64, 1),)


def test_sliding_layers_keep_their_window(facts: Facts) -> None:
    # gpt-oss alternates full attention with windows of 128 (config.json: layer_types, sliding_window)
    full, sliding = facts.shape("gpt-oss-20b").kv_groups
    assert (full.layers, full.window, sliding.layers, sliding.window) == (12, 0, 12, 128)
    assert sliding.tokens(64) == 64
    assert sliding.tokens(8192) == 128


def test_a_layer_that_chooses_reads_all_narrow_keys_and_the_chosen_vectors(facts: Facts) -> None:
    """DeepSeek-V3.2, 2.1: an indexer of 64 heads of 128 chooses 2,048 tokens of 512 + 64 numbers."""
    (group,) = facts.shape("deepseek-v3.2").kv_groups
    assert group.elements_read(2048) == 704 * 2048
    assert group.elements_read(100_000) == 576 * 2048 + 128 * 100_000
    assert group.attended(100_000) == 2048
    assert group.searched(100_000) == 64 * 128 * 50_000
    assert group.tokens(100_000) == 100_000, "it keeps them all"


@pytest.mark.parametrize(("model", "share"), [("deepseek-v4-pro", 0.27), ("deepseek-v4-flash", 0.10)])
def test_choosing_takes_the_share_of_arithmetic_that_was_published(facts: Facts, model: str, share: float) -> None:
    """DeepSeek-V4, abstract and section 1: operations of one token after 2^20 others, against DeepSeek-V3.2's."""
    ours, before = (
        2.0 * shape.active_parameters + 4.0 * shape.query_width * shape.attended(2.0 * 2**20)
        for shape in (facts.shape(model), facts.shape("deepseek-v3.2"))
    )
    assert ours / before == pytest.approx(share, rel=0.25)


@pytest.mark.parametrize(
    ("model", "experts", "chosen"),
    [
        # NVIDIA Nemotron 3 (arXiv:2512.20856), 2.2: experts on a latent a quarter of the hidden size. The rest of Super
        # (8 billion) is attention, states, shared experts, latent projections and two token tables of half a billion.
        ("nemotron-3-super-120b-a12b", 40 * 512 * 2 * 1024 * 2688, 40 * 22 * 2 * 1024 * 2688),
        ("nemotron-3-ultra-550b-a55b", 48 * 512 * 2 * 2048 * 5120, 48 * 22 * 2 * 2048 * 5120),
        # Kimi K3's config.json: routed_expert_hidden_size 3584 of 7168
        ("kimi-k3", 92 * 896 * 3 * 3584 * 3072, 92 * 16 * 3 * 3584 * 3072),
    ],
)
def test_experts_that_work_in_a_latent_are_as_narrow_as_it(facts: Facts, model: str, experts: int, chosen: int) -> None:
    shape = facts.shape(model)
    assert (shape.expert_parameters, shape.chosen_parameters) == (experts, chosen)
    held = {part.name: part.parameters for part in shape.parts}
    assert held["experts"] == experts, "none is cut off to fit the model"
    assert {rows.length for rows in row_lengths(shape, "experts")} == {shape.routed_width, shape.expert_ffn_size}


def test_adapters_of_experts_in_a_latent_have_its_width(facts: Facts) -> None:
    """Nemotron-3 Super: rank x (inputs + outputs) of each matrix (Hu et al. 2021); shared experts keep the hidden size,
    and the projections to the latent and back are matrices, too."""
    shape = facts.shape("nemotron-3-super-120b-a12b")
    more = adapter_parameters(shape, 1, "all-linear") - adapter_parameters(shape, 1, "attention")
    routed, shared, projections = 512 * 2 * (1024 + 2688), 2 * 2 * (4096 + 2688), 2 * (4096 + 1024)
    assert more == 40 * (routed + shared + projections) + 48 * 2 * 4096


def test_encoders_and_vision_keep_no_cache(facts: Facts) -> None:
    assert facts.shape("bert-base").kv_groups == ()
    assert facts.shape("resnet-50").kv_groups == ()


def test_whisper_keeps_the_sound_beside_the_text(facts: Facts) -> None:
    own, cross = facts.shape("whisper-large-v3").kv_groups
    assert cross.tokens(10) == 1500
    assert own.tokens(10) == 10


def test_tied_tables_still_multiply(facts: Facts) -> None:
    tied, untied = facts.shape("llama-3.2-1b"), facts.shape("llama-3.1-8b")
    assert tied.matmul_parameters == tied.parameters
    assert untied.matmul_parameters == untied.parameters - 128_256 * 4096
