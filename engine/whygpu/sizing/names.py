"""The names of the vocabulary that sizing gives values to."""

from __future__ import annotations

ANSWERED = {
    "training": ("steps", "headroom", "usd_per_hour"),
    "inference": (
        *("p95_ms", "burstiness", "target_utilisation", "spare_replicas", "zones", "variation", "usd_per_hour"),
    ),
}
"""What may be answered beside the answers of the vocabulary, for each that is sized."""
_RESULTS = (
    *(
        "peak_per_s",
        "best_per_s",
        "usable_per_s",
        "usable_share",
        "cap",
        "memory_room",
        "knee",
        "idle_p95_ms",
        "promised_p95_ms",
    ),
    *("attainable", "needed", "decides", "replicas", "usd_per_month", "usd_per_million_tokens"),
    *("accelerators", "efficiency", "fitted", "pays_to", "lost_share", "interval_minutes", "between_failures_hours"),
    *("measured", "days", "all_days", "accelerator_hours", "usd_total", "in_time"),
)
PREFIX = "sizing."
SIZING_NAMES = tuple(
    f"{PREFIX}{name}" for name in dict.fromkeys(("of", *ANSWERED["training"], *ANSWERED["inference"], *_RESULTS))
)
