"""Hugging Face configurations, one module per family of shapes."""
