"""A Hugging Face config.json, as a mapping, becomes a shape: sizes from its keys, parameters counted by its family."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches

from whygpu.checks.shape import ModelShape
from whygpu.intake import keys
from whygpu.intake.attention_pattern import read_pattern
from whygpu.intake.count import Sizes, linear, transformer
from whygpu.intake.families import FAMILIES, NESTED, Family
from whygpu.intake.limits import Reader, shown
from whygpu.intake.problems import IntakeProblem, IntakeResult, has_errors

MOST_KEYS = 2000


def from_hf_config(data: object, *, at: str = "model.config", name: str = "") -> IntakeResult:
    """Read a config.json that was parsed already. Never raises on bad input: problems name the key and the mend."""
    if not isinstance(data, Mapping):
        return None, [IntakeProblem(at, f"is {shown(data)}, not the mapping a config.json holds")]
    if len(data) > MOST_KEYS:
        return None, [IntakeProblem(at, f"has {len(data)} keys, more than the {MOST_KEYS} a configuration may have")]
    outer = Reader(data, at)
    reader = _language_model(outer)
    model_type = reader.text("model_type")
    family = FAMILIES.get(model_type)
    if family is None:
        family = _unknown(reader, model_type)
    if family.kind == "vit":
        return _vision(reader, family, name or _name(outer))
    missing = _missing(reader)
    if missing:
        reader.complain(
            "",
            f"lacks {', '.join(missing)}",
            _still_said(reader) + "give the sizes as a mapping instead, or at least parameters",
        )
        return None, outer.problems
    return _transformer(outer, reader, family, name or _name(outer))


def _name(reader: Reader) -> str:
    return (
        reader.text("_name_or_path") or reader.text("name") or reader.text("model_type") or "a model by its config.json"
    )


def _language_model(outer: Reader) -> Reader:
    """The part of a multimodal configuration that speaks of the language model."""
    for key in NESTED:
        inner = outer.inner(key) if isinstance(outer.data.get(key), Mapping) else None
        if inner is not None and inner.has(*keys.HIDDEN):
            return inner
    return outer


def _unknown(reader: Reader, model_type: str) -> Family:
    near = get_close_matches(model_type, FAMILIES, n=1) if model_type else []
    said = f"architecture {shown(model_type)} is not known" if model_type else "names no model_type"
    reader.complain(
        "model_type",
        f"{said}: it is taken as a decoder with a gated feed-forward and no biases",
        f"did you mean {near[0]}?" if near else "check the number of parameters it comes to",
        "warning",
    )
    return Family()


def _missing(reader: Reader) -> list[str]:
    """Sizes that nothing else can stand in for, by their usual names."""
    needed = {
        "num_hidden_layers": keys.LAYERS + keys.DECODER_LAYERS,
        "hidden_size": keys.HIDDEN,
        "num_attention_heads": keys.HEADS,
        "vocab_size": keys.VOCABULARY,
    }
    return [usual for usual, names in needed.items() if not reader.has(*names)]


def _still_said(reader: Reader) -> str:
    """What can be said all the same: the token table, and the cache of a token."""
    hidden, vocabulary = reader.whole("hidden", *keys.HIDDEN), reader.whole("vocabulary", *keys.VOCABULARY)
    if hidden and vocabulary:
        return f"its token table alone has {hidden * vocabulary} parameters; "
    return ""


def _transformer(outer: Reader, reader: Reader, family: Family, name: str) -> IntakeResult:
    assumed: list[str] = ["parameters"]
    layers = (
        reader.whole(
            "layers", *(keys.DECODER_LAYERS + keys.LAYERS if family.kind == "encoder-decoder" else keys.LAYERS)
        )
        or 1
    )
    hidden = reader.whole("hidden", *keys.HIDDEN) or 1
    heads = reader.whole("heads", *keys.HEADS) or 1
    kv_heads = _kv_heads(reader, family, heads)
    head_dim = reader.whole("head", *keys.HEAD_DIM)
    if head_dim is None:
        head_dim = max(hidden // heads, 1)
        assumed.append("head_dim")
    ffn = reader.whole("hidden", *keys.FFN)
    if ffn is None:
        ffn = family.default_ffn * hidden
        assumed.append("ffn_size")
    gated = _gated(reader, family)
    pattern = read_pattern(reader, family, layers)
    encoder_layers = (reader.whole("layers", *keys.LAYERS) or layers) if family.kind == "encoder-decoder" else 0
    sizes = Sizes(
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        ffn=ffn,
        vocabulary=reader.whole("vocabulary", *keys.VOCABULARY) or 1,
        positions=reader.count("tokens", *keys.POSITIONS),
        tied=reader.flag(family.tied, "tie_word_embeddings"),
        encoder_layers=encoder_layers,
        type_vocabulary=reader.count("vocabulary", "type_vocab_size") if family.kind == "encoder" else 0,
        source_positions=reader.count("tokens", "max_source_positions"),
        audio_bins=reader.count("heads", "num_mel_bins"),
        buckets=reader.count("tokens", "relative_attention_num_buckets") or 32,
        embedding_dim=_embedding_width(reader, hidden),
        **_experts(reader, layers, ffn),
        **_latent(reader, head_dim),
    )
    if has_errors(outer.problems):
        return None, outer.problems
    counted = transformer(sizes, _with_biases(reader, family, gated))
    source_tokens = reader.count("tokens", "max_source_positions") if encoder_layers else 0
    shape = ModelShape(
        name=name,
        kind=family.kind,
        parameters=counted.parameters,
        active_parameters=counted.active,
        layers=layers,
        hidden_size=hidden,
        ffn_size=ffn,
        gated_ffn=gated,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=sizes.nope_dim or head_dim,
        vocab_size=sizes.vocabulary,
        tied_embeddings=sizes.tied,
        experts=sizes.experts,
        experts_per_token=sizes.experts_per_token,
        shared_experts=sizes.shared_ffn // sizes.expert_ffn if sizes.expert_ffn else 0,
        expert_ffn_size=sizes.expert_ffn,
        moe_layers=sizes.moe_layers,
        kv_lora_rank=sizes.kv_lora,
        qk_rope_head_dim=sizes.rope_dim,
        q_lora_rank=sizes.q_lora,
        v_head_dim=sizes.value_dim,
        sliding_window=pattern.window,
        sliding_layers=pattern.sliding_layers,
        encoder_layers=encoder_layers,
        source_tokens=source_tokens,
        positions=sizes.positions,
        assumed=tuple(assumed),
    )
    return shape, outer.problems


def _kv_heads(reader: Reader, family: Family, heads: int) -> int:
    given = reader.whole("heads", *keys.KV_HEADS)
    if given is not None:
        if given > heads:
            reader.complain(keys.KV_HEADS[0], f"is {given}, more than the {heads} heads")
        # Falcon's old architecture names the number of heads here, and still shares one.
        if not reader.flag(False, "multi_query") or reader.flag(False, "new_decoder_architecture"):
            return given
    if reader.flag(family.one_kv_head, "multi_query") and not reader.flag(False, "new_decoder_architecture"):
        return 1
    return given or heads


def _gated(reader: Reader, family: Family) -> bool:
    projection = reader.text("feed_forward_proj")
    if projection:
        return projection.startswith("gated")
    return reader.flag(family.gated, "is_gated_act")


def _with_biases(reader: Reader, family: Family, gated: bool) -> Family:
    """The family, with what this configuration says of biases."""
    bias = reader.flag(family.qkv_bias, "attention_bias", "qkv_bias")
    return replace(
        family,
        gated=gated,
        qkv_bias=bias,
        out_bias=family.out_bias or (bias and not family.qkv_bias),
        ffn_bias=reader.flag(family.ffn_bias, "mlp_bias"),
    )


def _embedding_width(reader: Reader, hidden: int) -> int:
    """Width of the token table, where it is not the hidden size (OPT 350M, ELECTRA, ALBERT)."""
    width = reader.count("hidden", "word_embed_proj_dim", "embedding_size")
    return 0 if width == hidden else width


def _experts(reader: Reader, layers: int, ffn: int) -> dict[str, int]:
    experts = reader.count("experts", *keys.EXPERTS)
    if experts <= 1:
        return {}
    chosen = reader.whole("experts", *keys.EXPERTS_PER_TOKEN)
    if chosen is None or chosen > experts:
        reader.complain(
            keys.EXPERTS_PER_TOKEN[0],
            f"is {chosen}, with {experts} experts",
            "say how many experts a token passes through",
        )
        return {}
    expert_ffn = reader.whole("hidden", *keys.EXPERT_FFN) or ffn
    shared = reader.count("experts", *keys.SHARED_EXPERTS) * expert_ffn
    shared = reader.count("hidden", "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size") or shared
    dense = reader.count("layers", *keys.DENSE_LAYERS)
    step = reader.count("layers", "decoder_sparse_step", "moe_layer_freq", "interleave_moe_layer_step") or 1
    return {
        "experts": experts,
        "experts_per_token": chosen,
        "expert_ffn": expert_ffn,
        "shared_ffn": shared,
        "moe_layers": max(layers - dense, 0) // step,
    }


def _latent(reader: Reader, head_dim: int) -> dict[str, int]:
    rank = reader.count("hidden", "kv_lora_rank")
    if not rank:
        return {}
    return {
        "kv_lora": rank,
        "rope_dim": reader.count("head", "qk_rope_head_dim"),
        "nope_dim": reader.count("head", "qk_nope_head_dim") or head_dim,
        "value_dim": reader.count("head", "v_head_dim") or head_dim,
        "q_lora": reader.count("hidden", "q_lora_rank"),
    }


def _vision(reader: Reader, family: Family, name: str) -> IntakeResult:
    """A vision transformer: tokens are patches; operations follow from its parameters, 2 for each and token, and the
    scores.
    """
    missing = [
        usual
        for usual, names in {
            "num_hidden_layers": keys.LAYERS,
            "hidden_size": keys.HIDDEN,
            "num_attention_heads": keys.HEADS,
            "image_size": ("image_size",),
            "patch_size": ("patch_size",),
        }.items()
        if not reader.has(*names)
    ]
    if missing:
        reader.complain(
            "",
            f"lacks {', '.join(missing)}",
            "give the sizes as a mapping instead, or at least parameters and image_size",
        )
        return None, reader.problems
    layers, hidden = reader.whole("layers", *keys.LAYERS) or 1, reader.whole("hidden", *keys.HIDDEN) or 1
    heads, ffn = (
        reader.whole("heads", *keys.HEADS) or 1,
        reader.whole("hidden", *keys.FFN) or family.default_ffn * hidden,
    )
    image, patch = reader.whole("pixels", "image_size") or 1, reader.whole("pixels", "patch_size") or 1
    channels = reader.whole("heads", "num_channels") or 3
    if has_errors(reader.problems):
        return None, reader.problems
    patches = max(image // patch, 1) ** 2
    tokens = patches + family.position_extra
    head_dim = max(hidden // heads, 1)
    sizes = Sizes(layers, hidden, heads, heads, head_dim, ffn, vocabulary=0, positions=patches, tied=True)
    count = (
        transformer(sizes, family).parameters
        + linear(channels * patch * patch, hidden, True)
        + family.position_extra * hidden
    )
    shape = ModelShape(
        name=name,
        kind="vit",
        parameters=count,
        layers=layers,
        hidden_size=hidden,
        ffn_size=ffn,
        gated_ffn=family.gated,
        heads=heads,
        kv_heads=heads,
        head_dim=head_dim,
        image_size=image,
        positions=tokens,
        assumed=("parameters", "flops_per_sample"),
        flops_per_sample=2.0 * count * tokens + 4.0 * layers * heads * head_dim * tokens**2,
        peak_bytes_per_sample=4.0 * tokens * (ffn + 4 * hidden),
    )
    return shape, reader.problems
