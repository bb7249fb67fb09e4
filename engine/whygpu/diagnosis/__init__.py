"""From what was measured to causes and first actions, by the rules that diagnose, and what to measure next."""
