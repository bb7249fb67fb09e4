"""Speed of training: three terms that follow each other on a card, and what host and network add.

Matrix products: 6 operations per parameter and token (2 forward, 4 backward), 2 more where the forward pass is
repeated, 4 where the weights are frozen and only adapters learn, over the rate that a training step's products reach.
Attention: its two products forward, 3.5 times that in all, for its kernel computes the scores anew in the backward
pass (Dao 2023, 4.1), halved by the causal mask, at a rate of its own. Elementwise work (norms, activations, residuals,
the loss): bytes in proportion to what the layers keep, over the bandwidth; with it what is copied to and from the
buffers of sharded weights. Beside them the host dispatches operators, ahead of the card where it can.
Sources: Kaplan et al. 2020 (2.1), Chowdhery et al. 2022 (appendix B), Korthikanti et al. 2022, Dao 2023
(arXiv:2307.08691), Ivanov et al. 2020 (arXiv:2007.00072).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whygpu.checks.memory.activations import activations, sample_bytes, step_tokens, width
from whygpu.checks.memory.adapters import adapter_parameters
from whygpu.checks.memory.training import OFFLOADED
from whygpu.checks.memory.weights import ENDS, turns
from whygpu.checks.model_shape import TOKEN_KINDS, ModelShape
from whygpu.checks.setup import FloatArray, ParallelLayout, Setup
from whygpu.checks.speed.alignment import Rollout, further_passes, rollout
from whygpu.checks.speed.columns import WIRE, Band, Columns, Wire
from whygpu.checks.speed.vision import host_s

UNCERTAIN = (
    "joules-per-operation",
    "product-rate-share",
    "training-product-share",
    "attention-share",
    "training-traffic",
    "traffic-left",
    "convolution-traffic",
    "expert-traffic-bytes",
    "table-exchange-bytes",
    "rollout-tail",
    "training-launch-s-per-layer",
    "gather-launch-s-per-layer",
    "gather-copy-bytes",
    "forward-operators",
    "forward-operator-s",
    "vision-step-s",
    "operator-s",
    "sound-load-s",
    "unpack-share",
    "decode-bandwidth-share",
    "exchange-overlap",
    "expert-exchange-overlap",
    "host-update-bytes-s",
    "formula-error",
    *WIRE,
)


REPEATED = {"full": 1.0, "selective": 0.5}
"""Share of the forward pass's products that are computed once more (PyTorch, selective activation checkpointing)."""


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """What a card does for one micro-batch: operations over n plans, and seconds as rows over them."""

    product_flops: FloatArray
    attention_flops: FloatArray
    share: FloatArray
    products_s: FloatArray
    attention_s: FloatArray
    traffic_s: FloatArray
    unpack_s: FloatArray
    launch_s: FloatArray
    waiting_s: FloatArray

    @property
    def busy_s(self) -> FloatArray:
        """Seconds of the card, whatever the host takes to launch it."""
        return self.products_s + self.attention_s + self.traffic_s + self.unpack_s


@dataclass(frozen=True, slots=True)
class TrainingWork:
    """Columns and rows behind the figures. Seconds per optimizer step over one micro-batch; rows over n plans
    unless said.
    """

    columns: Columns
    batch: MicroBatch
    bubble: FloatArray
    compute_s: FloatArray
    update_s: FloatArray
    tensor_wire_s: FloatArray
    data_wire_s: FloatArray
    table_wire_s: FloatArray
    expert_wire_s: FloatArray
    offload_s: FloatArray
    further_s: FloatArray
    rollout: Rollout
    step_s: FloatArray
    samples_s: FloatArray
    tokens_s: FloatArray
    work_total: float


def passes(columns: Columns) -> float:
    """Operations per parameter and token; selective recomputation repeats every other product of the forward pass."""
    setup = columns.setup
    forward_backward = 6.0 if setup.method == "full" else 4.0
    return forward_backward + 2.0 * REPEATED.get(setup.gradient_checkpointing, 0.0)


