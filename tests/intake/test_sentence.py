"""Answers within a sentence: what stands there in so many words, and nothing else."""

from __future__ import annotations

import pytest

import whygpu
from tests.effort import takes_less
from whygpu.intake.phrases import read_phrases
from whygpu.intake.sentence import Sentence, closed_within, not_read, not_sized, partly_read, read_sentence
from whygpu.quantity import parse_number


@pytest.mark.parametrize(
    ("phase", "text", "answers"),
    [
        ("inference", "a chat on Azure for $500 a month", {"providers": ["azure"], "budget_per_hour": 500 / 730}),
        ("inference", "at most US$2/h in Europe", {"budget_per_hour": 2, "regions": ["eu"]}),
        ("inference", "500 dollars per month", {"budget_per_hour": 500 / 730}),
        ("fine-tuning", "$500 a month", {"budget_total": 500}),  # a job may take all of it, and not run all the time
        ("fine-tuning", "for $500 in 3 days", {"budget_total": 500, "deadline_hours": 72}),
        ("inference", "12 cameras at the edge", {"streams": 12, "deployment": "edge"}),
        (
            "inference",
            "20 rps with 32k context, in production",
            {
                "requests_per_second": 20,
                "context_tokens": 32_000,
                "criticality": "production",
            },
        ),
        ("inference", "100 concurrent users", {"concurrency": 100}),
        ("training", "a 1B model on 20B tokens", {"model": {"parameters": 1e9}, "dataset_tokens": 2e10}),
        ("training", "a 350M model on 8B tokens", {"model": {"parameters": 3.5e8}, "dataset_tokens": 8e9}),
        ("training", "a 125M language model", {"model": {"parameters": 1.25e8}}),
        ("fine-tuning", "QLoRA on my 2x RTX 3090", {"method": "qlora", "owned": "2x RTX 3090"}),
        (
            "fine-tuning",
            "1.5 million examples on 8 H100",
            {
                "dataset_samples": 1.5e6,
                "accelerators": ["H100"],
                "count": 8,
            },
        ),
        ("inference", "BGE M3", {"model": "bge-m3"}),  # and no Apple M3
        ("inference", "serve gpt neox", {"model": "gpt-neox-20b"}),
        ("inference", "a step of code for the seed", {}),  # as models' names begin
        ("batch-inference", "1,000 hours of audio", {"dataset_hours": 1000}),
    ],
)
def test_amounts_and_names(kb: whygpu.KnowledgeBase, phase: str, text: str, answers: dict[str, object]) -> None:
    found, _ = read_phrases(text, phase, None, kb.knowledge)
    assert found == pytest.approx(answers) if set(answers) == {"budget_per_hour"} else found == answers
    kb.check({"phase": phase, **found})


@pytest.mark.parametrize(
    ("phase", "text", "amounts"),
    [
        ("training", "for 200 users", ("200 users",)),  # of a service alone
        ("training", "20M crumbs", ("20M crumbs",)),  # no model's size
        ("inference", "$500", ("$500",)),  # an hour, a month, or to buy?
        ("inference", "\u20ac500 a month", ("\u20ac500 a",)),  # at what rate?
        ("inference", "20 to 30 cameras", ("20 to",)),
        ("fine-tuning", "in 3 days or in 5 days", ("3 days", "5 days")),
        ("inference", "12 cameras or 14 cameras", ("12 cameras", "14 cameras")),
        ("training", "500 requests a month", ("500 requests",)),
        ("inference", "a budget of $1,5", ("$1,5",)),
        ("inference", "1,5 requests per second", ("1,5 requests",)),
    ],
)
def test_what_may_mean_several_is_left(
    kb: whygpu.KnowledgeBase, phase: str, text: str, amounts: tuple[str, ...]
) -> None:
    assert Sentence(*read_phrases(text, phase, None, kb.knowledge)).left == amounts


def test_money_is_read_with_the_time_it_is_for(kb: whygpu.KnowledgeBase) -> None:
    """A word that the answer is not read with would leave the number alone, as if it were an hour's."""
    for said in kb.knowledge.said:
        if said.answer == "budget_per_hour":
            for word in said.words:
                assert parse_number(f"730 {word}", "USD/hour") is not None, word


@pytest.mark.parametrize(
    ("text", "hourly"), [("$730 a month", 1.0), ("$24/day", 1.0), ("8,760 USD per year", 1.0), ("$3/hour", 3.0)]
)
def test_a_price_for_another_time(text: str, hourly: float) -> None:
    assert parse_number(text, "USD/hour") == pytest.approx(hourly)


