"""What hosts prepare, against decoders, loaders and leaderboards that others measured."""

from __future__ import annotations

import numpy as np
import pytest

from tests.checks.conftest import Facts
from whygpu.checks.memory import estimate as memory
from whygpu.checks.setup import CardKind, Device, ParallelLayout, Setup
from whygpu.checks.speed import estimate as speed
from whygpu.checks.speed.estimate import SpeedEstimate

A100 = CardKind("ampere", "data-centre", link="nvlink", memory="hbm2e")


def _a100(vcpus: float = float("nan"), jpeg: float = float("nan")) -> Device:
    return Device.of(2.039e12, 3.12e14, power_w=400, host_vcpus=vcpus, jpeg_pixels_s=jpeg, kinds=A100)


def _train(facts: Facts, device: Device, *, cards: int = 1, pixels: float = 0, **answers: object) -> SpeedEstimate:
    setup = Setup(
        facts.formats["bf16"],
        phase="training",
        batch_size=256,
        pixels=pixels,
        dataset_samples=1.28e6,
        **answers,  # type: ignore[arg-type]
    )
    return speed.estimate(facts.shape("resnet-50"), setup, ParallelLayout(data=cards), device, facts.coefficients)


def _likely(found: SpeedEstimate, name: str = "samples_per_s") -> float:
    return float(getattr(found, name).likely[0])


def test_a_core_decodes_as_many_images_as_others_measured(facts: Facts) -> None:
    """torchvision 440 to 864 ImageNet images a second (arXiv:2605.08731), 394 of 0.37 megapixels (pytorch/vision 8495),
    167 of 1080p (torchcodec 1620), 86 of a megapixel on an AWS host (transformers 45195).
    """
    each = facts.coefficients.pick("image-decode-s-per-pixel", {})
    usual = facts.coefficients.pick("stored-image-pixels", {}).likely
    for pixels, images in ((usual, 440), (usual, 864), (551 * 676, 394), (1920 * 1080, 167), (1024**2, 86)):
        assert 0.9 * each.low <= 1 / (images * pixels) <= 1.1 * each.high


def test_ten_loader_threads_feed_an_a100_as_timm_measured(facts: Facts) -> None:
    """timm 1491: ten loader processes give ResNet-50 on an A100 1,923 images/s with Pillow, 2,500 with Pillow-SIMD,
    where the model alone does 2,600.
    """
    found = _train(facts, _a100(10), decoding="host")
    assert found.prepared_samples_per_s is not None
    assert _likely(found) == pytest.approx(1923, rel=0.15)
    assert found.prepared_samples_per_s.at(0).high > 2500


def test_what_the_host_prepares_is_a_ceiling_of_rates_and_hours(facts: Facts) -> None:
    free, fed = _train(facts, _a100(12), decoding="none"), _train(facts, _a100(12), decoding="host")
    assert free.prepared_samples_per_s is None
    assert _likely(fed) == _likely(fed, "prepared_samples_per_s") < _likely(free)
    assert _likely(fed, "train_hours") == pytest.approx(
        _likely(free, "train_hours") * _likely(free) / _likely(fed), rel=1e-9
    )
    names = [item.name for item in fed.calculations()]
    assert names.index("prepared_samples_per_s") == names.index("samples_per_s") - 1


def test_enough_threads_limit_nothing(facts: Facts) -> None:
    many, none = _train(facts, _a100(96), decoding="host"), _train(facts, _a100(96), decoding="none")
    assert _likely(many) == _likely(none)
    assert _likely(many, "train_hours") == _likely(none, "train_hours")


def test_answered_threads_come_before_those_of_the_machine_and_those_before_usual_ones(facts: Facts) -> None:
    usual = facts.coefficients.pick("host-vcpus", {}).likely
    assumed = _likely(_train(facts, _a100(), decoding="host"), "prepared_samples_per_s")
    stated = _likely(_train(facts, _a100(2 * usual), decoding="host"), "prepared_samples_per_s")
    answered = _train(facts, _a100(2 * usual), decoding="host", host_vcpus=3 * int(usual))
    assert stated == pytest.approx(2 * assumed)
    assert _likely(answered, "prepared_samples_per_s") == pytest.approx(3 * assumed)