def tokens_of(columns: Columns) -> FloatArray:
    """Tokens of one micro-batch on one card of each plan."""
    return columns.of_each(lambda setup: step_tokens(columns.shape, setup))


def product_flops(columns: Columns) -> FloatArray:
    """Operations of one micro-batch over one data-parallel rank in matrix products and convolutions, without
    attention's own where that is counted apart.
    """
    shape = columns.shape
    if shape.flops_per_sample and shape.kind not in TOKEN_KINDS:
        products = (forward_flops(shape) - square_flops(shape)) * columns.setup.pixel_scale(shape)
        return passes(columns) / 2 * products * columns.batch
    return passes(columns) * multiplied(columns) * tokens_of(columns)


def forward_flops(shape: ModelShape) -> float:
    """Operations of one sample's forward pass: training runs the denoiser once, with or without the prompt (Ho and
    Salimans 2022, arXiv:2207.12598, algorithm 1).
    """
    return shape.flops_per_sample / max(shape.denoiser_passes, 1)


def square_flops(shape: ModelShape) -> float:
    return shape.square_flops_per_sample / max(shape.denoiser_passes, 1)


def multiplied(columns: Columns) -> float:
    """Parameters that a token of the text stands for: an encoder's as often as its source is longer."""
    shape = columns.shape
    longer = shape.longer_source(columns.setup.sequence_tokens) if shape.kind in TOKEN_KINDS else 1.0
    return shape.matmul_parameters + (longer - 1.0) * shape.encoder_parameters


def head_flops(columns: Columns) -> FloatArray:
    """Those of `product_flops` in the output layer."""
    shape = columns.shape
    if shape.kind not in TOKEN_KINDS or shape.kind == "encoder":
        return np.zeros(columns.device.size)
    return passes(columns) * shape.vocab_size * shape.hidden_size * tokens_of(columns)


def at_one_rate(columns: Columns, products: FloatArray) -> FloatArray:
    """Operations of the products, those of the output layer by how much longer 16 bits take: layers alone are computed
    in formats of fewer (torchtitan docs/float8.md: `filter_fqns`; NVIDIA 2025, arXiv:2509.25149, 3.1).
    """
    slower = np.maximum(columns.flops_s() / columns.device.half_flops_s, 1.0)
    operations: FloatArray = products + head_flops(columns) * (slower - 1)
    return operations


def attention_passes(columns: Columns) -> float:
    """Attention's operations of a step over those of its forward pass: 1 forward, 2.5 backward, whichever weights
    learn, and 1 more where the forward pass is repeated.
    """
    return 3.5 + (1.0 if columns.setup.gradient_checkpointing == "full" else 0.0)


def attention_flops(columns: Columns) -> FloatArray:
    """Operations of one micro-batch in scores and sums of values; 0 where a model's own figure does not tell them from
    its products.
    """
    shape = columns.shape
    if shape.kind not in TOKEN_KINDS:
        forward = square_flops(shape) * columns.setup.pixel_scale(shape) ** 2
        return attention_passes(columns) * forward * columns.batch
    return attention_passes(columns) * 4 * shape.query_width * attended(columns) * tokens_of(columns)


def attended(columns: Columns) -> float:
    """Tokens that one token attends to, summed over the layers: half of the length under a causal mask, at most the
    window in sliding layers.
    """
    shape, setup = columns.shape, columns.setup
    length = step_tokens(shape, setup) / max(setup.batch_size, 1)
    if shape.kind == "encoder":
        return shape.attention_layers * length
    crossed = sum(group.layers * group.fixed_tokens for group in shape.kv_groups)
    return shape.attended(length) + crossed + shape.encoder_layers * shape.source_length(length) ** 2 / length