def test_nothing_long_is_slow(kb: whygpu.KnowledgeBase) -> None:
    read_phrases("1 " * 100_000, "training", None, kb.knowledge)
    read_phrases("in the of at " * 10_000, "training", None, kb.knowledge)
    assert takes_less(lambda: read_sentence("serve " + "word with a 7 other thing " * 80, kb.knowledge), 100)


@pytest.mark.parametrize(
    "sentence",
    [
        "serve Falcon-9000 to everyone",  # never another model's answer
        "serve a Llama 99B chatbot",
        "serve a 7B or a 13B chatbot",
        "serve a llama 70b or a qwen 72b chatbot",
        "train a speech model on 1000 hours of audio",
        "text-to-speech at 5 requests per second",
        "distill a 70B into an 8B",
        "deploy Llama 3.2 3B on a Raspberry Pi",
        "run Qwen3 30B A3B on a laptop",
        "serve a reranker at 50 requests per second",
        "train a chatbot",
        "7B for cameras",
        "fine-tune a 7B that we serve later",
        "a 7B",
        "a chatbot that searches our documents, 7B",
        "7B for cameras or images",
        "a chat with my Foobar at 20 requests per second",  # nor the usual one's
    ],
)
def test_a_sentence_that_may_mean_several_is_not_read(sentence: str, kb: whygpu.KnowledgeBase) -> None:
    assert read_sentence(sentence, kb.knowledge) is None


@pytest.mark.parametrize(
    ("sentence", "phase", "answers"),
    [
        ("fine-tune a 7B chatbot with LoRA", "fine-tuning", {"method": "lora", "model": {"parameters": 7e9}}),
        ("embed 20M documents in 2 days", "batch-inference", {"dataset_samples": 2e7, "deadline_hours": 48}),
        ("embed 20M documents at 5 requests per second", "inference", {"requests_per_second": 5}),
        ("serve SDXL: images at 2 requests per second", "inference", {"model": "stable-diffusion-xl"}),
        ("LoRA of Qwen3-VL 8B on 20k images at home", "fine-tuning", {"dataset_samples": 20_000}),
        ("12 cameras at the edge", "inference", {"task": "vision", "streams": 12}),
        # how many, and no letter of a name
        ("run Mixtral 8x7B on 2 used 3090s", "inference", {"accelerators": ["3090"], "count": 2}),
        ("serve Llama 3.1 70B on my 2 RTX 3090s", "inference", {"owned": "2x RTX 3090"}),
        ("serve Llama 3.1 8B on an L40S", "inference", {"accelerators": ["L40S"]}),
        ("serve Llama 3.1 70B on two RTX 3090s", "inference", {"accelerators": ["RTX 3090"], "count": 2}),
        ("pretrain a 1B model on 20B tokens within a month", "training", {"deadline_hours": 730}),
        ("LoRA of Llama 3.1 8B on 10k samples in less than an hour", "fine-tuning", {"deadline_hours": 1}),
        # how long one of many is
        ("fine-tune Llama 3.1 8B on 10k samples of 2048 tokens", "fine-tuning", {"sequence_tokens": 2048}),
        ("fine-tune Llama 3.1 8B with 4096 tokens sequence length", "fine-tuning", {"sequence_tokens": 4096}),
        ("embed 5 million documents of 500 tokens each", "batch-inference", {"context_tokens": 500}),
        # as newcomers write: no verb, or one that is a noun too
        ("run deepseek r1 at home", "inference", {"model": "deepseek-r1", "deployment": "workstation"}),
        ("run a 70B model locally", "inference", {"model": {"parameters": 7e10}, "deployment": "workstation"}),
        ("GPU for SDXL", "inference", {"model": "stable-diffusion-xl"}),
        ("Kimi K2 for my team", "inference", {"model": "kimi-k2"}),
        ("a chatbot for 200 users", "inference", {"task": "language", "people": 200}),
        ("serve a 70B model to 20 people", "inference", {"task": "language", "people": 20}),
        ("serve SDXL to 20 people", "inference", {"model": "stable-diffusion-xl"}),
        ("serve gpt-oss-120b to our 20 software developers", "inference", {"people": 20}),
        ("serve Llama 3.1 8B to 20 concurrent users", "inference", {"concurrency": 20}),
        ("caption 5 million product photos", "batch-inference", {"task": "multimodal", "dataset_samples": 5e6}),
        ("classify 10 million images offline", "batch-inference", {"task": "vision", "dataset_samples": 1e7}),
        ("OCR 2 million scanned pages", "batch-inference", {"task": "multimodal", "dataset_samples": 2e6}),
        ("transcribe 3000 hours of podcasts", "batch-inference", {"task": "speech", "dataset_hours": 3000}),
        ("transcribe calls live, 50 at once", "inference", {"task": "speech", "streams": 50}),
        ("DeepSeek V3 with 20 sessions at once", "inference", {"model": "deepseek-v3", "concurrency": 20}),
        (
            "DPO on Llama 3.1 8B with 60k preference pairs",
            "fine-tuning",
            {"algorithm": "dpo", "dataset_samples": 60_000},
        ),
        ("detect objects on 12 cameras on a Jetson", "inference", {"streams": 12, "accelerators": ["Jetson"]}),
        ("run Llama 3.3 70B on my Mac Studio", "inference", {"accelerators": ["Mac Studio"]}),  # which one is not said
        ("run whisper large v3 on a CPU", "inference", {"model": "whisper-large-v3", "accelerators": ["CPU"]}),
        ("train a ResNet-50 on ImageNet", "training", {"model": "resnet-50"}),
        ("train a recommendation model", "training", {"task": "recommendation"}),
        ("serve Llama 3.1 405B in FP8", "inference", {"format": "fp8"}),
        ("batch summarize 200k PDFs", "batch-inference", {"task": "language", "dataset_samples": 2e5}),
        ("RLHF a 7B model", "fine-tuning", {"algorithm": "ppo"}),
        ("fine-tune FLUX with LoRA", "fine-tuning", {"method": "lora"}),
        ("a drone with 1 camera", "inference", {"streams": 1}),
        ("FLUX, 1 image per second", "inference", {"requests_per_second": 1}),
        (
            "which GPU should I buy for local LLMs under $2000",
            "inference",
            {"budget_total": 2000, "deployment": "workstation"},
        ),
        ("run a 70B locally for $3,000 to buy", "inference", {"budget_total": 3000, "deployment": "workstation"}),
    ],
)
def test_what_a_sentence_says_decides_the_work(
    sentence: str, phase: str, answers: dict[str, object], kb: whygpu.KnowledgeBase
) -> None:
    said = read_sentence(sentence, kb.knowledge)
    assert said is not None
    assert said.answers["phase"] == phase
    assert answers.items() <= said.answers.items()
    kb.check(said.answers)


