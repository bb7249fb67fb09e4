"""Turns files of others into entries of a knowledge base, offline: a config.json into a model, a CSV into prices."""

from whygpu.imports.entries import Entries
from whygpu.imports.model import model_entry
from whygpu.imports.prices import price_entries
from whygpu.imports.target import Target

__all__ = ["Entries", "Target", "model_entry", "price_entries"]
