"""A Hugging Face config.json, as a mapping, becomes a shape: sizes from its keys, parameters counted by its family."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from whygpu.checks.model_shape import KvGroup, ModelShape
from whygpu.errors import did_you_mean
from whygpu.intake.count import AttentionKind, transformer
from whygpu.intake.diffusers.components import class_of, from_component
from whygpu.intake.files.quantization import configured_format, quantization_of
from whygpu.intake.huggingface import keys
from whygpu.intake.huggingface.convolutional import CONVOLUTIONAL, read_convolutional
from whygpu.intake.huggingface.families import ALIKE, FAMILIES, NESTED, Family
from whygpu.intake.huggingface.layer_pattern import LISTS
from whygpu.intake.huggingface.sizes import Described, architecture, describe
from whygpu.intake.huggingface.towers import image_tower, tower_parameters
from whygpu.intake.huggingface.vision import TWIN_TOWERS, coming_to, read_twins, read_vision
from whygpu.intake.limits import Reader, shown
from whygpu.intake.problems import IntakeProblem, IntakeResult, has_errors

MOST_KEYS = 2000
# Keys of architectures whose layers are not alike in ways that no family here describes.
UNCOUNTED = ("block_configs", "compress_ratios", "linear_attn_config", "hybrid_override_pattern", "kv_lora_rank",
             "state_size", "mamba_d_state", "linear_num_value_heads", "num_kv_shared_layers", "sparse_attention_config",
             "hidden_size_per_layer_input")  # fmt: skip


def from_hf_config(
    data: object, *, at: str = "model.config", name: str = "", parameters: int = 0, active_parameters: int = 0
) -> IntakeResult:
    """Read a config.json that was parsed already. Never raises on bad input: problems name the key and the fix.

    `parameters` and `active_parameters`, where given, stand instead of what is counted.
    """
    if not isinstance(data, Mapping):
        return None, [IntakeProblem(at, f"is {shown(data)}, not the mapping a config.json holds")]
    if len(data) > MOST_KEYS:
        return None, [IntakeProblem(at, f"has {len(data)} keys, more than the {MOST_KEYS} a configuration may have")]
    if class_of(data):
        return _as_given(from_component(data, at, name=name, parameters=parameters), parameters)
    outer = Reader(data, at)
    outer_type = outer.text("model_type")
    if outer_type in CONVOLUTIONAL:
        return _as_given(read_convolutional(outer, outer_type, name or _name(outer)), parameters)
    if outer_type in TWIN_TOWERS:
        return _as_given(read_twins(outer, TWIN_TOWERS[outer_type], name or _name(outer)), parameters)
    reader = _language_model(outer)
    model_type = reader.text("model_type") or outer_type
    family = FAMILIES.get(ALIKE.get(model_type, model_type))
    if family is None:
        family = _unknown(reader, model_type, bool(parameters))
    family = _as_saved(reader, family)
    name = name or _name(outer)
    if family.kind == "vit":
        return _as_given(read_vision(reader, family, name), parameters)
    missing = _missing(reader, family)
    if missing:
        hint = f"{_still_said(reader)}give the sizes as a mapping instead, or at least parameters"
        reader.complain("", f"lacks {', '.join(missing)}", hint)
    if has_errors(outer.problems):
        return None, outer.problems
    described = describe(reader, family)
    family = _as_configured(reader, family)
    if has_errors(outer.problems):
        return None, outer.problems
    tower = tower_parameters(outer, described.sizes.hidden) if reader is not outer else 0
    if has_errors(outer.problems):
        return None, outer.problems
    _say_what_is_left_out(outer, reader, tower)
    shape = _shape(described, family, name, (parameters, active_parameters), tower)
    published = _published_format(outer, reader)
    images = image_tower(outer) if tower else None
    images = images if images and images.token_patches else None  # how much an image is then, nobody says
    model_type = outer_type or model_type
    return replace(shape, published_format=published, model_type=model_type, image_tower=images), outer.problems


def _published_format(outer: Reader, reader: Reader) -> str:
    """The format of fewer than 16 bits that the weights are published in; empty: none."""
    quantization = quantization_of(outer.data) or quantization_of(reader.data)
    found = configured_format(quantization)
    if found == "fp8" and reader.text("expert_dtype") == "fp4":
        return "mxfp4"
    if quantization and not found:
        method = shown(quantization.get("quant_method"))
        said = f"is by {method}, which is not known: the weights are taken as of 16 bits"
        outer.complain("quantization_config", said, "name a format of the catalogue as 'format'", "warning")
    return found


def _as_given(read: IntakeResult, parameters: int) -> IntakeResult:
    """What was read, with the parameters that were given instead of the count."""
    shape, problems = read
    if shape is None or not parameters:
        return read
    assumed = tuple(word for word in shape.assumed if word != "parameters")
    return replace(coming_to(shape, parameters), assumed=assumed), problems


def _as_saved(reader: Reader, family: Family) -> Family:
    """The family, without what the class that the weights were saved from leaves out: a decoder, a head."""
    saved = architecture(reader)
    if family.kind == "encoder-decoder" and saved.endswith("EncoderModel"):
        return replace(family, kind="encoder")
    if family.kind == "decoder" and re.fullmatch(r"\w+(?<!LMHead)Model", saved):
        return replace(family, headless=True)
    return family


def _name(reader: Reader) -> str:
    words = (reader.text("_name_or_path"), reader.text("name"), reader.text("model_type"))
    return next((word for word in words if word), "a model by its config.json")


def _language_model(outer: Reader) -> Reader:
    """The part of a multimodal configuration that speaks of the language model."""
    for key in NESTED:
        inner = outer.inner(key) if isinstance(outer.data.get(key), Mapping) else None
        if inner is not None and inner.has(*keys.HIDDEN):
            return inner
    return outer


def _unknown(reader: Reader, model_type: str, counted: bool) -> Family:
    """What an unknown architecture is taken for: a plain decoder, unless its keys say that it is something else."""
    said = f"architecture {shown(model_type)} is not known" if model_type else "names no model_type"
    apart = [key for key in UNCOUNTED if reader.has(key)]
    if apart and not counted:
        hint = f"{_still_said(reader)}give parameters beside config"
        reader.complain(
            "model_type", f"{said}, and {', '.join(apart)} say that its layers are not the usual ones", hint
        )
        return Family()
    hint = did_you_mean(model_type, FAMILIES) or "check the number of parameters it comes to"
    taken = "it is taken as a decoder with a gated feed-forward and no biases"
    reader.complain("model_type", f"{said}: {taken}", hint, "warning")
    return Family()


def _missing(reader: Reader, family: Family) -> list[str]:
    """Sizes that nothing else can stand in for, by their usual names."""
    needed = {
        "num_hidden_layers": keys.LAYERS + keys.DECODER_LAYERS + LISTS,
        "hidden_size": keys.HIDDEN,
        "num_attention_heads": keys.HEADS,
        "vocab_size": keys.VOCABULARY,
    }
    if family.kind == "state-space":
        del needed["num_attention_heads"]
    return [usual for usual, names in needed.items() if not reader.has(*names)]


def _still_said(reader: Reader) -> str:
    """What can be said all the same: the size of the token table."""
    aside = Reader(reader.data)
    hidden, vocabulary = aside.whole("hidden", *keys.HIDDEN), aside.whole("vocabulary", *keys.VOCABULARY)
    return f"its token table alone has {hidden * vocabulary} parameters; " if hidden and vocabulary else ""


def _as_configured(reader: Reader, family: Family) -> Family:
    """The family, with what this configuration says of gates and biases."""
    bias = reader.flag(family.qkv_bias, "attention_bias", "qkv_bias")
    projection = reader.text("feed_forward_proj")
    gated = projection.startswith("gated") if projection else reader.flag(family.gated, "is_gated_act")
    # Falcon's later architecture has a norm for each of attention and feed-forward.
    norms = 2 if reader.flag(False, "new_decoder_architecture") else family.norms
    return replace(
        family,
        norms=norms,
        gated=gated,
        qkv_bias=bias,
        out_bias=family.out_bias or (bias and not family.qkv_bias),
        ffn_bias=reader.flag(family.ffn_bias, "mlp_bias"),
    )


def _say_what_is_left_out(outer: Reader, reader: Reader, tower: int) -> None:
    """Modules that need not be loaded, and towers beside the language model."""
    further = reader.count("layers", "num_nextn_predict_layers", "mtp_num_hidden_layers")
    if further:
        said = f"adds {further} that predict further tokens: in the file, not counted here, as they need not be loaded"
        reader.complain("num_nextn_predict_layers", said, "", "warning")
    if reader is outer:
        return
    if tower:
        said = f"adds {tower} parameters to memory, which images pass through, and no text"
        outer.complain("vision_config", said, "", "warning")
    for key in ("audio_config",) if tower else ("vision_config", "audio_config"):
        if outer.has(key):
            outer.complain(key, "is not counted: the figures are those of the language model", "", "warning")


def _shape(described: Described, family: Family, name: str, given: tuple[int, int], tower: int) -> ModelShape:
    sizes, pattern, latent, experts = (
        described.sizes,
        described.pattern,
        described.sizes.latent,
        described.sizes.experts,
    )
    counted = transformer(sizes, family)
    own = [one for one in sizes.attentions if not one.borrows]
    kind = max(own, key=lambda one: one.layers, default=AttentionKind(0, 0, 0, 0, 0))
    plain = len({(one.kv_heads, one.key_dim, one.value_dim, one.borrows) for one in sizes.attentions}) == 1
    attending = sum(one.layers for one in sizes.attentions)
    even = plain and kind.key_dim == kind.value_dim and attending == pattern.layers - pattern.state
    parameters = given[0] or counted.parameters + tower
    return ModelShape(
        name=name,
        kind=family.kind,
        parameters=parameters,
        active_parameters=min(given[1] or (parameters if given[0] else counted.active), parameters),
        layers=sizes.layers,
        hidden_size=sizes.hidden,
        ffn_size=sizes.ffn if sizes.dense_layers or sizes.uneven_parameters or family.dense_beside_experts else 0,
        gated_ffn=family.gated,
        heads=kind.heads,
        kv_heads=kind.kv_heads,
        head_dim=latent.nope_dim if latent else kind.key_dim,
        vocab_size=sizes.vocabulary,
        tied_embeddings=sizes.tied,
        experts=experts.count if experts else 0,
        experts_per_token=experts.chosen if experts else 0,
        shared_experts=experts.shared // experts.width if experts else 0,
        expert_ffn_size=experts.width if experts else 0,
        expert_latent_size=experts.latent if experts else 0,
        moe_layers=sizes.expert_layers,
        kv_lora_rank=latent.rank if latent else 0,
        qk_rope_head_dim=latent.rope_dim if latent else 0,
        q_lora_rank=latent.query_rank if latent else 0,
        v_head_dim=latent.value_dim if latent else 0,
        sliding_window=pattern.window,
        sliding_layers=pattern.sliding,
        state_layers=pattern.state,
        state_elements=described.state.elements if described.state else 0,
        encoder_layers=sizes.encoder_layers,
        source_tokens=sizes.source_positions if sizes.encoder_layers else 0,
        positions=sizes.positions,
        kv_groups=described.cache or (() if even or latent else _groups(described)),
        assumed=(*(() if given[0] else ("parameters",)), *described.assumed),
    )


def _groups(described: Described) -> tuple[KvGroup, ...]:
    """What the cache holds, where layers differ in their heads or some have none, or borrow what another has."""
    return tuple(
        KvGroup(
            kind.layers,
            0 if kind.borrows else kind.kv_heads * (kind.key_dim + kind.value_dim),
            kind.kv_heads,
            kind.window,
        )
        for kind in described.sizes.attentions
        if kind.layers
    )
