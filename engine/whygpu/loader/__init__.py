"""Reads the files of a knowledge base into its concepts, with every problem and its place."""
