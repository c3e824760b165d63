"""Fixtures that every room shares."""

from __future__ import annotations

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio, which is what applications use."""
    return "asyncio"
