"""Edges to language models and encoders.

`encoders.open_encoder` and `open.open_chat` turn names into an `Embedder` and a `ChatModel`; `meter.MeteredChat` keeps
a model within a budget; `recorded` replays and records. Nothing is imported here: each module loads what it needs.
"""
