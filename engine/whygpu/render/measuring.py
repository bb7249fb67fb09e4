"""What was measured on this machine, and what is in it, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from whygpu.measuring.programs import IMAGES
from whygpu.quantity import show, show_with_range
from whygpu.render.style import Style

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from whygpu.measuring.compare import Against
    from whygpu.measuring.devices import Found
    from whygpu.measuring.programs import Results
    from whygpu.measuring.timing import Timing

_TITLES = {
    "inference": "ResNet-18, one pass over {batch} images",
    "training": "ResNet-18, one training step of {train_batch}",
    "pipeline": "input pipeline, {batch} decoded images",
    "product": "matrix product",
    "copy": "copy in the device's memory",
    "move": "copy from the host",
}


def owned_answers(found: Iterable[Found]) -> dict[str, object]:
    """The accelerators of the catalogue that are there, as answers; a processor beside others is left out."""
    known = [item for item in found if item.accelerator is not None]
    chosen = [item for item in known if item.asked not in ("lscpu",)] or known
    return {"owned": [{"accelerator": item.accelerator, "count": item.count} for item in chosen]} if chosen else {}


def devices_text(found: Sequence[Found], style: Style) -> str:
    """What is there, as comments, and the answers that say so."""
    lines = [f"# {line}" for item in found for line in _device(item)] or ["# No accelerator was found."]
    answers = owned_answers(found)
    if answers:
        lines += yaml.safe_dump(answers, sort_keys=False).rstrip("\n").split("\n")
    return style.safe("\n".join(lines) + "\n")


def _device(item: Found) -> Iterator[str]:
    memory = "" if item.memory_mib is None else f", {item.memory_mib:,.0f} MiB each"
    yield f"{item.count}x {item.name}{memory} ({item.asked}): {item.accelerator or 'not in the catalogue'}"


def results_text(
    results: Results, against: Sequence[Against], estimates: Sequence[str], accelerator: str | None, style: Style
) -> str:
    """Each program with its median and spread, what the catalogue says, and what the estimates say."""
    ran = results.ran
    lines = [style.strong(f"{ran.name} ({ran.kind}), {ran.format.upper()}, {ran.software}"), ""]
    asked = {"batch": results.asked.batch, "train_batch": results.asked.train_batch}
    for name, timing in results.timings.items():
        lines.append(f"  {_TITLES[name].format(**asked):<42}{_time(timing)}  {_gives(results, name)}".rstrip())
    if results.epoch_s is not None:
        steps = results.timings["training"].runs * results.asked.train_batch
        epoch = show(1000 * results.epoch_s, "ms")
        lines.append(f"  {f'an epoch of {IMAGES:,} images':<42}{epoch}  by the pace of {steps:,} images")
    lines += ["", *_pipeline(results)]
    if accelerator is None:
        lines.append("Which accelerator of the catalogue this is was not found: --accelerator ID says it.")
    for item in against:
        of = f"{show(item.catalogue, item.unit)} that the catalogue says ({item.says})"
        what = f"{item.what[:1].upper()}{item.what[1:]}"
        lines.append(f"{what}: {show(item.measured, item.unit)}, {show(item.share, 'share')} of the {of}.")
    lines += estimates
    return style.safe("\n".join(lines) + "\n")


def _pipeline(results: Results) -> Iterator[str]:
    feeds, takes = results.per_s("pipeline"), results.per_s("training")
    if feeds is not None and takes is not None:
        workers = max(1, -(-takes // feeds))
        yield (
            f"One process of the host prepares {show(feeds)} images a second and training takes {show(takes)}: "
            f"{show(float(workers))} {'process keeps' if workers == 1 else 'processes keep'} up, decoding left out."
        )


def _gives(results: Results, name: str) -> str:
    rate = results.per_s(name) if name in ("inference", "training", "pipeline") else None
    memory = results.memory_gib.get(name) if name in ("inference", "training") else None
    values = {
        "product": (results.product_tflops, "TFLOPS"),
        "copy": (results.copy_gb_s, "GB/s"),
        "move": (results.move_gb_s, "GB/s"),
    }
    value, unit = values.get(name, (None, ""))
    parts = [
        f"{show(rate)} images/s" if rate is not None else "",
        show(value, unit) if value is not None else "",
        f"{show(memory, 'GiB')} in use" if memory is not None else "",
    ]
    return ", ".join(part for part in parts if part)


def _time(timing: Timing) -> str:
    found = show_with_range(1000 * timing.low_s, 1000 * timing.median_s, 1000 * timing.high_s, "ms")
    return f"{found} of {timing.samples} samples"
