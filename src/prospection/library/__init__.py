"""The packaged goal library: everyday requests with the steps they lead to and the facts they would want to know.

It stands in for a language model's imagination. `goals.jsonl` holds the texts, an index their vectors.
"""
