"""Which extracted fact says a reference: by cosine where that is certain, by a model where it is not.

In go a reference and the facts of its own event; out comes the place of the fact, or None. The bounds are standard
deviations above the encoder's noise, so that they mean the same under every encoder.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, Field

from prospection.evaluation.building.planned import cosines
from prospection.evaluation.rivals.questions import Questions
from prospection.protocols import Embedder

__all__ = ["align"]

SURE_SD, FAR_SD = 7.5, 2.0
"""At or above: it says the same. Below: it does not. Between: a model decides."""
SHOWN = 5


class _Verdict(BaseModel):
    fact: int | None = Field(default=None, description="Number of the fact that says the reference; null for none")


async def align(
    reference: str, facts: Sequence[str], *, embedder: Embedder, questions: Questions, item: str
) -> int | None:
    """Return the place of the fact that says a reference; of equal cosines the first; None when none says it.

    Raises:
        ModelError: The model was needed and gave no usable reply.
    """
    near = await cosines(embedder, reference, facts)
    order = sorted(range(len(facts)), key=lambda place: (-near[place], place))
    noise = embedder.calibration
    sure, far = (min(noise.noise_mean + sd * noise.noise_sd, 0.95) for sd in (SURE_SD, FAR_SD))
    if order and near[order[0]] >= sure:
        return order[0]
    shown = [place for place in order[:SHOWN] if near[place] >= far]
    if not shown:
        return None
    listed = "\n".join(f"[{n}] {facts[place]}" for n, place in enumerate(shown, 1))
    verdict = await questions.ask("quest_align", _Verdict, {"reference": reference, "facts": listed}, item=item)
    number = verdict.fact or 0
    return shown[number - 1] if 1 <= number <= len(shown) else None
