"""``whygpu measure``: the primer's two programs as benchmarks on the device at hand, and what is in the machine."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from whygpu.commands.inputs import add_kb
from whygpu.commands.status import OK

if TYPE_CHECKING:
    import argparse

    from whygpu.api import KnowledgeBase
    from whygpu.errors import AnswerError
    from whygpu.measured.measurement import Measurement
    from whygpu.measuring.programs import Asked, Results

MOST_BATCH = 4096
PROGRAMS = ("inference", "training", "pipeline", "product", "copy", "move")
DESCRIPTION = (
    "Measures the device at hand: ResNet-18 over a batch of 100 images of 224x224, a training epoch of 10,000 of them "
    "by SGD with momentum (as many as there is time for, or --images), a matrix product, copies in memory and from the "
    "host, and the input pipeline. Needs PyTorch and torchvision: pip install 'whygpu[measure]'. 'whygpu measure "
    "device' says what is in the machine, without PyTorch; 'whygpu measure share FILE' prints a measurement as CSV."
)
EXAMPLE = "whygpu measure --images 1000 --out mine.yaml && kb-explain --model resnet-18 --measured mine.yaml"
_BAR = 30


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.description, parser.epilog = DESCRIPTION, f"example: {EXAMPLE}"
    programs = ", ".join(PROGRAMS)
    parser.add_argument("what", nargs="*", metavar="PROGRAM", help=f"device, share FILE, or some of {programs}")
    parser.add_argument("--images", type=int, metavar="N", help="train on exactly so many images")
    parser.add_argument("--batch", type=int, default=100, metavar="N", help="images of one pass (default 100)")
    parser.add_argument("--train-batch", type=int, default=1, metavar="N", help="images of one step (default 1)")
    parser.add_argument("--seconds", type=float, default=60.0, metavar="S", help="about how long (default 60)")
    devices = ("auto", "cpu", "cuda", "mps", "xpu")
    parser.add_argument("--device", choices=devices, default="auto", help="ROCm is cuda too")
    parser.add_argument(
        "--precision",
        choices=("auto", "fp32", "tf32", "bf16", "fp16"),
        default="auto",
        help="number format of the arithmetic (default: as PyTorch runs it)",
    )
    parser.add_argument("--accelerator", metavar="ID", help="which accelerator of the catalogue it is")
    parser.add_argument("--out", metavar="FILE", default="measured.yaml", help="the file (default measured.yaml)")
    parser.add_argument("--keep", action="store_true", help="keep the file among your own, for '--measured kept'")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    add_kb(parser)


def run(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:  # noqa: ARG001  as all commands
    """Measure, say what is there, or share."""
    import whygpu  # noqa: PLC0415  --help needs no numpy

    first = options.what[0] if options.what else ""
    knowledge = whygpu.load(options.kb)
    if first == "device":
        return _devices(options, knowledge)
    if first == "share":
        return _share(options, knowledge)
    return _measure(options, knowledge)


def _devices(options: argparse.Namespace, knowledge: KnowledgeBase) -> int:
    from whygpu.measuring.devices import detect  # noqa: PLC0415
    from whygpu.measuring.torch_backend import module  # noqa: PLC0415
    from whygpu.render.measuring import devices_text, owned_answers  # noqa: PLC0415
    from whygpu.render.output import write_json  # noqa: PLC0415
    from whygpu.render.style import Style  # noqa: PLC0415

    found = detect(knowledge.knowledge.catalogue, module("torch"))
    if options.format == "json":
        write_json(owned_answers(found))
    else:
        sys.stdout.write(devices_text(found, Style.of(sys.stdout)))
    return OK


def _share(options: argparse.Namespace, knowledge: KnowledgeBase) -> int:
    from whygpu.measured.kept import read_named  # noqa: PLC0415
    from whygpu.measured.read import measurement_of  # noqa: PLC0415
    from whygpu.measured.share import csv_text  # noqa: PLC0415

    if len(options.what) != 2:
        raise _wrong("'share' takes one measurement file", "share", "whygpu measure share FILE")
    for node in read_named(options.what[1], knowledge.knowledge):
        sys.stdout.write(csv_text(measurement_of(node, options.what[1], knowledge.knowledge), knowledge.knowledge))
    return OK


def _wrong(message: str, option: str, hint: str) -> AnswerError:
    from whygpu.errors import AnswerError, Location, Problem  # noqa: PLC0415

    return AnswerError([Problem("bad-option", message, Location(option), hint)])


def asked_of(options: argparse.Namespace) -> Asked:
    """What the options ask for; raises AnswerError."""
    from whygpu.errors import did_you_mean  # noqa: PLC0415
    from whygpu.measuring.programs import IMAGES, Asked  # noqa: PLC0415

    for name in options.what:
        if name not in PROGRAMS:
            near = did_you_mean(name, (*PROGRAMS, "device", "share")) or f"one of {', '.join(PROGRAMS)}"
            raise _wrong(f"there is no program '{name[:40]}'", "whygpu measure", near)
    limits = (
        ("--images", options.images, IMAGES),
        ("--batch", options.batch, MOST_BATCH),
        ("--train-batch", options.train_batch, MOST_BATCH),
    )
    for option, value, most in limits:
        if value is not None and not 1 <= value <= most:
            raise _wrong(f"{value} is not between 1 and {most:,}", option, "leave it out for the usual")
    if not 1 <= options.seconds <= 3600:
        raise _wrong(f"{options.seconds:g} s is not between 1 and 3,600", "--seconds", "about a minute will do")
    programs = tuple(name for name in PROGRAMS if not options.what or name in options.what)
    return Asked(programs, options.batch, options.train_batch, options.images, options.seconds)


def _measure(options: argparse.Namespace, knowledge: KnowledgeBase) -> int:
    from whygpu.files import check_target  # noqa: PLC0415
    from whygpu.measuring.programs import run as run_programs  # noqa: PLC0415
    from whygpu.measuring.torch_backend import load  # noqa: PLC0415

    asked = asked_of(options)
    path = _path(options)
    check_target(path)
    backend = load(options.device, options.precision)
    results = run_programs(backend, asked, time.perf_counter, _told)
    _tell(options, knowledge, results, path)
    return OK


def _path(options: argparse.Namespace) -> Path:
    from datetime import datetime  # noqa: PLC0415

    from whygpu.measured.kept import kept_folder  # noqa: PLC0415

    if not options.keep:
        return Path(options.out)
    folder = kept_folder()
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{datetime.now():%Y-%m-%d-%H%M%S}.yaml"


def _told(name: str, done: float) -> None:
    """A bar on a terminal, on standard error; nothing elsewhere."""
    if sys.stderr.isatty():
        full = round(_BAR * done)
        text = f"\r\x1b[K[{'#' * full}{'.' * (_BAR - full)}] {name}"
        print(text if name else "\r\x1b[K", end="", file=sys.stderr, flush=True)


def _tell(options: argparse.Namespace, knowledge: KnowledgeBase, results: Results, path: Path) -> None:
    """Write the measurement, and say what it says beside the catalogue and the estimates."""
    from datetime import date  # noqa: PLC0415

    from whygpu import __version__  # noqa: PLC0415
    from whygpu.measured.write import plain, write_measurement  # noqa: PLC0415
    from whygpu.measuring.compare import against_catalogue  # noqa: PLC0415
    from whygpu.measuring.programs import measurement_of  # noqa: PLC0415
    from whygpu.render.measuring import results_text  # noqa: PLC0415
    from whygpu.render.output import write_json  # noqa: PLC0415
    from whygpu.render.style import Style  # noqa: PLC0415

    accelerator = _which(options, knowledge, results)
    found = measurement_of(results, knowledge.knowledge, accelerator, __version__, date.today())
    write_measurement(path, found)
    if options.format == "json":
        write_json(plain(found))
        return
    against = list(against_catalogue(results, accelerator, knowledge.knowledge)) if accelerator is not None else []
    estimates = estimates_of(knowledge, found) if accelerator is not None else []
    sys.stdout.write(results_text(results, against, estimates, accelerator, Style.of(sys.stdout)))
    print(f"Written to {path}: kb-explain, whygpu estimate, size and diagnose take it.")


def _which(options: argparse.Namespace, knowledge: KnowledgeBase, results: Results) -> str | None:
    """The accelerator's id, as it is said or found; raises AnswerError for one that there is not."""
    from whygpu.measured.readers.cards import by_driver  # noqa: PLC0415
    from whygpu.measuring.devices import detect  # noqa: PLC0415

    catalogue = knowledge.knowledge.catalogue
    if options.accelerator is not None:
        ids = catalogue.find_accelerators(options.accelerator)
        if len(ids) != 1:
            message = f"'{options.accelerator[:40]}' is not one accelerator of the catalogue"
            raise _wrong(message, "--accelerator", ", ".join(ids) or "'whygpu catalogue accelerators' lists them")
        return ids[0]
    if results.ran.kind == "cpu":
        return next((item.accelerator for item in detect(catalogue) if item.asked in ("lscpu", "sysctl")), None)
    return by_driver(catalogue, results.ran.name, results.ran.memory_mib)


def estimates_of(knowledge: KnowledgeBase, found: Measurement) -> list[str]:
    """What the estimates say of the same: training and inference, each with its factor."""
    from whygpu.measured.write import plain  # noqa: PLC0415

    said: list[str] = []
    for phase in ("inference", "training"):
        given = {key: value for key, value in found.setup.answers.given.items() if value is not None}
        answers = {**given, "phase": phase, "accelerators": [found.setup.accelerator], "measured": plain(found)}
        said += knowledge.consult(answers, engine="evaluator").plans.work.measured
    return list(dict.fromkeys(said))
