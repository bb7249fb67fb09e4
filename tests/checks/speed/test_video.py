"""Decoding of camera streams, against NVIDIA's rates and what others plan with."""

from __future__ import annotations

import numpy as np
import pytest

from tests.checks.conftest import FACTS as FOLDER
from tests.checks.conftest import Facts, read
from whygpu.checks.setup import CardKind, Device, ParallelLayout, Setup
from whygpu.checks.speed import estimate as speed
from whygpu.checks.speed.estimate import SpeedEstimate

ENGINE = {
    "pascal": (694, 810),
    "turing": (771, 1316),
    "ampere": (748, 1415),
    "ada": (903, 1641),
    "blackwell": (2172, 1872),
}
"""Frames of 1080p that one engine decodes at the highest clock, H.264 and H.265 (NVDEC application note, SDK 13.0)."""


def _l4(frames: float) -> Device:
    return Device.of(3e11, 1.21e14, video_frames_s=frames, kinds=CardKind("ada", "data-centre", memory="gddr6"))


def _estimate(
    facts: Facts, *, streams: int = 64, frames: float = 2960, pixels: float = 0, cards: int = 1
) -> SpeedEstimate:
    setup = Setup(facts.formats["int8"], batch_size=32, runtime="tensorrt", streams=streams, pixels=pixels)
    return speed.estimate(facts.shape("resnet-18"), setup, ParallelLayout(data=cards), _l4(frames), facts.coefficients)


def test_an_l4_decodes_as_many_frames_as_its_engines_do(facts: Facts) -> None:
    """Four engines of 903 frames/s at 2,160 MHz, at the 1,770 MHz of an L4: 2,960, of which 85% are likely."""
    found = _estimate(facts, frames=4 * 903 * 1770 / 2160)
    assert found.decoded_frames_per_s is not None
    assert found.decoded_frames_per_s.at(0).likely == pytest.approx(2515, rel=0.001)
    assert found.decoded_frames_per_s.at(0).high == pytest.approx(2960, rel=0.001)


def test_no_plan_gives_more_frames_than_its_decoders(facts: Facts) -> None:
    found = _estimate(facts)
    assert found.frames_per_s is not None
    assert found.decoded_frames_per_s is not None
    assert found.samples_per_s is not None
    assert found.samples_per_s.likely[0] > found.decoded_frames_per_s.likely[0] == found.frames_per_s.likely[0]
    assert [item.name for item in found.calculations()][-1] == "decoded_frames_per_s"


@pytest.mark.parametrize(("streams", "frames"), [(0, 2960.0), (1, 2960.0), (64, float("nan"))])
def test_one_stream_and_unknown_decoders_limit_nothing(facts: Facts, streams: int, frames: float) -> None:
    found = _estimate(facts, streams=streams, frames=frames)
    assert found.frames_per_s is not None
    assert found.samples_per_s is not None
    assert found.frames_per_s.likely[0] == found.samples_per_s.likely[0]


def test_decoding_is_in_proportion_to_cards_and_pixels(facts: Facts) -> None:
    """Resolution and frame rate count alike, and engines add up (incoresoft; NVDEC application note, 3)."""
    one, two, quarter = _estimate(facts), _estimate(facts, cards=2), _estimate(facts, pixels=float(np.sqrt(960 * 540)))
    assert one.decoded_frames_per_s is not None
    assert two.decoded_frames_per_s is not None
    assert quarter.decoded_frames_per_s is not None
    assert two.decoded_frames_per_s.likely[0] == pytest.approx(2 * one.decoded_frames_per_s.likely[0])
    assert quarter.decoded_frames_per_s.likely[0] == pytest.approx(4 * one.decoded_frames_per_s.likely[0])


@pytest.mark.parametrize(("streams", "stated"), [(25, [694, 771, 748, 903]), (50, [810, 1316, 1415, 1641])])
def test_what_others_plan_with_lies_within_the_range(facts: Facts, streams: int, stated: list[int]) -> None:
    """Incoresoft: one engine decodes 25 streams of H.264 or 50 of H.265, of 25 frames/s and 2 megapixels."""
    planned = streams * 25 * 2e6 / (1920 * 1080)
    share = facts.coefficients.pick("video-decode-share", {})
    assert share.low * min(stated) < planned
    assert any(share.low * rate <= planned <= share.high * rate for rate in stated)


def test_no_card_is_said_to_decode_more_than_its_engines() -> None:
    cards = [card for path in (FOLDER / "accelerators").glob("nvidia-*.yaml") for card in read(path)["accelerators"]]
    counted = [card for card in cards if "video_decoders" in card and card["id"] != "jetson-agx-thor"]
    assert len(counted) >= 40
    for card in counted:
        older = card["id"].startswith(("a100", "h100", "h200"))  # built as Turing's, says the note
        for key, rate in zip(
            ("video_h264_fps", "video_h265_fps"), ENGINE["turing" if older else card["generation"]], strict=True
        ):
            assert 0.6 * rate <= card[key]["is"] / card["video_decoders"]["is"] <= rate + 1, card["id"]
