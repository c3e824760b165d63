"""TaciTree (Li et al. 2025, arXiv 2503.07018): facts in a tree of summaries, searched from the top by yes or no."""
