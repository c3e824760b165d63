"""Long-term memory for assistants that thinks ahead before it remembers."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prospection.config import Settings
    from prospection.errors import ProspectionError
    from prospection.memory import AsyncMemory
    from prospection.prospector import Prospector
    from prospection.sync import Memory
    from prospection.types import Answer, Budget, Fact, Message, Recall, Trace

__all__ = [
    "Answer",
    "AsyncMemory",
    "Budget",
    "Fact",
    "Memory",
    "Message",
    "ProspectionError",
    "Prospector",
    "Recall",
    "Settings",
    "Trace",
]

__version__ = "0.1.0"

_HOME = {
    "Answer": "types",
    "AsyncMemory": "memory",
    "Budget": "types",
    "Fact": "types",
    "Memory": "sync",
    "Message": "types",
    "ProspectionError": "errors",
    "Prospector": "prospector",
    "Recall": "types",
    "Settings": "config",
    "Trace": "types",
}


def __getattr__(name: str) -> object:
    # Lazy, so that `import prospection` costs a few milliseconds and loads neither an encoder nor a model SDK.
    if name in _HOME:
        return getattr(import_module(f"prospection.{_HOME[name]}"), name)
    raise AttributeError(f"module 'prospection' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