def traffic_bytes(columns: Columns) -> FloatArray:
    """Bytes of activations that one micro-batch computes: what a step would keep of them without checkpoints, once
    more by half where the forward pass is repeated (it has about a third of the traffic of a step).
    """
    context = {**columns.contexts[0], "checkpointing": "off"}

    known: dict[int, float] = {}  # one micro-batch is computed, however many a step has

    def kept(setup: Setup) -> float:
        if setup.batch_size not in known:
            whole = setup.but(gradient_checkpointing="off")
            if columns.shape.activation_bytes_per_sample:  # its slack and workspace are held, not passed through
                known[setup.batch_size] = sample_bytes(columns.shape, whole) * setup.batch_size
            else:
                found = activations(columns.shape, whole, ParallelLayout(), columns.coefficients, context)
                known[setup.batch_size] = found.layers.likely + found.logits.likely
        return known[setup.batch_size]

    return columns.of_each(kept) * _dispatched(columns.setup)


def dispatched_elements(columns: Columns) -> FloatArray:
    """Elements of one micro-batch that are sorted by expert, one copy of what a token gives experts for each that it
    is sent to; a repeated forward pass counts as in ``traffic_bytes``. 0 for dense models (transformers,
    integrations/moe.py).
    """
    shape = columns.shape
    copies = shape.moe_layers * shape.experts_per_token if shape.is_moe else 0
    return copies * shape.routed_width * tokens_of(columns) * _dispatched(columns.setup)


def _dispatched(setup: Setup) -> float:
    """Operators of a step with recomputation over those without: the forward pass has a third of them."""
    return 4 / 3 if setup.gradient_checkpointing in REPEATED else 1.0


def traffic_of(shape: ModelShape) -> str:
    """The coefficient of elementwise work that fits the kind of model."""
    return "training-traffic" if shape.kind in TOKEN_KINDS or shape.kind == "vit" else "convolution-traffic"


def work(columns: Columns) -> TrainingWork:
    """Compute a training step of all plans."""
    setup = columns.setup
    accumulation = columns.accumulation
    waits = (columns.pipeline - 1) / columns.interleave
    bubble = waits / (accumulation + waits)
    bandwidth = columns.device.bandwidth_bytes_s * columns.more_is_better("decode-bandwidth-share")
    batch = _micro_batch(columns, bandwidth)
    compute = (np.maximum(batch.busy_s, batch.launch_s) + batch.waiting_s) / (1 - bubble)
    trained = _trained(columns)
    wire = columns.wire()
    tensor_wire = _tensor_wire_s(columns, wire)
    # gradients that are sharded are scattered after every micro-batch; others are exchanged once
    together = np.where(columns.scatters > 0, 1, accumulation)
    hiding = np.maximum(batch.busy_s - batch.launch_s, 0.0) * together
    copied = np.where(columns.tables, trained - looked_up(columns), trained)
    data_wire = _gradient_exchange(columns, copied, wire, hiding) / together
    table_wire = _table_wire_s(columns, wire)
    expert_wire = _expert_wire_s(columns, wire, batch.busy_s)
    offload = _offload_s(columns)
    update = _update_s(columns, trained, bandwidth)
    further, written = further_passes(columns) * forward_s(columns, batch), rollout(columns)
    step = (
        compute + tensor_wire + data_wire + table_wire + expert_wire + offload + update / accumulation + further
    ) * columns.unmodelled() + written.seconds
    samples = columns.data * columns.batch / step
    tokens = samples * setup.sequence_tokens
    sequences = setup.dataset_samples * setup.generations
    total = setup.epochs * (setup.dataset_tokens / setup.sequence_tokens if setup.dataset_tokens else sequences)
    beside = (tensor_wire, data_wire, table_wire, expert_wire, offload, further, written)
    return TrainingWork(columns, batch, bubble, compute, update, *beside, step, samples, tokens, total)


def forward_s(columns: Columns, batch: MicroBatch) -> FloatArray:
    """Rows: seconds of a forward pass of one micro-batch, as far as a step's have it in them."""
    products = batch.products_s * 2.0 / passes(columns)
    return products + batch.attention_s / attention_passes(columns) + batch.traffic_s / 3.0


