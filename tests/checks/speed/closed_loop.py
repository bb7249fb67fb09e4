"""What never grows in the time to the first token, where each of so many clients asks anew when it is answered.

Answers that end sooner bring the next prompts sooner, to a queue whose prompts may be no faster: the wait can grow, by
at most half of the decoding time saved (test_the_wait_grows_by_less_than_half_of_what_decoding_saves; Reiser and
Lavenberg 1980, doi 10.1145/322186.322195). All else in the time to the first token is held without allowance.
"""

from __future__ import annotations

from whygpu.checks.setup import FloatArray
from whygpu.checks.speed.columns import LIKELY
from whygpu.checks.speed.inference import InferenceWork


def never_longer_s(work: InferenceWork) -> tuple[FloatArray, FloatArray]:
    """Likely seconds per plan: the time to the first token but for the wait, and with it and half of the decoding."""
    steps = (max(work.columns.setup.output_tokens, 1) - 1) * work.decode.token_s[LIKELY]
    return work.ttft_s[LIKELY] - work.queue_s[LIKELY], work.ttft_s[LIKELY] + steps / 2
