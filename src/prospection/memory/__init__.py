"""`AsyncMemory`: the only place that wires remembering, recalling and the store together.

Nothing happens in the constructor: the store, the encoder and the model are opened by the first call.
"""

from __future__ import annotations

from prospection.memory.holding import Holds
from prospection.memory.recalling import Recalls
from prospection.memory.remembering import MessageLike, Remembers
from prospection.memory.tending import Tends

__all__ = ["AsyncMemory", "MessageLike"]


class AsyncMemory(Remembers, Recalls, Tends, Holds):
    """Long-term memory that thinks ahead before it remembers.

    Example:
        ```python
        async with AsyncMemory("memory.db", model="openai:gpt-4o") as memory:
            await memory.add([{"role": "user", "content": "..."}], user="ada")
            recall = await memory.recall("Plan two weeks in Italy", user="ada")
        ```
    """
