"""Sizes training and serving from measurements: pure arithmetic, and what the rules say of its results."""
