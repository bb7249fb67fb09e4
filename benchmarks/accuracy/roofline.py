"""The one-line roofline that anybody would write: bytes over 0.65 of the bandwidth, operations over half of the peak.

It is read off the same formulas with these two shares in the place of every other coefficient of speed, so that it
knows as much of model, format and layout, and nothing of runtimes, launches, latencies or tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache

from benchmarks.accuracy.rows import Compared, Outcome, Row
from benchmarks.accuracy.subjects import Subjects

from whygpu.checks.coefficients import Coefficient, Coefficients

NAME = "roofline"
BANDWIDTH_SHARE = 0.65
PEAK_SHARE = 0.5
FIGURES: Mapping[str, float] = {
    "decode-bandwidth-share": BANDWIDTH_SHARE,
    "decode-mfu": PEAK_SHARE,
    "prefill-mfu": PEAK_SHARE,
    "product-rate-share": PEAK_SHARE,
    "vision-product-share": 1,
    "vision-software-share": 1,
    "bus-share": BANDWIDTH_SHARE,
    "decode-rows": 1,
    "unpacked-rate-share": 1,
    "formula-error": 1,
    "traffic-per-activation": 1,
    "forward-traffic-left": 0.4,  # activations moved once: one by one kernels move 2.5 times as much
    "product-traffic": 0,
    **dict.fromkeys(
        (
            "joules-per-operation",
            "prefill-traffic-bytes",
            "prefill-unpacked-share",
            "row-s",
            "launch-s-per-layer",
            "gap-s-per-layer",
            "step-s",
            "request-s",
            "text-request-s",
            "request-step-s",
            "stage-hop-s",
            "link-latency-s",
            "network-latency-s",
            "pcie-latency-s",
            "forward-operator-s",
            "vision-step-s",
            "vision-pixel-s",
        ),
        0.0,
    ),
}


@lru_cache(maxsize=4)
def coefficients(known: Coefficients) -> Coefficients:
    """The knowledge base's coefficients with those of speed replaced, whatever the runtime or card."""
    plain = {name: known.pick(name, {}) for name in known}
    cases = {name: known.cases(name) for name in known if name not in FIGURES}
    for name, value in FIGURES.items():
        plain[name] = Coefficient(name, value, value, value, plain[name].unit if name in plain else "")
    return Coefficients(plain, cases, {"shape-by-parameters": known.table("shape-by-parameters")})


@lru_cache(maxsize=4)  # which keeps the names that it has looked up
def _plain(subjects: Subjects) -> Subjects:
    return subjects.with_coefficients(coefficients(subjects.coefficients))


def beside(compare: Callable[[Row, Subjects], Outcome]) -> Callable[[Row, Subjects], Outcome]:
    """The same comparison, with the roofline's figure among the peers."""

    def both(row: Row, subjects: Subjects) -> Outcome:
        found = compare(row, subjects)
        if not isinstance(found, Compared):
            return found
        plain = compare(row, _plain(subjects))
        return replace(found, peers={**found.peers, NAME: plain.likely}) if isinstance(plain, Compared) else found

    return both
