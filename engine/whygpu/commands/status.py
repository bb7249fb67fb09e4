"""Exit statuses of the commands."""

OK = 0
PROBLEMS = CHANGED = 1
BAD_INPUT = NO_SUCH_FILE = UNWRITABLE = 2
INFEASIBLE = 3
BROKEN = 70
"""A fault of whygpu itself (sysexits.h: EX_SOFTWARE)."""
INTERRUPTED = 130
"""Ended by Ctrl-C: 128 and the number of the signal."""
