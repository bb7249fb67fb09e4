"""Names that people ask for resolve to the sizes that their makers publish."""

from __future__ import annotations

import pytest

import whygpu
from whygpu.chain.environment import plain

# The Hub's name, the preset, and its parameters in all, by the model card or the configuration that the preset cites.
NAMES = (
    ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "qwen2.5-7b", 7.6e9),
    ("deepseek-ai/DeepSeek-R1-Distill-Qwen-14B", "qwen2.5-14b", 14.8e9),
    ("deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", "qwen2.5-32b", 32.8e9),
    ("deepseek-ai/DeepSeek-R1-Distill-Llama-8B", "llama-3.1-8b", 8.0e9),
    ("deepseek-ai/DeepSeek-R1-Distill-Llama-70B", "llama-3.3-70b", 70.6e9),
    ("nvidia/parakeet-tdt-0.6b-v2", "parakeet-tdt-0.6b-v2", 0.6e9),
    ("nvidia/parakeet-tdt-0.6b-v3", "parakeet-tdt-0.6b-v3", 0.6e9),
    ("nvidia/canary-1b-flash", "canary-1b-flash", 883e6),
    ("distil-whisper/distil-large-v3", "distil-whisper-large-v3", 756e6),
    ("black-forest-labs/FLUX.2-dev", "flux.2-dev", 32e9 + 24e9),
    ("black-forest-labs/FLUX.2-klein-4B", "flux.2-klein-4b", 4e9 + 4e9),
    ("Qwen/Qwen-Image", "qwen-image", 20e9 + 8.3e9),
    ("Wan-AI/Wan2.2-T2V-A14B", "wan2.2-t2v-a14b", 2 * 14.3e9 + 5.7e9),
    ("Wan-AI/Wan2.2-TI2V-5B", "wan2.2-ti2v-5b", 5e9 + 5.7e9 + 0.7e9),
)


@pytest.mark.parametrize(("name", "preset", "parameters"), NAMES)
def test_a_name_of_the_hub_is_a_preset(kb: whygpu.KnowledgeBase, name: str, preset: str, parameters: float) -> None:
    answers = {"model": name, "phase": "inference"}
    for given in (answers, answers | {"model": preset}):
        found = plain(kb.advise(given).consultation.session.environment.value("model.parameters"))
        assert found == pytest.approx(parameters, rel=0.05)
