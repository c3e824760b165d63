"""Runs inside a rival package's own environment: requests as lines of JSON in, replies as lines of JSON out.

`python worker.py PACKAGE` is started by `process.RivalProcess`. It must not import prospection, which is not installed
there, and nothing but the standard library at the top. Requests are `{"op": "open" | "build" | "search", ...}`, replies
`{"ok": true, ...}` or `{"ok": false, "error": ...}`. Whatever the packages print goes to stderr.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

Json = dict[str, Any]


class Package(Protocol):
    """What a worker does with its package."""

    def __init__(self, endpoint: Json) -> None: ...

    def build(self, folder: Path, user: str, facts: list[Json]) -> None:
        """Build a user's index in the folder, which may hold what a killed build left."""

    def search(self, folder: Path, user: str, query: str, limit: int) -> Json:
        """Return the ids of facts, best first, and the context for an answer."""
        ...


class Mem0:
    """mem0ai 1.0.11 with Kuzu as its graph, and mem0ai 2.x, which has none. Each fact is one `add`."""

    graph = True

    def __init__(self, endpoint: Json) -> None:
        self._endpoint = endpoint
        self._open: dict[Path, Any] = {}

    def build(self, folder: Path, user: str, facts: list[Json]) -> None:
        """See `Package.build`."""
        shutil.rmtree(folder, ignore_errors=True)  # half a memory cannot be gone on with
        memory = self._memory(folder)
        for fact in facts:
            memory.add(
                [{"role": "user", "content": fact["text"]}],
                user_id=user,
                metadata={"fid": fact["id"], "at": fact["at"]},
            )

    def search(self, folder: Path, user: str, query: str, limit: int) -> Json:
        """See `Package.search`."""
        memory = self._memory(folder)
        if self.graph:
            found = memory.search(query, user_id=user, limit=limit)
        else:
            found = memory.search(query, filters={"user_id": user}, top_k=limit)
        results = found["results"]
        relations = [
            f"{r['source']} -- {r['relationship']} -- {r['destination']}" for r in found.get("relations") or []
        ]
        lines = ["Memories:", *(f"- {one['memory']}" for one in results)]
        if relations:
            lines += ["Relations:", *(f"- {one}" for one in relations)]
        return {"ids": [one["metadata"]["fid"] for one in results], "context": "\n".join(lines)}

    def _memory(self, folder: Path) -> Any:  # noqa: ANN401 - the package's class
        if folder not in self._open:
            from mem0 import Memory

            folder.mkdir(parents=True, exist_ok=True)
            asked = {"openai_base_url": self._endpoint["base_url"], "api_key": self._endpoint["api_key"]}
            dims = self._endpoint["dims"]
            config: Json = {
                "llm": {"provider": "openai", "config": {"model": self._endpoint["chat"], "temperature": 0, **asked}},
                "embedder": {
                    "provider": "openai",
                    "config": {"model": self._endpoint["embedding"], "embedding_dims": dims, **asked},
                },
                "vector_store": {
                    "provider": "qdrant",
                    "config": {
                        "path": str(folder / "qdrant"),
                        "collection_name": "memories",
                        "embedding_model_dims": dims,
                        "on_disk": True,
                    },
                },
                "history_db_path": str(folder / "history.db"),
            }
            if self.graph:
                config["graph_store"] = {"provider": "kuzu", "config": {"db": str(folder / "graph.kuzu")}}
            self._open[folder] = Memory.from_config(config)
        return self._open[folder]


class Mem0Two(Mem0):
    """mem0ai 2.x."""

    graph = False


