"""pgvector: a table of PostgreSQL as a memory (extra `pgvector`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal

import anyio.to_thread

from prospection.errors import MissingExtraError
from prospection.integrations.found import Found, instant
from prospection.integrations.function import FunctionRetriever
from prospection.integrations.vectors import Embed, embed_queries

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.sql import Composed

__all__ = ["retriever"]

Distance = Literal["cosine", "l2", "inner"]

_OPERATORS: Mapping[Distance, Literal["<=>", "<->", "<#>"]] = {"cosine": "<=>", "l2": "<->", "inner": "<#>"}


def retriever(
    database: str | Callable[[], AbstractContextManager[Connection[Any]]],
    *,
    table: str | Sequence[str],
    embed: Embed,
    id: str = "id",  # noqa: A002 - the column's name
    text: str = "text",
    vector: str = "embedding",
    said_at: str | None = None,
    where: Mapping[str, object] | None = None,
    distance: Distance = "cosine",
    kind: Literal["vector", "halfvec"] = "vector",
    most: int = 100,
) -> FunctionRetriever:
    """Return a `Retriever` over a table with a pgvector column; all probes go in one statement.

    The score is the cosine for `cosine`, the inner product for `inner`, and 1 - d^2 / 2 for `l2`, which is the cosine
    of unit vectors. The order is the operator's, so that an index on it is used. Nothing is written.

    Args:
        database: Connection string; or what opens a connection, for example the method `connection` of a pool.
        table: Its name, or (schema, name).
        embed: The encoder of the vectors.
        id, text, vector, said_at: Names of columns. They are quoted, and so are told apart from capitals on.
        where: Columns and the values they have to have, for example {"user_id": "ada"}.
        distance: The operator: <=>, <-> or <#>.
        kind: Type of the vector column.
        most: Rows of one probe at most.

    Raises:
        MissingExtraError: psycopg is not installed.
    """
    try:
        import psycopg
    except ImportError as error:
        raise MissingExtraError("PostgreSQL", "pgvector") from error

    names = (table,) if isinstance(table, str) else tuple(table)
    conditions = dict(where or {})
    statement = _statement(names, (id, text, vector, said_at), tuple(conditions), _OPERATORS[distance], kind)

    def query(vectors: list[str], k: int) -> list[tuple[Any, ...]]:
        opened = psycopg.connect(database) if isinstance(database, str) else database()
        with opened as connection, connection.transaction(), connection.cursor() as cursor:
            # An approximate index looks at 40 rows unless it is told otherwise; without one this changes nothing.
            cursor.execute("SELECT set_config('hnsw.ef_search', %s, true)", [str(min(max(k, 40), 1000))])
            cursor.execute(statement, {"vectors": vectors, "k": k} | _values(conditions))
            return cursor.fetchall()

    async def ask(texts: list[str], k: int) -> list[list[Found]]:
        vectors = ["[" + ",".join(map(repr, row)) + "]" for row in await embed_queries(embed, texts)]
        found: list[list[Found]] = [[] for _ in texts]
        for place, id_, info, said, measured in await anyio.to_thread.run_sync(query, vectors, k):
            score = _similarity(float(measured), distance)
            found[place - 1].append(Found(id=id_, text=info, score=score, said_at=instant(said)))
        return found

    return FunctionRetriever(ask, most=most)


def _statement(
    table: tuple[str, ...],
    columns: tuple[str, str, str, str | None],
    conditions: tuple[str, ...],
    operator: Literal["<=>", "<->", "<#>"],
    kind: Literal["vector", "halfvec"],
) -> Composed:
    from psycopg.sql import SQL, Identifier, Placeholder

    id_, text, vector, said_at = columns
    nearness = SQL("{} {} p.v::{}").format(Identifier(vector), SQL(operator), SQL(kind))
    wanted = [SQL("{} IS NOT NULL").format(Identifier(name)) for name in (text, vector)]
    wanted += [SQL("{} = {}").format(Identifier(name), Placeholder(f"value_{n}")) for n, name in enumerate(conditions)]
    return SQL(
        "SELECT p.n, t.id, t.info, t.said_at, t.d FROM unnest(%(vectors)s::text[]) WITH ORDINALITY AS p (v, n)"
        " CROSS JOIN LATERAL (SELECT {id}::text AS id, {text} AS info, {said_at} AS said_at, {nearness} AS d"
        " FROM {table} WHERE {wanted} ORDER BY {nearness} LIMIT %(k)s) AS t ORDER BY p.n, t.d, t.id"
    ).format(
        id=Identifier(id_),
        text=Identifier(text),
        said_at=Identifier(said_at) if said_at else SQL("NULL"),
        nearness=nearness,
        table=Identifier(*table),
        wanted=SQL(" AND ").join(wanted),
    )


def _values(conditions: Mapping[str, object]) -> dict[str, object]:
    return {f"value_{n}": value for n, value in enumerate(conditions.values())}


def _similarity(measured: float, distance: Distance) -> float:
    match distance:
        case "cosine":
            return 1.0 - measured
        case "l2":
            return 1.0 - measured * measured / 2.0
        case "inner":
            return -measured  # <#> is the negative inner product, so that an index can sort by it
