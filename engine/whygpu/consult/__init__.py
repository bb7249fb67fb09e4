"""A consultation by stage: answers, session rules, plans, verdicts, ranking."""
