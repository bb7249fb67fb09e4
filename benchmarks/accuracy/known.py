"""What the figures are known to get wrong, by mechanism. Update it when a mechanism is mended or found."""

from __future__ import annotations

KNOWN = (
    "- **Ran out of memory, said to fit.** The four wrong verdicts are within 2 to 5% of the card. `usable_mib`",
    "  is what nvidia-smi prints as total, of which the driver keeps about 0.8 GiB on an 80 GB card (PyTorch sees",
    "  79.2 GiB), and FasterTransformer's pool and LitGPT's quantization while loading fragment the rest. Three",
    "  of the four are *tight*, not *fits*: the high end of their range is beyond the card.",
    "- **CUDA context on old software** (hf-bert-large). Before CUDA 11.7 every kernel was loaded at start, 1.3",
    "  GiB on a V100 against 0.5 to 0.7 GiB since; the likely figure is for today's. The driver also counts what",
    "  PyTorch's allocator caches beside what is in use.",
    "- **Small quantized models** (qwen2.5-transformers, AWQ up to 3B, prompts of one token): something of a",
    "  quarter of a gigabyte is held beside the weights, which the ranges include and the likely figure does not;",
    "  a prompt of 6,144 tokens shows no such thing.",
    "- **Decoding with grouped heads on TensorRT-LLM 0.5 and 0.6** (trtllm-0.6, outputs of 2,048 tokens,",
    "  Llama-70B and Falcon-180B): the figures fit a kernel that reads the cache once per query head, so the",
    "  estimate is two to three times too fast. Kernels that read it once per group, as is estimated, came later.",
    "  Rows of models with as many key heads as query heads are within 30%.",
    "- **Experts in GPTQ on SGLang 0.4.6**: no fused kernel, 0.7 ms of host work a layer whatever the size. It is",
    "  a coefficient of that runtime and format; a later release will be faster than estimated.",
    "- **Prompts on llama.cpp in FP16 on several cards or on data-centre cards** (xiongjie-dai-llamacpp): up to",
    "  eleven times slower than estimated. The tables are of May 2024 and give no cause; kernels without matrix",
    "  units would explain it. The estimate does not follow that.",
    "- **Large batches over eight cards** (ft-gpt, GPT-20B over eight cards): the norms, residual sums and copies",
    "  between matrix products are not divided by tensor parallelism, and their traffic is not counted beside the",
    "  products.",
    "- **Narrow convolution networks in batches** (yolov5, the two smallest): few channels fill little of a",
    "  matrix unit, so the reached share of the peak falls with width; one share is used for all.",
    "- **Power-limited cards** (ft-vit on a T4): 70 W do not hold the clock that the peak rate is printed for.",
    "- **Training speed of adapters** (torchtune-readme): torchtune's compiled LoRA reaches 0.59 to 0.9 of the",
    "  peak with recomputation counted, more than full training does, so the likely figure is 20 to 35% low.",
    "  LitGPT's samples are of unstated length; 200 tokens are assumed, and adapter prompts are set up as LoRA.",
)
