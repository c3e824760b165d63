"""The paper's rivals as systems that an evaluation can measure, each from its published description.

`build_rival` makes one by name. Each builds an index a user before it is asked (`Prepared`); docs/rivals.md says what
is published, what is inferred and what is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from prospection.errors import ConfigError, UnknownNameError
from prospection.evaluation.rivals.keys import RIVAL_KEYS, keys_in_force

if TYPE_CHECKING:
    from prospection.evaluation.recall import System
    from prospection.protocols import ChatModel, Embedder, FactStore

__all__ = ["RIVALS", "build_rival"]

RIVALS = tuple(RIVAL_KEYS)
"""Names that `build_rival` knows."""


def build_rival(
    name: str,
    *,
    store: FactStore,
    embedder: Embedder,
    model: ChatModel | None,
    parameters: Mapping[str, Any] | None = None,
) -> System:
    """Return the rival of that name, bound to the store that is being measured.

    Args:
        model: Builds indexes and answers a rival's questions.
        parameters: Keys of the rival; see `rivals.keys`.

    Raises:
        UnknownNameError: There is no such rival, or it has no such key.
        ConfigError: It needs a language model and there is none, or a key's value does not fit.
    """
    if name not in RIVALS:
        raise UnknownNameError("rival", name, RIVALS)
    keys = keys_in_force(name, parameters or {})
    if name == "full_context":
        from prospection.evaluation.rivals.full_context import FullContext

        return FullContext(store)
    if model is None:
        raise ConfigError(f"rival {name!r} needs a language model to build its index; name one with --model")
    if name == "tacitree":
        from prospection.evaluation.rivals.tacitree.system import TaciTree

        return TaciTree(store=store, embedder=embedder, model=model, **keys)
    if name == "mem0g":
        from prospection.evaluation.rivals.mem0g.system import Mem0g

        return Mem0g(store=store, embedder=embedder, model=model, **keys)
    from prospection.evaluation.rivals.graphrag.system import GraphRag

    return GraphRag(store=store, embedder=embedder, model=model)
