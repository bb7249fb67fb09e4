"""Numeric checks: pure functions for memory and speed, every figure traceable to its formula and the numbers put in."""
