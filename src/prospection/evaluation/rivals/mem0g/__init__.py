"""Mem0 with graph memory (Chhikara et al. 2025, arXiv 2504.19413): memories that are updated, and a graph beside."""
