"""Names by which the consultation itself and the rules tell each other something."""

PHASE_OF_LIFE = "workload.life"
"""The name that says which phase of a lifecycle the consultation is about."""
LEAST_REPLICAS = "workload.least_replicas"
"""The name by which rules say how few replicas a service may rest on."""
USUAL_HOURS = "workload.usual_hours"
"""The name of the longest time that a training run usually takes: what plans are sized for without a deadline."""
SHORT_HOURS = "workload.short_hours"
"""The name of the time that a job is better done in where one machine can: what plans are sized for beside."""
ROOMY_HOURS = "workload.roomy_hours"
"""The name of the longest time that leaves room before a deadline: what plans are sized for beside the deadline."""
USUAL_BATCH = "workload.usual_batch"
"""The name of the most samples that a training step, or a replica in batch work, usually has: what plans are filled up
to where nobody gave any."""
LIFE_KEYS = ("service_months", "training_runs", "retrain_months")
"""Answers that change what a life costs, and no plan."""
