"""The concepts of a knowledge base: rules, sources, questions, catalogue, cases."""
