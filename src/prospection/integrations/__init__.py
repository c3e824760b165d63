"""Other people's memories under our policies, and our memory inside other people's frameworks.

Into prospection: `as_retriever` makes a `Retriever` of a plain function or of what a framework searches with; a module
a framework (`chroma`, `langchain`, `llamaindex`, `mem0`, `pgvector`, `qdrant`) has `retriever(...)` for what cannot be
told from the object alone. Out of prospection: `langchain`, `llamaindex`, `openai_agents` and `pydantic_ai` offer a
memory in the framework's own terms, with the user fixed.

Each framework is an extra, and is imported by its own module only.
"""

from __future__ import annotations

from prospection.integrations.found import Found
from prospection.integrations.function import FunctionRetriever
from prospection.integrations.recognise import as_retriever

__all__ = ["Found", "FunctionRetriever", "as_retriever"]