def _micro_batch(columns: Columns, bandwidth: FloatArray) -> MicroBatch:
    """The card's work on one micro-batch; ``bandwidth``: the bytes a second that it reaches."""
    shape, device = columns.shape, columns.device
    power = columns.power_share()
    share = np.minimum(columns.more_is_better("product-rate-share"), power)
    share = share * columns.more_is_better("training-product-share")
    attention_share = np.minimum(columns.more_is_better("attention-share"), power)
    cards = columns.tensor * columns.pipeline
    products, attention = product_flops(columns), attention_flops(columns)
    counted = columns.operations_error() * at_one_rate(columns, products)
    moved = traffic_bytes(columns) * columns.less_is_better(traffic_of(shape)) * columns.less_is_better("traffic-left")
    moved = moved + dispatched_elements(columns) * columns.less_is_better("expert-traffic-bytes")
    copied = columns.gathers * columns.less_is_better("gather-copy-bytes") * float(shape.parameters)
    unpacked = unpacked_bytes(columns) / cards
    return MicroBatch(
        product_flops=products,
        attention_flops=attention,
        share=share,
        products_s=counted / (cards * columns.flops_s() * share),
        attention_s=attention / (cards * device.half_flops_s * attention_share),
        traffic_s=(moved + copied) / (cards * bandwidth),
        unpack_s=unpacked / (device.bandwidth_bytes_s * columns.more_is_better("unpack-share")),
        launch_s=_launch_s(columns),
        waiting_s=_waiting_s(columns),
    )


def _launch_s(columns: Columns) -> FloatArray:
    """Rows: seconds of the host's work for one micro-batch on one stage."""
    host = columns.less_is_better("training-launch-s-per-layer")
    host = host + columns.gathers * columns.less_is_better("gather-launch-s-per-layer")
    launch = host * _dispatched(columns.setup) * _layers(columns.shape) / columns.pipeline
    if columns.shape.kind in TOKEN_KINDS:
        return launch
    if columns.shape.step_operators:
        launch = columns.less_is_better("operator-s") * columns.shape.step_operators * _dispatched(columns.setup)
    # a step has a forward pass in it
    return np.maximum(launch, host_s(columns) + columns.less_is_better("vision-step-s"))


def _waiting_s(columns: Columns) -> FloatArray:
    """Rows: seconds of the host's work on one sample after another, which the card waits for: how many boxes are left
    (NMS, nonzero) is read from the card before the next operators are dispatched (PyTorch, CUDA semantics:
    asynchronous execution; torchvision, models/detection: loops over images). Of sound also what makes a batch of it.
    """
    shape = columns.shape
    operators = columns.less_is_better("operator-s") * shape.sample_operators * columns.batch
    return operators + columns.less_is_better("sound-load-s") * shape.sample_seconds * columns.batch


def _layers(shape: ModelShape) -> int:
    return shape.layers + shape.encoder_layers


def _trained(columns: Columns) -> FloatArray:
    """Parameters that a step of each plan updates."""
    shape, setup = columns.shape, columns.setup
    if setup.method != "full":
        adapters = adapter_parameters(shape, setup.lora_rank, setup.lora_targets)
        return np.full(columns.device.size, float(adapters))
    return columns.of_each(lambda own: min(shape.trained_at_once, shape.touched_parameters(own.batch_size)))


def looked_up(columns: Columns) -> FloatArray:
    """Parameters of a recommender's tables that one micro-batch reads and updates, a row as often as it is looked up;
    0 for others.
    """
    return np.minimum(columns.shape.lookup_parameters * columns.batch, columns.shape.table_parameters)


