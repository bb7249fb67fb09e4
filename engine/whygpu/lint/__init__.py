"""Checks of a knowledge base that go beyond loading it."""
