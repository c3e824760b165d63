"""pgvector, in a real PostgreSQL that is started for the tests."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from contracts.retriever_contract import NOTES, RetrieverContract, probe
from openai_protocol import embedding
from prospection.integrations import pgvector
from prospection.integrations.pgvector import Distance
from prospection.protocols import Retriever

TABLE = ('sche"ma', 'Fac"ts; DROP')
ODD = 'we"ird; --'


def embed(texts: list[str]) -> list[list[float]]:
    return [embedding(text) for text in texts]


def vector(text: str) -> str:
    return str(embedding(text))


@pytest.fixture(scope="module")
def filled(database: str) -> str:
    with psycopg.connect(database) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        fill(connection, ("facts",), "text")
        connection.execute(SQL("CREATE SCHEMA {}").format(Identifier(TABLE[0])))
        fill(connection, TABLE, ODD)
    return database


def fill(connection: psycopg.Connection[Any], table: tuple[str, ...], text: str) -> None:
    names = {"table": Identifier(*table), "text": Identifier(text)}
    connection.execute(
        SQL("CREATE TABLE {table} (id text, {text} text, embedding vector(64), user_id text, said date)").format(
            **names
        )
    )
    insert = SQL("INSERT INTO {table} VALUES (%s, %s, %s, %s, %s)").format(**names)
    for place, (id_, note) in enumerate(NOTES.items(), start=1):
        connection.execute(insert, [id_, note, vector(note), "ada", f"2025-03-0{place}"])
    connection.execute(insert, ["other", "User's passport", vector("User's passport"), "bob", None])
    connection.execute(insert, ["empty", None, vector("User's passport"), "ada", None])


class TestContract(RetrieverContract):
    @pytest.fixture(params=["cosine", "l2"])
    def retriever(self, filled: str, request: pytest.FixtureRequest) -> Retriever:
        return pgvector.retriever(filled, table="facts", embed=embed, where={"user_id": "ada"}, distance=request.param)


@pytest.mark.anyio
async def test_names_are_quoted(filled: str) -> None:
    retriever = pgvector.retriever(filled, table=TABLE, text=ODD, embed=embed, where={"user_id": "ada"}, said_at="said")
    first, second = await retriever.retrieve([probe(NOTES["n2"]), probe(NOTES["n1"])], k=2)
    assert [first[0].fact.fid, second[0].fact.fid] == ["n2", "n1"]
    assert first[0].similarity == pytest.approx(1.0)
    assert first[0].fact.said_at is not None
    assert first[0].fact.said_at.isoformat() == "2025-03-02T00:00:00+00:00"


@pytest.mark.anyio
@pytest.mark.parametrize("distance", ["cosine", "l2", "inner"])
async def test_nearer_is_higher_with_every_operator(filled: str, distance: Distance) -> None:
    retriever = pgvector.retriever(filled, table="facts", embed=embed, distance=distance)
    (hits,) = await retriever.retrieve([probe(NOTES["n2"])], k=9)
    assert hits[0].fact.fid == "n2"
    assert hits[0].similarity > hits[-1].similarity


@pytest.mark.anyio
async def test_an_approximate_index_brings_as_many_as_are_asked_for(filled: str) -> None:
    with psycopg.connect(filled) as connection:
        connection.execute("CREATE TABLE many (id int, text text, embedding halfvec(64))")
        insert = "INSERT INTO many VALUES (%s, %s, %s)"
        for number in range(300):
            connection.execute(insert, [number, f"note {number}", vector(f"note {number}")])
        connection.execute("CREATE INDEX ON many USING hnsw (embedding halfvec_cosine_ops)")
        connection.execute("ANALYZE many")

    def opened() -> AbstractContextManager[psycopg.Connection[Any]]:
        return psycopg.connect(filled, options="-c enable_seqscan=off")

    retriever = pgvector.retriever(opened, table="many", embed=embed, kind="halfvec")
    (hits,) = await retriever.retrieve([probe("note 7")], k=90)
    assert len(hits) == 90
    assert hits[0].fact.fid == "7"