@pytest.mark.parametrize(
    ("sentence", "name"),
    [
        ("serve a Llama 70B chatbot", "Llama 70B"),
        ("serve Llama 70B to 20 people", "Llama 70B"),
        ("serve falcon at 20 requests per second", "falcon"),
        ("transcribe with whisper large, 100 hours of audio", "whisper large"),
    ],
)
def test_a_name_of_several_models_is_asked_about(kb: whygpu.KnowledgeBase, sentence: str, name: str) -> None:
    said = read_sentence(sentence, kb.knowledge)
    assert said is not None
    assert said.answers["model"] == name
    assert said.answers.get("people") == (20 if "20 people" in sentence else None)
    with pytest.raises(whygpu.AnswerError, match="names several models"):
        kb.check(said.answers)


@pytest.mark.parametrize(
    ("sentence", "answers", "amounts"),
    [
        # a service is no job, whatever it writes a second or reads a day
        ("serve a 7B chatbot at 50 tokens per second", {"phase": "inference"}, ("50 tokens",)),
        ("serve a 7B chatbot over our 10,000 documents", {"phase": "inference"}, ("10,000 documents",)),
        ("serve SDXL for 1000 images per day", {"phase": "inference"}, ("1000 images",)),
        # words that begin alike are other words
        ("What server do I need to train a 7B model?", {"phase": "training"}, ()),
        ("train YOLO11m on 20k images", {"phase": "training", "model": "yolo11m", "dataset_samples": 20_000}, ()),
        # what one of many is, and prices of something else
        ("fine-tune Llama 3.1 8B on 10k samples of 2048 tokens", {"dataset_samples": 10_000}, ()),
        ("fine-tune Llama 3.1 8B on 10k examples with 16k context", {"sequence_tokens": 16_000}, ()),
        ("fine-tune Llama 3.1 8B for $2 per GPU hour", {}, ("$2 per",)),
        # what is not so
        ("serve Llama 3.1 8B, not on AWS", {}, ("AWS",)),
        ("serve Llama 3.1 8B anywhere except in the US", {}, ("US",)),
        ("move my Llama 3.1 8B chat away from AWS, on Azure", {"providers": ["azure"]}, ("AWS",)),
        ("full fine-tune of Llama 3.1 8B, no LoRA", {"method": "full"}, ()),
        ("fine-tune Llama 3.1 8B, full or LoRA?", {}, ()),
        ("serve Llama 3.1 8B, not in production yet", {}, ()),
        ("I don't have an RTX 4090, serve Llama 3.1 8B", {}, ("RTX 4090",)),
        # alternatives and several
        ("serve Llama 3.1 8B on AWS or Azure", {"providers": ["aws", "azure"]}, ()),
        ("serve Llama 3.1 8B in Germany or France", {"regions": ["germany", "france"]}, ()),
        ("serve Llama 3.1 8B on my RTX 3090 and RTX 4090", {"owned": "RTX 3090, RTX 4090"}, ()),
        ("is an L4 or an A10G better to serve Llama 3.1 8B?", {"accelerators": ["L4", "A10G"]}, ()),
    ],
)
def test_no_more_is_read_than_is_said(
    sentence: str, answers: dict[str, object], amounts: tuple[str, ...], kb: whygpu.KnowledgeBase
) -> None:
    """Each was read as something else by a stranger's eyes."""
    said = read_sentence(sentence, kb.knowledge)
    assert said is not None
    assert answers.items() <= said.answers.items()
    unsaid = {"providers", "regions", "method", "criticality", "deployment", "owned", "accelerators"} - answers.keys()
    unsaid |= {"dataset_tokens", "dataset_hours", "budget_total", "budget_per_hour"} - answers.keys()
    assert not unsaid & said.answers.keys()
    assert said.left == amounts
    kb.check(said.answers)


