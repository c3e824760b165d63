"""What a memory is, told from the object alone.

In goes whatever a caller has; out comes a `Retriever`, or one error that says what to do. Frameworks are recognised by
the names of their classes, so that none is imported that is not already in use.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any, cast

from prospection.errors import InputError
from prospection.integrations.function import FunctionRetriever
from prospection.protocols import Retriever

__all__ = ["as_retriever"]

_ADAPTERS = {
    ("langchain_core", "BaseRetriever"): "langchain",
    ("langchain_core", "VectorStore"): "langchain",
    ("llama_index", "BaseRetriever"): "llamaindex",
    ("chromadb", "Collection"): "chroma",
    ("chromadb", "AsyncCollection"): "chroma",
}

_INCOMPLETE = {
    ("mem0", "Memory"): "mem0.retriever(memory, user='ada')",
    ("mem0", "AsyncMemory"): "mem0.retriever(memory, user='ada')",
    ("qdrant_client", "QdrantClient"): "qdrant.retriever(client, 'facts', embed=...)",
    ("qdrant_client", "AsyncQdrantClient"): "qdrant.retriever(client, 'facts', embed=...)",
    ("psycopg", "Connection"): "pgvector.retriever('postgresql://...', table='facts', embed=...)",
    ("psycopg", "AsyncConnection"): "pgvector.retriever('postgresql://...', table='facts', embed=...)",
}
"""What the object alone does not say all about, and the call that does."""


def as_retriever(memory: object) -> Retriever:
    """Return a `Retriever` over a memory.

    Args:
        memory: A `Retriever`; a function from texts and k to what it finds (see `FunctionRetriever`); a retriever or
            vector store of LangChain; a retriever of LlamaIndex; a collection of Chroma.

    Raises:
        InputError: It is none of these, or more has to be known than the object says.
    """
    kinds = [(kind.__module__.partition(".")[0], kind.__name__) for kind in type(memory).__mro__]
    for kind in kinds:
        if kind in _ADAPTERS:
            adapter = import_module(f"prospection.integrations.{_ADAPTERS[kind]}")
            return cast("Retriever", adapter.retriever(memory))
        if kind in _INCOMPLETE:
            raise InputError(
                f"a {'.'.join(kind)} alone does not say what to search; "
                f"write prospection.integrations.{_INCOMPLETE[kind]}"
            )
    if inspect.iscoroutinefunction(getattr(memory, "retrieve", None)) and not isinstance(memory, type):
        return cast("Retriever", memory)
    if callable(memory) and not isinstance(memory, type):
        return FunctionRetriever(cast("Any", memory))
    raise InputError(
        f"{memory!r} is not a memory that can be searched; pass a function search(texts, k), a Retriever, "
        "or a retriever of LangChain, LlamaIndex, mem0, Chroma, Qdrant or pgvector (docs/integrations.md)"
    )