def test_preparing_is_in_proportion_to_cards_and_falls_with_pixels(facts: Facts) -> None:
    one, two = (_train(facts, _a100(12), cards=cards, decoding="host") for cards in (1, 2))
    large = _train(facts, _a100(12), pixels=448, decoding="host")
    assert _likely(two, "prepared_samples_per_s") == pytest.approx(2 * _likely(one, "prepared_samples_per_s"))
    assert _likely(large, "prepared_samples_per_s") < _likely(one, "prepared_samples_per_s")


def test_the_engine_of_an_a100_decodes_what_torchvision_measured(facts: Facts) -> None:
    """pytorch/vision 8495: 1,000 images of 551 x 676 in 0.128 s on an A100."""
    engine = _a100(jpeg=551 * 676 * 1000 / 0.128)
    found = _train(facts, engine, pixels=float(np.sqrt(551 * 676)), decoding="card")
    assert _likely(found, "prepared_samples_per_s") == pytest.approx(1000 / 0.128)
    unknown = _train(facts, _a100(12), decoding="card")
    assert np.isnan(_likely(unknown, "prepared_samples_per_s"))
    assert _likely(unknown) == _likely(_train(facts, _a100(12), decoding="none"))


LOADER = 6000.0
"""Times real time at which one process of NeMo's loader stops, whatever the model: stt_en_conformer_ctc_small (13M)
5,687, stt_en_fastconformer_ctc_large (115M) 6,399 (Open ASR Leaderboard, en_shortform.csv at 16743c6)."""


@pytest.mark.parametrize(
    ("model", "published"),
    [
        ("parakeet-tdt-0.6b-v2", 3386),
        ("parakeet-tdt-1.1b", 2391),
        ("parakeet-ctc-0.6b", 4282),
        ("parakeet-ctc-1.1b", 2729),
    ],
)
def test_parakeet_hears_as_fast_as_the_leaderboard_says(facts: Facts, model: str, published: float) -> None:
    """Open ASR Leaderboard (arXiv:2510.06961), A100 of 80 GB: RTFx. NeMo loads a batch, then computes."""
    setup = Setup(facts.formats["bf16"], phase="batch-inference", batch_size=128, decoding="none")
    found = speed.estimate(facts.shape(model), setup, ParallelLayout(), _a100(), facts.coefficients)
    computed = _likely(found, "times_real_time")
    assert computed > published
    assert 1 / (1 / computed + 1 / LOADER) == pytest.approx(published, rel=0.3)


def test_a_compiled_parakeet_is_within_its_range(facts: Facts) -> None:
    """fast-gpu-asr (PyPI): Parakeet V3 TDT in FP16 with TensorRT, batches of 256: 6,482 times real time on an A100; the
    loop that writes its tokens is in that, and not counted.
    """
    setup = Setup(facts.formats["fp16"], phase="batch-inference", batch_size=256, runtime="tensorrt", decoding="none")
    found = speed.estimate(facts.shape("parakeet-tdt-0.6b-v3"), setup, ParallelLayout(), _a100(), facts.coefficients)
    assert found.times_real_time is not None
    range_ = found.times_real_time.at(0)
    assert range_.low * 0.8 <= 6482 <= range_.high


def test_one_loader_process_bounds_small_speech_models(facts: Facts) -> None:
    """The low end of preparing sound is what the leaderboard's smallest models stop at."""
    core = facts.coefficients.pick("sound-prepare-s-per-s", {})
    assert core.low == pytest.approx(1 / LOADER, rel=0.1)
    assert 1 / 430 + 0.0004 < core.likely < 1 / 177 + 0.0013  # Opus at 430 (dsnote 157), features of 0.4 to 1.3 ms
    setup = Setup(facts.formats["bf16"], phase="batch-inference", batch_size=128, decoding="host", host_vcpus=2)
    found = speed.estimate(facts.shape("parakeet-ctc-0.6b"), setup, ParallelLayout(), _a100(), facts.coefficients)
    assert _likely(found, "times_real_time") == pytest.approx(30 * _likely(found, "prepared_samples_per_s"))