def _table_wire_s(columns: Columns, wire: Wire) -> FloatArray:
    """Rows: seconds in which the rows that a card's samples look up come from the cards that have them, and their
    gradients go back: two all-to-all exchanges (Naumov et al. 2019, arXiv:1906.00091, 3; torchrec, table sharding).
    """
    payload = columns.less_is_better("table-exchange-bytes") * looked_up(columns)
    seconds = 2 * ((columns.data - 1) / columns.data * payload / wire.card_bytes_s + wire.latency_s)
    return np.where((columns.tables > 0) & (columns.data > 1), seconds, 0.0)


def _expert_wire_s(columns: Columns, wire: Wire, busy_s: FloatArray) -> FloatArray:
    """Rows: seconds in which tokens go to the cards that have their experts and come back, forward and backward, that
    the card's work does not hide. A token crosses the network once for each machine that has experts of its, and is
    passed on inside, which is done meanwhile (DeepSeek-AI 2024, arXiv:2412.19437, 3.2.2).
    """
    shape = columns.shape
    if not shape.is_moe:
        return np.zeros((1, columns.device.size))
    sent = tokens_of(columns) / columns.tensor * shape.routed_width * 2.0
    exchanges = shape.moe_layers / columns.pipeline * _exchanges(columns.setup)
    far, near = expert_copies(columns, wire.together)
    slower = np.maximum(sent * far / wire.far_bytes_s, sent * near / wire.near_bytes_s)
    seconds = exchanges * (slower + wire.latency_s)
    hidden = columns.more_is_better("expert-exchange-overlap") * busy_s
    return np.where(columns.expert > columns.tensor, np.maximum(seconds - hidden, 0.0), 0.0)


