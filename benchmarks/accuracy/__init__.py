"""Estimates against published measurements, per family, beside what other tools' published rules say of the same rows.

Run it as ``python -m benchmarks.accuracy --data DIR`` from the project's root. The measurements are read where they
lie; only aggregate figures and the ids of rows enter docs/explanation/accuracy.md.
"""
