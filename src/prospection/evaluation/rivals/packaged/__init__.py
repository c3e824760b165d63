"""The rivals' own packages, each in an environment of its own, asked over JSON lines."""