def expert_copies(columns: Columns, together: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How often a token of each plan goes over the network and over a machine's link on its way to its experts, which
    are as likely on any card that has some: ``together`` of them are in a machine.
    """
    chosen = columns.shape.experts_per_token
    local = np.minimum(columns.expert, together)
    machines = columns.expert / local
    reached = machines * (1.0 - (1.0 - 1.0 / machines) ** chosen)
    return reached * (machines - 1.0) / machines, chosen * (local - 1.0) / local


def _tensor_wire_s(columns: Columns, wire: Wire) -> FloatArray:
    """Rows: seconds of the all-reduces of a tensor group, 2 a layer each way (Shoeybi et al. 2019, Megatron-LM, 3)."""
    payload = tokens_of(columns) * columns.shape.hidden_size * 2.0
    reduces = _layers(columns.shape) / columns.pipeline * _exchanges(columns.setup)
    return reduces * wire.all_reduce_s(columns.tensor, payload)


def _exchanges(setup: Setup) -> float:
    """Exchanges of a layer that cards share: two forward, two backward, and two more where it is computed once more."""
    return 4 + 2 * REPEATED.get(setup.gradient_checkpointing, 0.0)


def unpacked_bytes(columns: Columns) -> float:
    """Bytes moved in a step to turn quantized frozen weights into 16-bit ones: read at their format and written at 16
    bits each time a layer is passed through (forward, backward, and again where the forward pass is repeated). Of a
    pipeline the denoiser that works alone is passed through.
    """
    shape, setup = columns.shape, columns.setup
    if setup.method != "qlora" or not setup.format.quantized:
        return 0.0
    inside = (
        turns(shape, setup.format)[0]
        if shape.components
        else sum(part.parameters for part in shape.parts if part.name not in ENDS) * setup.format.bits_per_weight / 8
    )
    written = inside * 16 / setup.format.bits_per_weight
    return (3.0 if setup.gradient_checkpointing == "full" else 2.0) * (inside + written)


def _update_bytes(columns: Columns, trained: FloatArray) -> FloatArray:
    """Bytes the optimizer moves in a step: states read and written, weights and gradients once each."""
    context = columns.contexts[0]
    pick = columns.coefficients.pick
    states = pick("training-master-bytes", context).likely + pick("optimizer-bytes", context).likely
    return trained * (
        2 * states + pick("training-weight-bytes", context).likely + pick("training-gradient-bytes", context).likely
    )


def _update_s(columns: Columns, trained: FloatArray, bandwidth: FloatArray) -> FloatArray:
    """Seconds of the optimizer's pass; where its states live in the host, the host's, with the gradients and weights
    over PCIe either way (Ren et al. 2021, arXiv:2101.06840, 3). Sharded, each rank updates its part of the states
    (Rajbhandari et al. 2020, 5.1).
    """
    cards = columns.tensor * columns.pipeline * np.where(columns.shards, columns.data, 1.0)
    moved = _update_bytes(columns, trained) / cards
    if columns.setup.offload not in OFFLOADED:
        return moved / bandwidth
    carried = 4.0 * trained / cards / columns.pcie_bytes_s()
    return moved / columns.more_is_better("host-update-bytes-s") + carried


def _offload_s(columns: Columns) -> FloatArray:
    """Rows: seconds in which the inputs of recomputed layers go to the host and come back, layer by layer; the card
    waits for them, as in transformers, where other trainers copy meanwhile (transformers, pull request 48444).
    """
    shape, setup = columns.shape, columns.setup
    carried = np.zeros(columns.device.size)
    if setup.offload == "activations" and setup.gradient_checkpointing == "full" and shape.kind in TOKEN_KINDS:
        layers = _layers(shape) / columns.pipeline
        carried = 2.0 * tokens_of(columns) * layers * shape.hidden_size * width(setup) / columns.tensor
    return carried / columns.pcie_bytes_s()


def _gradient_exchange(columns: Columns, trained: FloatArray, wire: Wire, compute_s: FloatArray) -> FloatArray:
    """Seconds of the exchange of gradients that the card's work does not hide, as far as the host is ahead of it.

    Ring: 2 (n - 1) / n * bytes (NCCL): half to scatter sums, half to gather what was updated. Where gradients are
    sharded, sums are scattered after each micro-batch (ZeRO-2; DeepSpeed, engine.py: no_sync is refused), and what was
    updated is gathered once a step. ZeRO-3 gathers twice for each one (Rajbhandari et al. 2020, 7.2). Experts that are
    spread over more cards than all else is have fewer copies, whose cards are in different machines.
    """
    ranks = columns.data
    routed = trained * _spread_experts(columns)
    size = (trained - routed) / (columns.tensor * columns.pipeline) * 2.0
    updated = np.where(columns.scatters > 0, 1 / columns.accumulation, 1.0)
    frozen = 0.0 if columns.setup.method == "full" else columns.setup.format.weight_bytes(columns.shape)
    volume = size * (1 + np.where(columns.gathers > 0, 2.0, updated)) + columns.gathers * 2 * frozen / (
        columns.tensor * columns.pipeline
    )
    seconds = (ranks - 1) / ranks * volume / wire.data_bytes_s
    copies = np.maximum(ranks * columns.tensor / columns.expert, 1.0)
    own = routed / (columns.pipeline * columns.expert) * 2.0 * (1 + updated)
    seconds = seconds + (copies - 1) / copies * own / wire.card_bytes_s
    hidden = columns.more_is_better("exchange-overlap") * compute_s
    exposed: FloatArray = np.maximum(seconds - hidden, 0.0)
    return exposed


def _spread_experts(columns: Columns) -> FloatArray:
    """Share of the parameters in experts that are spread over more cards than all else is."""
    return np.where(columns.expert > columns.tensor, columns.shape.routed_share, 0.0)


def bands(done: TrainingWork) -> dict[str, Band]:
    """The figures of the contract, by name."""
    found = {"samples_per_s": Band.of(done.samples_s)}
    if done.columns.shape.kind in TOKEN_KINDS:
        found["train_tokens_per_s"] = Band.of(done.tokens_s)
    if done.work_total:
        found["train_hours"] = Band.of(done.work_total / done.samples_s / 3600)
    return found
