"""What was asked, in one sentence: the answers in the words of the vocabulary, what was assumed marked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whygpu.answers import MEASURED
from whygpu.checks.speed.host import sees
from whygpu.consult.names import ALONE
from whygpu.explain.figures import show_plain, show_sides
from whygpu.quantity import show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whygpu.consult.consultation import Consultation
    from whygpu.knowledge.catalogue import Accelerator, Area, Provider

_VERBS = {
    "inference": "Serve",
    "batch-inference": "Process a data set with",
    "training": "Train",
    "fine-tuning": "Fine-tune",
}
_PHRASES = {
    "people": "for {}",
    "concurrency": "{} at once",
    "context_tokens": "{} tokens of context",
    "average_context_tokens": "{} on average",
    "output_tokens": "{} of them output",
    "requests_per_second": "{}",
    "streams": "{}",
    "frames_per_second": "{} each",
    "resolution": "{}",
    "input_resolution": "scaled to {}",
    "latency_ms": "first answer within {}",
    "token_latency_ms": "a token every {}",
    "method": "{}",
    "sequence_tokens": "{}-token samples",
    "batch_size": "batches of {}",
    "dataset_tokens": "{} tokens",
    "dataset_hours": "{}",
    "dataset_samples": "{}",
    "dataset_columns": "{}",
    "epochs": "{}",
    "generations": "{} for each sample",
    "deadline_hours": "within {}",
    "budget_per_hour": "at most {}",
    "budget_total": "at most {} in total",
    "power_watts": "at most {}",
    "criticality": "{}",
    "deployment": "{}",
    "priority": "{} first",
    "quantization": "quantization {}",
    "format": "in {}",
    "service_months": "for {}",
    "hours_per_day": "{} a day",
    "electricity_usd_per_kwh": "electricity at {}",
    "training_runs": "{} each time",
    "retrain_months": "retrained every {}",
    "providers": "from {}",
    "provider_classes": "from {} providers",
    "regions": "in {}",
    "accelerators": "on {}",
    "count": "{} of them",
    "exclude_accelerators": "not on {}",
    "runtime": "with {}",
}
"""How an answer is said; what has no phrase is said by its key. In this order."""
_METHODS = {"full": "all weights trained", "lora": "with LoRA", "qlora": "with QLoRA"}
_MATTER = (
    "dataset_tokens",
    "dataset_samples",
    "epochs",
    "token_latency_ms",
    "concurrency",
    "context_tokens",
    "streams",
    "frames_per_second",
    "input_resolution",
    "criticality",
    "deployment",
)
"""What is said even where it was assumed."""
_WORK = ("phase", "model")
"""What a request begins with."""


def request(consultation: Consultation) -> str:
    """The request in one sentence; what was assumed has a question mark."""
    verb, model, *others = chips(consultation)
    parts = [f"{item.text}?" if item.assumed else item.text for item in (model, *others)]
    marked = " (? = assumed)" if any(part.endswith("?") for part in parts) else ""
    return f"{verb.text} {parts[0]}" + (f": {', '.join(parts[1:])}" if others else "") + f".{marked}"


@dataclass(frozen=True, slots=True)
class Chip:
    """One part of the request: the answer that it comes from, in words, and whether it was assumed."""

    answer: str
    text: str
    assumed: bool


def chips(consultation: Consultation) -> tuple[Chip, ...]:
    """The request in parts, the work first; answers that do not apply are left out."""
    work, assumed = consultation.plans.work, _assumed(consultation)
    phase = str(consultation.answers.values.get("phase") or assumed.get("phase", "inference"))
    name = work.shape.name or work.shape.id or "the model"
    given = consultation.answers.given
    texts = (_VERBS.get(phase, "Run"), name)
    found = [Chip(key, text, key not in given) for key, text in zip(_WORK, texts, strict=True)]
    ignored = {item.id for item in consultation.applied.irrelevant}
    # Streams say it themselves, each plan of a batch job takes as many at once as it holds, and one for a rate as many
    # as it brings.
    elsewhere = phase == "batch-inference" or not {"streams", "requests_per_second"}.isdisjoint({*assumed, *given})
    # of samples that were counted it is their length that says how much there is to do
    matter = {*_MATTER, "sequence_tokens"} if "dataset_samples" in given else _MATTER
    for key in dict.fromkeys((*_PHRASES, *given)):
        if key in ("task", *_WORK) or key in ignored:
            continue
        if key in given:
            text = _phrase(consultation, key, given[key])
            if key == "output_tokens" and all(chip.answer != "context_tokens" for chip in found):
                text = text.replace("of them output", "tokens of output")  # there is nothing that they are a part of
            found.append(Chip(key, text, assumed=False))
        elif key in assumed and key in matter and not (key == "concurrency" and elsewhere):
            raw = assumed[key]
            if key == "input_resolution":  # of which the area is assumed, and the side is said
                raw = round(math.sqrt(float(raw)))
            found.append(Chip(key, _phrase(consultation, key, raw), assumed=True))
        elif key == "resolution" and work.shape.image_size and (work.shape.kind == "diffusion" or sees(work.shape)):
            found.append(Chip(key, _phrase(consultation, key, work.shape.image_size), assumed=True))
    return tuple(found)


def _phrase(consultation: Consultation, key: str, raw: Any) -> str:
    spec = consultation.knowledge.name_by_answer.get(key)
    if key == MEASURED:
        number = len(consultation.answers.measured)
        return "as corrected by a measurement" if number == 1 else f"as corrected by {number} measurements"
    value = consultation.answers.values.get(key, raw)
    catalogue = consultation.knowledge.catalogue
    cards = catalogue.accelerators
    named: Mapping[str, Accelerator | Provider | Area] = cards
    if key in ("providers", "regions"):
        named = catalogue.providers if key == "providers" else catalogue.areas
    if key == "owned":
        text = ", ".join(f"{count}x {cards[card].name}" for card, count in consultation.answers.owned)
    elif isinstance(value, list | tuple):
        text = " or ".join(named[item].name if item in named else str(item) for item in value)
    elif spec is None or isinstance(value, dict):
        text = str(value)
    elif spec.unit == "pixels":
        frames, asked = consultation.plans.work.shape.frames, key in consultation.answers.given
        # of a model's clips the area alone is known: their frames are no squares
        text = show_sides(raw) if asked or not frames else f"{show(raw**2 / 1e6, 'megapixels')}"
        text = f"{frames} frames of {text}" if frames else text
    else:
        text = show_plain(
            float(value) if isinstance(value, int) and not isinstance(value, bool) else value, spec.unit, spec.name
        )
    if key == "method":
        return _METHODS.get(text, text)
    if key == "count" and "accelerators" not in consultation.answers.given:
        return f"on {text} accelerators" if value != 1 else "on 1 accelerator"
    if key == "training_runs" and consultation.answers.life == ALONE:
        return f"one of {text}"
    return _PHRASES[key].format(text) if key in _PHRASES else f"{key.replace('_', ' ')} {text}"


def _assumed(consultation: Consultation) -> Mapping[str, Any]:
    return {item.question.id: item.value for item in consultation.applied.assumed}
