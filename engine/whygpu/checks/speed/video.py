"""Decoding of camera streams: engines beside the arithmetic units, which no model and no format makes faster.

Frames a second are those that NVIDIA states for 1080p, by the pixels of the frames at hand; engines of several cards
add up. Source: NVIDIA, NVDEC application note (Video Codec SDK 13.0), 3: rates of one engine by generation, in
proportion to the video clock, times the engines of the card where there are as many streams.
"""

from __future__ import annotations

from whygpu.checks.calculation import Calculation, Term
from whygpu.checks.setup import FloatArray
from whygpu.checks.speed.columns import LIKELY, Columns, coefficient_of

STATED_PIXELS = 1920.0 * 1080.0
"""The frame that decoders' rates are stated for."""


def decodes(columns: Columns) -> bool:
    """Whether several streams of video come in: no decoder is too slow for one."""
    return columns.setup.streams > 1 and columns.setup.decoding == "video" and not columns.setup.trains


def decoded_frames_s(columns: Columns) -> FloatArray:
    """Frames a second that the decoders of each plan's cards give together; NaN where a card's are not known."""
    rate = columns.device.video_frames_s * STATED_PIXELS / frame_pixels(columns)
    return columns.more_is_better("video-decode-share") * rate * columns.cards()


def frame_pixels(columns: Columns) -> float:
    """Pixels of one frame as it comes: those answered, else 1080p."""
    return columns.setup.frame_pixels**2 or columns.setup.pixels**2 or STATED_PIXELS


def explain(columns: Columns, rows: FloatArray, i: int) -> Calculation:
    """How the likely figure of one plan came about."""
    terms = (
        Term("cards", float(columns.cards()[i]), "cards"),
        Term("stated", float(columns.device.video_frames_s[i]), "frames/s", (), "of 1080p, all engines of a card"),
        Term("stated_pixels", STATED_PIXELS, "pixels"),
        Term("frame", frame_pixels(columns), "pixels"),
        coefficient_of(columns, i, "video-decode-share", "share"),
    )
    formula = "cards * stated * stated_pixels / frame * share"
    return Calculation("decoded_frames_per_s", formula, terms, float(rows[LIKELY, i]), "1/s")
