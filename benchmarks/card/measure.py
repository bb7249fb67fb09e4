"""Run every case on the card at hand and write what was measured, one JSON line each.

    python -m benchmarks.card.measure [--out rows.jsonl] [--only TEXT] [--seconds N] [--tiny]

Needs PyTorch, transformers, timm, peft and diffusers, for QLoRA bitsandbytes; no weights are read. A case that fails is
written with its error. `--tiny` cuts the models down, to see on a processor that the programs run.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import torch
from benchmarks.card.bench import Bench
from benchmarks.card.cases import CASES


def main(arguments: list[str] | None = None) -> int:
    """The exit status: 1 where a case failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.card.measure", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("rows.jsonl"))
    parser.add_argument("--only", default="", help="cases whose name this regular expression is found in")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no case after so long")
    parser.add_argument("--no-cudnn-attention", action="store_true", help="FlashAttention for it")
    parser.add_argument("--tiny", action="store_true")
    asked = parser.parse_args(arguments)
    torch.backends.cuda.enable_cudnn_sdp(not asked.no_cudnn_attention)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    where: dict[str, Any] = {
        "card": torch.cuda.get_device_name() if device == "cuda" else "CPU",
        "torch": torch.__version__,
        "date": datetime.date.today().isoformat(),
        "attention": "FlashAttention" if asked.no_cudnn_attention else "default",
    }
    bench, failed, began = Bench(device, asked.tiny), 0, time.monotonic()
    with asked.out.open("w", encoding="utf-8") as file:
        for case in CASES:
            if not re.search(asked.only, case.name) or time.monotonic() - began > asked.seconds:
                continue
            row = {"case": case.name, "answers": case.answers, **where}
            bench.clear()
            try:
                row["measured"] = case.run(bench)
                row["busy"] = bench.busy and round(bench.busy, 3)
            except Exception as error:  # noqa: BLE001  the next case is measured all the same
                failed += 1
                row["error"] = f"{type(error).__name__}: {error}"[:300]
            print(f"{case.name}: {row.get('measured') or row['error']}, busy {row.get('busy')}", flush=True)
            file.write(json.dumps(row) + "\n")
            file.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
