"""A memory is told from the object alone, or there is one error that says what to do."""

from __future__ import annotations

import pytest

from prospection.errors import InputError
from prospection.integrations import FunctionRetriever, as_retriever
from remembered import WordMemory


def test_a_retriever_is_one_already() -> None:
    memory = WordMemory("x")
    assert as_retriever(memory) is memory


def test_a_function_is_a_memory() -> None:
    assert isinstance(as_retriever(lambda texts, k: [[] for _ in texts]), FunctionRetriever)


@pytest.mark.parametrize("thing", [None, "memory.db", ["fact"], WordMemory, object()])
def test_anything_else_is_refused(thing: object) -> None:
    with pytest.raises(InputError, match="is not a memory that can be searched; pass a function"):
        as_retriever(thing)


@pytest.mark.parametrize(
    ("package", "name", "call"),
    [
        ("mem0.memory.main", "Memory", "mem0.retriever(memory, user='ada')"),
        ("qdrant_client.qdrant_client", "QdrantClient", "qdrant.retriever(client, 'facts', embed=...)"),
        ("psycopg", "Connection", "pgvector.retriever('postgresql://...', table='facts', embed=...)"),
    ],
)
def test_where_more_has_to_be_known_the_call_is_named(package: str, name: str, call: str) -> None:
    foreign = type("Derived", (type(name, (), {"__module__": package}),), {})()
    with pytest.raises(InputError) as refused:
        as_retriever(foreign)
    assert f"write prospection.integrations.{call}" in str(refused.value)
