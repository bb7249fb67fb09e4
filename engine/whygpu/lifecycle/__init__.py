"""Training, then serving: answers for both, the advice on each, and what they cost together."""
