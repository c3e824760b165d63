"""Which of two answers is better: pairs in, verdicts of a model or of people, win rates and agreement out."""
