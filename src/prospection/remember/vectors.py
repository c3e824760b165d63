"""Vectors for the facts of a dump, which come without them.

In go records and an encoder; out come the same records, their facts complete, ready for `FactStore.restore`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from prospection.protocols import Embedder
from prospection.types import FactRecord, Record

__all__ = ["with_vectors"]


async def with_vectors(records: Sequence[Record], embedder: Embedder) -> list[Record]:
    """Embed the statements and the cues of all facts among the records, in one batch; the order stays.

    Raises:
        ModelError: The encoder's endpoint failed.
    """
    facts = [record.fact for record in records if isinstance(record, FactRecord)]
    texts = [[fact.info, *(cue.text for cue in fact.cues)] for fact in facts]
    if not texts:
        return list(records)
    vectors = await embedder.embed([text for each in texts for text in each], role="passage")
    ends = accumulate(len(each) for each in texts)
    rows = (vectors[end - len(each) : end] for each, end in zip(texts, ends, strict=True))
    return [replace(record, vectors=next(rows)) if isinstance(record, FactRecord) else record for record in records]