@pytest.mark.parametrize(
    ("sentence", "note"),
    [
        ("distill a 70B into an 8B", "two works"),
        ("deploy Llama 3.2 3B on a Raspberry Pi", "an edge module"),
        ("run Qwen3 30B A3B on a laptop", "name what is in it"),
        ("serve Llama 3.1 8B", ""),
        ("serve DistilBERT", ""),
        ("transcribe phone calls", ""),
    ],
)
def test_work_that_no_sentence_can_say_is_told(sentence: str, note: str, kb: whygpu.KnowledgeBase) -> None:
    found = not_sized(sentence, kb.knowledge)
    assert note in found
    assert bool(note) == bool(found)


def test_a_lora_may_come_of_quantized_weights(kb: whygpu.KnowledgeBase) -> None:
    """A LoRA of FLUX on a card of 24 GB is one: with the weights in 16 bits it does not fit."""
    said = read_sentence("train a LoRA for FLUX on my RTX 4090", kb.knowledge)
    assert said is not None
    assert said.answers == {"phase": "fine-tuning", "model": "flux.1-dev", "owned": "RTX 4090"}


def test_names_that_are_not_read_are_told(kb: whygpu.KnowledgeBase) -> None:
    said = read_sentence("I want to run Llama 3.3 70B on my Foo Bar for 3 cats", kb.knowledge)
    assert said is not None
    assert said.left == ("Foo Bar", "3 cats")


@pytest.mark.parametrize(
    ("sentence", "name"),
    [
        ("translate 20 million sentences offline with Gemma 3 12B", "context_tokens"),  # 600 times the price
        ("fine-tune Llama 3.1 8B on 10k examples", "sequence_tokens"),
        ("embed 5 million documents", "context_tokens"),
        ("embed 5 million documents of 500 tokens each", None),
        ("fine-tune Llama 3.1 8B on 10k examples with 2k context", None),
        ("fine-tune Llama 3.1 8B on 20M tokens", None),
        ("train YOLO11m on 20k images", None),
    ],
)
def test_how_long_each_text_is_is_asked_for(sentence: str, name: str | None, kb: whygpu.KnowledgeBase) -> None:
    said = read_sentence(sentence, kb.knowledge)
    assert said is not None
    found = not_read(said, kb.knowledge, "the rest")
    assert (found is None) == (name is None)
    assert found is None or str(name) in str(found.help)


@pytest.mark.parametrize(
    ("sentence", "hint"),
    [
        ("serve Llama 3.1 8B for \u20ac500 a month", "prices are in US dollars"),
        ("serve Llama 3.1 8B for $500", "for which time"),
        ("serve Llama 3.1 8B on Azure", "the rest"),
    ],
)
def test_what_an_amount_lacks_is_told(sentence: str, hint: str, kb: whygpu.KnowledgeBase) -> None:
    said = read_sentence(sentence, kb.knowledge)
    assert said is not None
    assert hint in str(partly_read(said, kb.knowledge, "the rest").help)


def test_a_model_that_nobody_publishes_is_told_within_a_sentence(kb: whygpu.KnowledgeBase) -> None:
    assert "not published" in closed_within("serve GPT-4 for $500 a month", kb.knowledge.catalogue)
    assert closed_within("serve Llama 3.1 8B on Azure", kb.knowledge.catalogue) == ""
