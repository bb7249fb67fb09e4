"""A camera's frames are decoded as they come, and computed as tools scale them (yolov5 discussion 9217)."""

from __future__ import annotations

from datetime import date

import pytest

import whygpu

CAMERAS = {"task": "vision", "model": "yolo11m", "streams": 4, "frames_per_second": 15, "criticality": "production"}
TODAY = date(2026, 11, 26)


def _frames(kb: whygpu.KnowledgeBase, **more: object) -> tuple[float, float]:
    """Frames a second that two L4 process, and that they decode."""
    answers = {**CAMERAS, "accelerators": ["L4"], "count": 2, "format": "int8", **more}
    plan = kb.advise(answers, engine="evaluator", today=TODAY).recommendation
    assert plan is not None
    samples, decoded = plan.speed["samples_per_s"], plan.speed["decoded_frames_per_s"]
    assert samples is not None
    assert decoded is not None
    return samples.likely, decoded.likely


def test_the_cameras_size_is_not_the_detectors(kb: whygpu.KnowledgeBase) -> None:
    usual, small, full = _frames(kb), _frames(kb, resolution="960x540"), _frames(kb, resolution="1920x1080")
    assert small[0] == full[0] == usual[0]
    assert small[1] == pytest.approx(4 * full[1])


def test_the_detectors_input_is_what_it_computes(kb: whygpu.KnowledgeBase) -> None:
    scaled = _frames(kb, resolution="1920x1080")
    whole = _frames(kb, resolution="1920x1080", input_resolution="1280x1280")
    assert whole[1] == scaled[1]
    assert whole[0] < scaled[0] / 3
