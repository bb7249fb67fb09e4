"""How requests come: Poisson, or in bursts, and what of that is left where a balancer splits them over replicas.

Times between requests are independent and Gamma distributed, as load generators make them: vLLM's ``bench serve
--burstiness`` is the shape of that Gamma, 1 Poisson, less more bursty (https://docs.vllm.ai/en/latest/cli/bench/serve/).
BurstGPT fits the same distribution to the traffic of a service (Wang et al. 2024, arXiv:2401.17644).
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Requests at one replica: a time between two is short (``fast_s``, with chance ``fast``) or long (``slow_s``),
    each exponential. Two phases have the same mean, variance and skew as the times they stand for.
    """

    fast: float
    fast_s: float
    slow_s: float

    @property
    def per_s(self) -> float:
        """Requests a second."""
        return 1 / (self.fast * self.fast_s + (1 - self.fast) * self.slow_s)

    @property
    def variation(self) -> float:
        """Coefficient of variation of the time between two requests; 1 for Poisson."""
        second = 2 * (self.fast * self.fast_s**2 + (1 - self.fast) * self.slow_s**2)
        return math.sqrt(max(second * self.per_s**2 - 1, 0.0))


def split_arrivals(per_s: float, burstiness: float, replicas: int, shortest_s: float = 0.0) -> Arrivals:
    """What reaches one of so many ``replicas``, where each request goes to one of them at random.

    ``per_s``: requests a second in all; ``burstiness``: shape of the Gamma between them, at most 1; ``shortest_s``: a
    phase need not be shorter, for requests that come so close together come at once. The time between
    two requests at a replica is a geometric sum of times between requests; its moments follow from theirs, and two
    exponential phases are fitted to them (Whitt 1982, doi 10.1287/opre.30.1.125). The more
    replicas, the nearer it is to Poisson: a bursty stream that is split at random loses its bursts.
    """
    share, rest = 1 / replicas, 1 - 1 / replicas
    mean = 1 / per_s
    second = mean**2 * (1 + 1 / burstiness)
    third = mean**3 * (1 + 1 / burstiness) * (1 + 2 / burstiness)
    return _two_phases(
        mean / share,
        second / share + 2 * rest * mean**2 / share**2,
        third / share + 6 * rest * mean * second / share**2 + 6 * rest**2 * mean**3 / share**3,
        shortest_s,
    )


def felt_burstiness(burstiness: float, varies: float, cap: float, used: float) -> float:
    """The shape that counts for requests whose sizes have this coefficient of variation, ``cap`` of them at a time.

    Of k requests that come together and share a replica, equal ones all end with the last, at k, those of exponential
    sizes on average at (k + 1) / 2, which the chain in ``replica`` has: where sizes vary less, what bursts add counts
    up to twice. Requests that are served one after the other share nothing, and the more a replica is ``used`` (a
    share) the more they share it with others than with each other: this part is fitted to simulations.
    """
    more = 1 + max(2 / (1 + varies**2) - 1, 0.0) * (1 - 1 / cap) * (1 - used**2)
    return 1 / (1 + (1 / burstiness - 1) * more)


_LONGEST = 1 / 4
"""Of the mean time between requests: no phase is taken to be as long as this because it is ``shortest_s``."""


def _two_phases(first: float, second: float, third: float, shortest_s: float) -> Arrivals:
    """Two exponential phases with these moments; with the first two alone where a phase would be shorter."""
    half, sixth = second / 2, third / 6
    if half / first**2 < 1 + 1e-9:  # as good as exponential
        return Arrivals(1.0, first, first)
    total = (sixth - first * half) / (half - first**2)
    product = first * total - half
    fast_s = max((total - math.sqrt(max(total**2 - 4 * product, 0.0))) / 2, min(shortest_s, _LONGEST * first))
    slow_s = (half - fast_s * first) / (first - fast_s)
    return Arrivals((slow_s - first) / (slow_s - fast_s), fast_s, slow_s)