def _whisper(facts: Facts, model: str, requests: int = 1) -> SpeedEstimate:
    setup = Setup(
        facts.formats["fp16"],
        context_tokens=104,
        output_tokens=100,
        concurrency=requests,
        runtime="transformers",
        decoding="none",
    )
    return speed.estimate(facts.shape(model), setup, ParallelLayout(), _a100(), facts.coefficients)


def test_turbo_is_as_much_faster_as_others_measured(facts: Facts) -> None:
    """Than large-v3: 148.26 against 68.56 in long recordings (Open ASR Leaderboard, en_longform.csv), 117 against 53
    (sovereign-asr-bench), 19.2 s against 52.0 s (faster-whisper, in FP16): 2.2 to 2.7 times as fast.
    """
    turbo, large = (
        _likely(_whisper(facts, name), "times_real_time") for name in ("whisper-large-v3-turbo", "whisper-large-v3")
    )
    assert 2.2 * 0.75 <= turbo / large <= 2.7 * 1.35


@pytest.mark.parametrize(("requests", "published"), [(24, 92), (96, 184)])
def test_whisper_in_fixed_batches_is_as_fast_as_published(facts: Facts, requests: int, published: float) -> None:
    """insanely-fast-whisper on an A100 of 80 GB: 150 minutes in 98 s in batches of 24, 300 in batches of 96."""
    setup = Setup(
        facts.formats["fp16"],
        phase="batch-inference",
        context_tokens=448,
        output_tokens=100,
        concurrency=requests,
        runtime="transformers",
        decoding="none",
    )
    found = speed.estimate(facts.shape("whisper-large-v3"), setup, ParallelLayout(), _a100(), facts.coefficients)
    assert _likely(found, "times_real_time") == pytest.approx(published, rel=0.3)


def test_a_whisper_reads_half_a_minute_and_writes_with_its_decoder(facts: Facts) -> None:
    """1,500 frames pass the encoder's 32 layers, a token the decoder's (Radford et al. 2022, arXiv:2212.04356, 2.2)."""
    large, turbo = facts.shape("whisper-large-v3"), facts.shape("whisper-large-v3-turbo")
    assert large.encoder_parameters == turbo.encoder_parameters == 32 * (4 * 1280**2 + 2 * 1280 * 5120)
    assert turbo.written_parameters == pytest.approx(turbo.parameters - 629e6, rel=0.01)
    found = _whisper(facts, "whisper-large-v3")
    prompt = next(item for item in found.calculations() if item.name == "prefill_compute_s")
    read = next(term.value for term in prompt.terms if term.name == "flops")
    assert read > 2 * large.encoder_parameters * 1500
    written = next(item for item in found.calculations() if item.name == "read_s")
    weights = next(term.value for term in written.terms if term.name == "weights")
    assert weights == pytest.approx(2 * (large.parameters - large.encoder_parameters), rel=0.01)


def test_encoders_take_turns_with_the_decoder(facts: Facts) -> None:
    """vLLM runs the encoder before the decoder's step (pull request 27292): a request in flight takes all of it, so no
    more half minutes are read in a second than an encoder alone reads.
    """
    alone, many = (_whisper(facts, "whisper-large-v3", requests) for requests in (1, 256))
    read = next(item.value for item in alone.calculations() if item.name == "prefill_s")
    assert _likely(many, "times_real_time") < 30 / read


def test_training_a_whisper_passes_1500_frames_through_its_encoder(facts: Facts) -> None:
    """Six operations a parameter and token (Kaplan et al. 2020, 2.1), of the encoder for 1,500 frames a sample."""
    shape = facts.shape("whisper-large-v3")
    setup = Setup(facts.formats["bf16"], phase="fine-tuning", batch_size=8, sequence_tokens=448)
    found = speed.estimate(shape, setup, ParallelLayout(), _a100(), facts.coefficients)
    products = next(item for item in found.calculations() if item.name == "products")
    text = shape.matmul_parameters - shape.encoder_parameters
    assert products.value == pytest.approx(6 * 8 * (448 * text + 1500 * shape.encoder_parameters))
    short = Setup(facts.formats["bf16"], phase="fine-tuning", batch_size=8, sequence_tokens=64)
    kept = [memory.estimate(shape, each, ParallelLayout(), facts.coefficients).activations for each in (setup, short)]
    assert kept[1] > 0.5 * kept[0]  # the encoder keeps its activations however short the text is
