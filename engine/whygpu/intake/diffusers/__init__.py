"""Diffusers pipelines, component by component."""
