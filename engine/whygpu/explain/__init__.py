"""Explanations: the trace of a consultation, the advice made of it, and questions about it."""
