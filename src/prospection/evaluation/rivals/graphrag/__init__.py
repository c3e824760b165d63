"""GraphRAG (Edge et al. 2024, arXiv 2404.16130): a graph of entities, reports on its communities, local search."""