class GraphRag:
    """graphrag 3.x: each fact is a document, which is one text unit. Its own cache lets a build go on after a kill."""

    def __init__(self, endpoint: Json) -> None:
        self._endpoint = endpoint

    def build(self, folder: Path, user: str, facts: list[Json]) -> None:
        """See `Package.build`."""
        import asyncio

        import pandas
        from graphrag.api import build_index

        folder.mkdir(parents=True, exist_ok=True)
        documents = pandas.DataFrame(
            [
                {
                    "id": fact["id"],
                    "text": fact["text"],
                    "title": fact["id"],
                    "creation_date": fact["at"],
                    "raw_data": None,
                }
                for fact in facts
            ]
        )
        done = asyncio.run(build_index(config=self._config(folder), input_documents=documents))
        if failed := [one for one in done if one.error is not None]:
            raise RuntimeError(f"workflow {failed[0].workflow!r} failed: {failed[0].error!r}")

    def search(self, folder: Path, user: str, query: str, limit: int) -> Json:
        """See `Package.search`. The package has its own limit, the size of its context."""
        import pandas
        from graphrag.config.embeddings import entity_description_embedding
        from graphrag.query import factory, indexer_adapters
        from graphrag.utils.api import get_embedding_store

        names = ("entities", "communities", "community_reports", "text_units", "relationships")
        tables = {name: pandas.read_parquet(folder / "output" / f"{name}.parquet") for name in names}
        config = self._config(folder)
        level = 2
        engine = factory.get_local_search_engine(
            config=config,
            reports=indexer_adapters.read_indexer_reports(tables["community_reports"], tables["communities"], level),
            text_units=indexer_adapters.read_indexer_text_units(tables["text_units"]),
            entities=indexer_adapters.read_indexer_entities(tables["entities"], tables["communities"], level),
            relationships=indexer_adapters.read_indexer_relationships(tables["relationships"]),
            covariates={"claims": []},
            response_type="multiple paragraphs",
            description_embedding_store=get_embedding_store(
                config=config.vector_store, embedding_name=entity_description_embedding
            ),
        )
        context = engine.context_builder.build_context(query=query, **engine.context_builder_params)
        units = tables["text_units"]
        fid_of = dict(zip(units["text"], units["document_id"], strict=True))
        sources = context.context_records.get("sources")
        texts = [] if sources is None or sources.empty else list(sources["text"])
        return {"ids": [fid_of[text] for text in texts if text in fid_of], "context": str(context.context_chunks)}

    def _config(self, folder: Path) -> Any:  # noqa: ANN401 - the package's class
        from graphrag.config.models.graph_rag_config import GraphRagConfig

        def model(name: str) -> Json:
            return {
                "model_provider": "openai",
                "model": name,
                "api_base": self._endpoint["base_url"],
                "api_key": self._endpoint["api_key"],
            }

        def storage(name: str) -> Json:
            return {"type": "file", "base_dir": str(folder / name)}

        return GraphRagConfig(
            completion_models={"default_completion_model": model(self._endpoint["chat"])},
            embedding_models={"default_embedding_model": model(self._endpoint["embedding"])},
            input_storage=storage("input"),
            output_storage=storage("output"),
            reporting=storage("logs"),
            cache={"type": "json", "storage": storage("cache")},
            vector_store={
                "type": "lancedb",
                "db_uri": str(folder / "lancedb"),
                "vector_size": self._endpoint["dims"],
            },
            # By default nodes outside the largest component are in no community; graphs of one person fall into pieces.
            cluster_graph={"use_lcc": False},
        )


PACKAGES: dict[str, type[Package]] = {"mem0-1": Mem0, "mem0-2": Mem0Two, "graphrag-3": GraphRag}


def count_calls() -> dict[str, int]:
    """Count chat completions as they leave the process, repeated ones too, and the tokens of their replies."""
    spent = {"calls": 0, "tokens_in": 0, "tokens_out": 0}
    for name in ("httpx", "httpx2"):  # the one or the other, by the version of the openai package
        try:
            module = import_module(name)
        except ImportError:
            continue
        _count(module, spent)
    return spent


def _count(module: Any, spent: dict[str, int]) -> None:  # noqa: ANN401
    send, send_async = module.Client.send, module.AsyncClient.send

    def sync(client: Any, request: Any, **options: Any) -> Any:  # noqa: ANN401
        spent["calls"] += _is_chat(request)
        response = send(client, request, **options)
        _add_tokens(spent, request, response)
        return response

    async def asynchronous(client: Any, request: Any, **options: Any) -> Any:  # noqa: ANN401
        spent["calls"] += _is_chat(request)
        response = await send_async(client, request, **options)
        _add_tokens(spent, request, response)
        return response

    module.Client.send, module.AsyncClient.send = sync, asynchronous


def _is_chat(request: Any) -> bool:  # noqa: ANN401
    return bool(request.url.path.endswith("/chat/completions"))


def _add_tokens(spent: dict[str, int], request: Any, response: Any) -> None:  # noqa: ANN401
    # A reply that is streamed, or an error page, has no usage: it counts as a call without tokens.
    if not (_is_chat(request) and response.is_closed and "json" in response.headers.get("content-type", "")):
        return
    usage = response.json().get("usage") or {}
    spent["tokens_in"] += usage.get("prompt_tokens", 0)
    spent["tokens_out"] += usage.get("completion_tokens", 0)


def serve(name: str, requests: Iterator[Json]) -> Iterator[Json]:
    """Answer requests until there are no more."""
    spent = count_calls()
    package: Package | None = None
    for request in requests:
        before = dict(spent)
        try:
            if request["op"] == "open":
                package = PACKAGES[name](request["endpoint"])
                reply: Json = {}
            elif package is None:
                raise RuntimeError("the first request has to be 'open'")
            elif request["op"] == "build":
                package.build(Path(request["folder"]), request["user"], request["facts"])
                reply = {}
            else:
                folder = Path(request["folder"])
                if not folder.is_dir():  # a package would make an empty index there and find nothing
                    raise RuntimeError("the index is gone; start a new run")
                reply = package.search(folder, request["user"], request["query"], request["limit"])
            reply = {"ok": True, **reply}
        except Exception as error:  # noqa: BLE001 - whatever the package raises is the answer to this request
            reply = {"ok": False, "error": f"{type(error).__name__}: {error}"}
        yield reply | {what: count - before[what] for what, count in spent.items()}


def main() -> None:
    """Speak over the standard streams, keeping stdout from everybody else."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for reply in serve(sys.argv[1], map(json.loads, sys.stdin)):
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


if __name__ == "__main__":
    main()
