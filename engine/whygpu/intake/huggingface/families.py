"""Architecture families of Hugging Face configurations: what a `model_type` says that its keys do not.

Taken from the modelling files of huggingface/transformers (src/transformers/models/<model_type>), checked there by
counting the parameters of the built modules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from whygpu.checks.model_shape import Kind


@dataclass(frozen=True, slots=True)
class Family:
    """How a layer of the family is built, where the configuration does not say.

    `norms` counts the norms of a layer as wide as the hidden size, `qk_norm` is head (one weight a head dimension),
    width (one a query and key element) or empty. `positions` says whether positions are learned, and `position_extra`
    how many rows more than the configuration names. `sliding` tells which layers slide where no list does: all, none,
    even, or every (all but each n-th, n from the configuration or `sliding_every`). `relative_positions`: each stack
    learns a bias per head and bucket of distance, `relative_every` says that each layer does; `audio`: two
    convolutions of three stand before the encoder. `headless`: the weights were saved without the language model's
    head. `idle_keys`: layers that borrow another's keys and values have their projections all the same. `halved_ffn`:
    the configuration counts gate and up-projection as one width. Of vision: `layer_scales` weights as wide as the
    hidden size in each layer, `pooling_head` an attention that pools the patches.
    """

    kind: Kind = "decoder"
    gated: bool = True
    qkv_bias: bool = False
    out_bias: bool = False
    ffn_bias: bool = False
    norms: int = 2
    norm_bias: bool = False
    final_norm: bool = True
    qk_norm: str = ""
    tied: bool = False
    head_bias: bool = False
    positions: bool = False
    position_extra: int = 0
    embedding_norm: bool = False
    sliding: str = "all"
    sliding_every: int = 0
    default_ffn: int = 4
    one_kv_head: bool = False
    pooler: bool = False
    router_bias: bool = False
    expert_bias: bool = False
    shared_gate: bool = False
    expert_correction: bool = False
    sinks: bool = False
    key_bias: bool = True
    relative_positions: bool = False
    relative_every: bool = False
    audio: bool = False
    gated_attention: bool = False
    shared_experts: int = 0
    indexed: bool = False
    dense_beside_experts: bool = False
    headless: bool = False
    halved_ffn: bool = False
    idle_keys: bool = False
    patch_bias: bool = True
    layer_scales: int = 0
    mask_token: bool = False
    pooling_head: bool = False


_LLAMA = Family()
_GPT = Family(gated=False, qkv_bias=True, out_bias=True, ffn_bias=True, norm_bias=True, tied=True, positions=True)
_BERT = Family(
    kind="encoder",
    gated=False,
    qkv_bias=True,
    out_bias=True,
    ffn_bias=True,
    norm_bias=True,
    final_norm=False,
    tied=True,
    positions=True,
    embedding_norm=True,
    pooler=True,
)
_T5 = Family(kind="encoder-decoder", gated=False, norms=2, tied=True, relative_positions=True)
_BART = Family(
    kind="encoder-decoder",
    gated=False,
    qkv_bias=True,
    out_bias=True,
    ffn_bias=True,
    norm_bias=True,
    tied=True,
    positions=True,
    position_extra=2,
    embedding_norm=True,
    final_norm=False,
)
_VIT = Family(
    kind="vit",
    gated=False,
    qkv_bias=True,
    out_bias=True,
    ffn_bias=True,
    norm_bias=True,
    positions=True,
    position_extra=1,
)

FAMILIES: Mapping[str, Family] = {
    # decoders with a gated feed-forward
    "llama": _LLAMA,
    "mistral": _LLAMA,
    "ministral": _LLAMA,
    "granite": _LLAMA,
    "internlm2": _LLAMA,
    "aquila": _LLAMA,
    "smollm3": _LLAMA,
    "exaone": _LLAMA,
    "baichuan": _LLAMA,
    "yi": _LLAMA,
    "xverse": _LLAMA,
    "minicpm": replace(_LLAMA, tied=True),
    "phi3": _LLAMA,
    "olmo": replace(_LLAMA, norms=0, final_norm=False),
    "olmo2": replace(_LLAMA, qk_norm="width"),
    "olmo3": replace(_LLAMA, qk_norm="width", sliding="every", sliding_every=4),
    "qwen": replace(_LLAMA, qkv_bias=True, halved_ffn=True),
    "qwen2": replace(_LLAMA, qkv_bias=True, sliding="none"),
    "qwen3": replace(_LLAMA, qk_norm="head", sliding="none"),
    "gemma": replace(_LLAMA, tied=True),
    "gemma2": replace(_LLAMA, tied=True, norms=4, sliding="even"),
    "gemma3_text": replace(_LLAMA, tied=True, norms=4, qk_norm="head", sliding="every", sliding_every=6),
    "cohere": replace(_LLAMA, tied=True, norms=1),
    "cohere2": replace(_LLAMA, tied=True, norms=1, sliding="every", sliding_every=4),
    "stablelm": replace(_LLAMA, norm_bias=True),
    "glm": replace(_LLAMA, qkv_bias=True),
    "glm4": replace(_LLAMA, qkv_bias=True, norms=4),
    # mixtures of experts
    "mixtral": _LLAMA,
    "qwen2_moe": replace(_LLAMA, qkv_bias=True, shared_gate=True, sliding="none"),
    "qwen3_moe": replace(_LLAMA, qk_norm="head", sliding="none"),
    "olmoe": replace(_LLAMA, qk_norm="width"),
    "granitemoe": replace(_LLAMA, tied=True),
    "phimoe": replace(_LLAMA, norm_bias=True, qkv_bias=True, out_bias=True, head_bias=True),
    "dbrx": replace(_LLAMA, norm_bias=False),
    "deepseek": _LLAMA,
    "deepseek_v2": _LLAMA,
    "deepseek_v3": replace(_LLAMA, expert_correction=True),
    "kimi_k2": replace(_LLAMA, expert_correction=True),
    "glm4_moe": replace(_LLAMA, qkv_bias=True, expert_correction=True),
    "ernie4_5_moe": _LLAMA,
    "minimax_m2": replace(_LLAMA, qk_norm="width", expert_correction=True),
    "gpt_oss": replace(
        _LLAMA, qkv_bias=True, out_bias=True, router_bias=True, expert_bias=True, sinks=True, sliding="even"
    ),
    "llama4_text": replace(_LLAMA, sliding="every", sliding_every=4, shared_experts=1),
    "deepseek_v32": replace(_LLAMA, expert_correction=True, indexed=True),
    "glm_moe_dsa": replace(_LLAMA, expert_correction=True, indexed=True),
    "gemma4_text": replace(_LLAMA, tied=True, norms=4, qk_norm="head", dense_beside_experts=True),
    "mimo_v2_flash": replace(_LLAMA, expert_correction=True),
    "minimax_m3": replace(_LLAMA, qk_norm="head", expert_correction=True),
    "deepseek_v4": replace(_LLAMA, expert_correction=True, sliding="none"),
    "gemma3n_text": replace(
        _LLAMA, tied=True, norms=4, qk_norm="head", sliding="every", sliding_every=5, idle_keys=True
    ),
    # layers with states among those with attention
    "mamba": replace(_LLAMA, kind="state-space", norms=1, tied=True),
    "mamba2": replace(_LLAMA, kind="state-space", norms=1),
    "falcon_mamba": replace(_LLAMA, kind="state-space", norms=1, tied=True),
    "nemotron-nas": _LLAMA,
    "kimi_linear": replace(_LLAMA, expert_correction=True),
    "jamba": _LLAMA,
    "bamba": _LLAMA,
    "granitemoehybrid": replace(_LLAMA, tied=True),
    "nemotron_h": replace(_LLAMA, gated=False, norms=1, expert_correction=True),
    "qwen3_next": replace(_LLAMA, qk_norm="head", gated_attention=True, shared_gate=True, sliding="none"),
    "qwen3_5_text": replace(_LLAMA, qk_norm="head", gated_attention=True, sliding="none"),
    "qwen3_5_moe_text": replace(_LLAMA, qk_norm="head", gated_attention=True, shared_gate=True, sliding="none"),
    # decoders with a plain feed-forward
    "gpt2": _GPT,
    "gpt_bigcode": replace(_GPT, one_kv_head=True),
    "gpt_neo": replace(_GPT, qkv_bias=False, sliding="even"),
    "gptj": replace(_GPT, qkv_bias=False, out_bias=False, norms=1, positions=False, tied=False, head_bias=True),
    "gpt_neox": replace(_GPT, positions=False, tied=False),
    "opt": replace(_GPT, position_extra=2),
    "bloom": replace(_GPT, positions=False, embedding_norm=True),
    "falcon": Family(gated=False, norms=1, norm_bias=True, tied=True),
    "mpt": Family(gated=False, tied=True),
    "phi": replace(_GPT, positions=False, norms=1, tied=False, head_bias=True),
    "starcoder2": replace(_GPT, positions=False),
    "nemotron": Family(gated=False, norm_bias=True),
    "codegen": replace(_GPT, qkv_bias=False, out_bias=False, norms=1, positions=False, tied=False, head_bias=True),
    # encoders
    "bert": _BERT,
    "roberta": _BERT,
    "xlm-roberta": _BERT,
    "camembert": _BERT,
    "electra": replace(_BERT, pooler=False),
    "distilbert": replace(_BERT, pooler=False),
    "mpnet": _BERT,
    "nomic_bert": replace(
        _BERT, gated=True, positions=False, qkv_bias=False, out_bias=False, ffn_bias=False, pooler=False
    ),
    "esm": replace(_BERT, embedding_norm=False, final_norm=True),
    "modernbert": Family(kind="encoder", gated=True, tied=True, embedding_norm=True, sliding="every", sliding_every=3),
    "clip_text_model": replace(_BERT, embedding_norm=False, final_norm=True, pooler=False),
    "siglip_text_model": replace(_BERT, embedding_norm=False, final_norm=True, pooler=False),
    # encoder-decoders
    "t5": _T5,
    "mt5": replace(_T5, tied=False),
    "umt5": replace(_T5, tied=False, relative_every=True),
    "bart": _BART,
    "mbart": replace(_BART, final_norm=True),
    "pegasus": replace(_BART, positions=False, embedding_norm=False, final_norm=True),
    "marian": replace(_BART, positions=False, embedding_norm=False),
    "whisper": replace(_BART, embedding_norm=False, position_extra=0, final_norm=True, key_bias=False, audio=True),
    # vision
    "vit": _VIT,
    "deit": replace(_VIT, position_extra=2),
    "dinov2": replace(_VIT, layer_scales=2, mask_token=True),
    "clip_vision_model": replace(_VIT, embedding_norm=True, patch_bias=False),
    "siglip_vision_model": replace(_VIT, position_extra=0, pooling_head=True),
    "beit": replace(_VIT, positions=False, key_bias=False, layer_scales=2),
}

# Model types that are built like another one, for the language model alone.
ALIKE: Mapping[str, str] = {
    "deepseek_vl_v2": "deepseek_v2",
    "gemma3": "gemma3_text",
    "gemma3n": "gemma3n_text",
    "gemma4": "gemma4_text",
    "internvl_text": "qwen2",
    "kimi_k25": "kimi_k2",
    "llama4": "llama4_text",
    "mimo": "qwen2",
    "minimax_m3_vl": "minimax_m3",
    "mistral3_text": "mistral",
    "pixtral_text": "mistral",
    "qwen2_5_vl": "qwen2",
    "qwen2_5_vl_text": "qwen2",
    "qwen2_vl": "qwen2",
    "qwen2_vl_text": "qwen2",
    "qwen3_5": "qwen3_5_text",
    "qwen3_5_moe": "qwen3_5_moe_text",
    "qwen3_vl_moe_text": "qwen3_moe",
    "qwen3_vl_text": "qwen3",
    "step3p7": "qwen3_moe",
}


NESTED = ("text_config", "llm_config", "language_config", "thinker_config")
"""Keys under which a multimodal configuration keeps that of its language model."""
