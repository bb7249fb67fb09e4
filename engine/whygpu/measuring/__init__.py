"""Benchmarks on the device at hand: what is there, timed programs, and a measurement file of them."""
