"""All vectors anew, by another encoder, while memory is in use.

In go a store and the encoder that is to take over; afterwards every statement and cue has a vector of it, it is the one
that is searched with, and the former vectors are gone. Until that moment searches go on with the former encoder, and
never are the two mixed. Work that was cut short goes on where it stood: run it again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from prospection.protocols import Embedder, EncoderSwitch, Progress

__all__ = ["reembed"]

_BATCH = 256
"""Texts that are embedded and stored at a time: what a kill can cost."""


async def reembed(
    store: EncoderSwitch,
    embedder: Embedder,
    *,
    cut_over: Callable[[], Awaitable[bool]] | None = None,
    progress: Progress | None = None,
) -> int:
    """Make every vector anew and put the encoder in use.

    Args:
        store: Opened with whatever encoder, or with none.
        embedder: What is to take over. When it is in use already, only what is left over of others is removed.
        cut_over: Calls `store.use_encoder`, for a caller who has to change over in the same moment.
        progress: Told of the texts embedded and of all that lacked a vector; facts that come in meanwhile add to both.

    Returns:
        How many texts were embedded.

    Raises:
        ConflictError: A re-embedding for a third encoder has begun meanwhile.
        ModelError: The encoder's endpoint failed; run it again.
        StoreError: The store failed; run it again.
    """
    encoder = (embedder.id, embedder.dims)
    total = await store.prepare_encoder(encoder)
    done = 0
    while not await (cut_over() if cut_over else store.use_encoder(encoder)):
        # Facts come in while others are being embedded: look again until nothing is missing.
        place: tuple[int, int] | None = None
        while texts := await store.unembedded(encoder, after=place, limit=_BATCH):
            rows = await embedder.embed([text.text for text in texts], role="passage")
            await store.put_vectors(encoder, texts, rows)
            place = texts[-1].place
            done += len(texts)
            if progress:
                progress(done, max(total, done))
    await store.drop_unused_vectors()
    return done
