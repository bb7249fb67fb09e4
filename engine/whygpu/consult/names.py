"""Names by which the consultation itself and the rules tell each other something."""

from __future__ import annotations

from whygpu.plans.work import BOARD, NATIVE_FORMAT

PHASE_OF_LIFE = "workload.life"
"""The name that says which phase of a lifecycle the consultation is about."""
ALONE = "alone"
"""Its value where nothing is said of another phase."""
LEAST_REPLICAS = "workload.least_replicas"
"""The name by which rules say how few replicas a service may rest on."""
USUAL_HOURS = "workload.usual_hours"
"""The name of the longest time that a training run usually takes: what plans are sized for without a deadline."""
SHORT_HOURS = "workload.short_hours"
"""The name of the time that a job is better done in where one machine can: what plans are sized for beside."""
ROOMY_HOURS = "workload.roomy_hours"
"""The name of the longest time that leaves room before a deadline: what plans are sized for beside the deadline."""
USUAL_TOKEN_MS = "workload.usual_token_ms"
"""The name of the longest time that a token of a service usually takes: what plans are tried for beside the fewest."""
SLOWEST_TOKEN_MS = "workload.slowest_token_ms"
"""The name of the longest time that a token of any service takes: what plans are tried for as well."""
BUSIEST_SHARE = "workload.busiest_share"
"""The name of the share of its rate that a service is kept busy at most: busier plans are tried with more replicas."""
USUAL_BATCH = "workload.usual_batch"
"""The name of the most samples that a training step, or a replica in batch work, usually has: what plans are filled up
to where nobody gave any."""
NEVER_RESTS = "workload.never_rests"
"""The name by which rules say that the load of a service leaves no hours for anything else."""
IMPLIED_RATES = (("workload.in_pieces", "need.pieces_per_s"), ("workload.in_turn", "need.answers_per_s"))
"""Names by which rules say that a load comes to a rate which nobody gave, each with the name of the rate."""
ENGINE_READS = frozenset(
    (
        *(LEAST_REPLICAS, USUAL_HOURS, SHORT_HOURS, ROOMY_HOURS, USUAL_TOKEN_MS, SLOWEST_TOKEN_MS, USUAL_BATCH),
        *(BUSIEST_SHARE, NEVER_RESTS, NATIVE_FORMAT, BOARD),
        *(name for pair in IMPLIED_RATES for name in pair),
    )
)
"""Names that rules conclude or values compute for the engine: what plans are found by."""
LIFE_KEYS = ("service_months", "training_runs", "retrain_months")
"""Answers that change what a life costs, and no plan."""
