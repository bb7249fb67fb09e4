"""The names that Hugging Face configurations give one and the same size."""

from __future__ import annotations

LAYERS = ("num_hidden_layers", "n_layer", "num_layers", "n_layers", "encoder_layers")
DECODER_LAYERS = ("decoder_layers", "num_decoder_layers")
HIDDEN = ("hidden_size", "n_embd", "n_embed", "d_model", "dim", "embed_dim")
HEADS = ("num_attention_heads", "n_head", "num_heads", "n_heads", "encoder_attention_heads")
KV_HEADS = ("num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num")
HEAD_DIM = ("head_dim", "d_kv", "kv_channels", "attention_head_dim")
FFN = ("intermediate_size", "n_inner", "d_ff", "ffn_dim", "ffn_hidden_size", "hidden_dim", "encoder_ffn_dim")
DENSE_FFN = ("intermediate_size_mlp", "dense_intermediate_size")
"""Width of the layers without experts, where that of FFN is the experts' (Llama 4, MiniMax-M3)."""
LATENT_EXPERTS = ("moe_latent_size", "routed_expert_hidden_size")
VOCABULARY = ("vocab_size", "padded_vocab_size")
POSITIONS = ("max_position_embeddings", "n_positions", "max_target_positions", "n_ctx", "max_seq_len")
EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts")
EXPERTS_PER_TOKEN = (
    "num_experts_per_tok",
    "experts_per_token",
    "num_experts_per_token",
    "moe_top_k",
    "top_k_experts",
    "moe_topk",
    "moe_k",
)
EXPERT_FFN = ("moe_intermediate_size", "expert_ffn_hidden_size", "moe_ffn_hidden_size", "expert_intermediate_size")
SHARED_EXPERTS = ("n_shared_experts", "num_shared_experts", "moe_num_shared_experts")
DENSE_LAYERS = ("first_k_dense_replace", "num_dense_layers", "moe_layer_start_index")
SHARED_FFN = (
    "shared_expert_intermediate_size",
    "moe_shared_expert_intermediate_size",
    "share_expert_dim",
    "shared_intermediate_size",
)
