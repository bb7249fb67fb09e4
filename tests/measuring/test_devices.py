"""What is in a machine, as its tools say it, and which accelerators of the catalogue these are."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import pytest
import yaml

import whygpu
from tests.conftest import Command
from whygpu.measured.readers.cards import by_driver
from whygpu.measuring.devices import NVIDIA, PROCESSOR, Found, detect
from whygpu.render.measuring import devices_text, owned_answers
from whygpu.render.style import Style

pytestmark = pytest.mark.slow

FOUR = "NVIDIA H100 80GB HBM3, 81559\n" * 4 + "NVIDIA L4, 23034\n"
EPYC = "Architecture: x86_64\nModel name:   AMD EPYC 9654 96-Core Processor\nSocket(s):    2\n"


def found_in(kb: whygpu.KnowledgeBase, nvidia: str | None, processor: str | None = None) -> tuple[Found, ...]:
    def answer(command: Sequence[str]) -> str | None:
        return {NVIDIA: nvidia, PROCESSOR: processor}.get(tuple(command))

    return detect(kb.knowledge.catalogue, None, answer)


def test_cards_are_counted_by_their_kind(kb: whygpu.KnowledgeBase) -> None:
    found = found_in(kb, FOUR, EPYC)
    assert [(item.accelerator, item.count) for item in found[:2]] == [("h100-sxm", 4), ("l4", 1)]
    assert owned_answers(found) == {
        "owned": [{"accelerator": "h100-sxm", "count": 4}, {"accelerator": "l4", "count": 1}]
    }
    text = devices_text(found, Style(False))
    answers = yaml.safe_load(text)
    assert kb.check({**answers, "model": "llama-3.1-8b"}).owned == (("h100-sxm", 4), ("l4", 1))
    assert "# 4x NVIDIA H100 80GB HBM3, 81,559 MiB each (nvidia-smi): h100-sxm" in text


def test_the_names_of_drivers_are_known(kb: whygpu.KnowledgeBase) -> None:
    """Product names of NVIDIA's driver (nvidia-product-names), with the memory that it reports."""
    (kubernetes,) = [item for item in kb.knowledge.launches if item.id == "kubernetes"]
    catalogue = kb.knowledge.catalogue
    missed = {}
    for identifier, name in kubernetes.cards.items():
        memory = catalogue.accelerators[identifier].number("usable_mib")
        found = by_driver(catalogue, name.replace("-", " "), memory)
        if found != identifier:
            missed[identifier] = (name, memory, found)
    assert missed == {}


@pytest.mark.parametrize("name", ["AMD EPYC", "Some Processor 9000", "QEMU Virtual CPU version 2.5+"])
def test_a_processor_that_is_only_alike_is_not_taken_for_one(kb: whygpu.KnowledgeBase, name: str) -> None:
    (found,) = found_in(kb, None, f"Model name: {name}\nSocket(s): 1\n")
    assert found.accelerator is None
    assert owned_answers([found]) == {}
    assert "not in the catalogue" in devices_text([found], Style(False))


def test_pytorch_is_asked_where_nvidia_smi_is_not_there(kb: whygpu.KnowledgeBase) -> None:
    """As for ROCm, whose devices PyTorch has under cuda."""
    card = SimpleNamespace(name="AMD Instinct MI300X", total_memory=191.45 * 2**30)
    cuda = SimpleNamespace(is_available=lambda: True, device_count=lambda: 8, get_device_properties=lambda _: card)
    (first, *_) = detect(kb.knowledge.catalogue, SimpleNamespace(cuda=cuda), lambda command: None)
    assert (first.accelerator, first.count, first.asked) == ("mi300x", 8, "PyTorch")


def test_nothing_found_is_said(kb: whygpu.KnowledgeBase) -> None:
    assert devices_text(found_in(kb, None, None), Style(False)) == "# No accelerator was found.\n"


def test_the_command_needs_no_pytorch(run: Command) -> None:
    found = run("measure", "device")
    assert found.returncode == 0
    assert found.stdout.startswith("# ")
