"""From candidates to operations."""

from __future__ import annotations

import numpy as np

from prospection.remember.upsert import distinct, propose, texts_of
from prospection.types import Add, Candidate, Cue, FactType, Source


def candidate(info: str, *cues: str, message: int = 0) -> Candidate:
    return Candidate(
        info=info,
        type=FactType.IDENTITY,
        provenance=(Source(session="s", message=message),),
        cues=tuple(Cue(text=text) for text in cues),
    )


def test_repeats_are_joined_with_their_sources() -> None:
    kept = distinct([candidate("I am Ada."), candidate("I sing."), candidate("i  am ADA", message=3)])
    assert [each.info for each in kept] == ["I am Ada.", "I sing."]
    assert [source.message for source in kept[0].provenance] == [0, 3]
    assert distinct([]) == []


def test_each_candidate_gets_its_own_vectors() -> None:
    candidates = [candidate("a", "a1", "a2"), candidate("b"), candidate("c", "c1")]
    assert texts_of(candidates) == ["a", "b", "c", "a1", "a2", "c1"]
    rows = np.arange(6, dtype=np.float32).reshape(6, 1)
    operations = [each for each in propose(candidates, rows) if isinstance(each, Add)]
    assert [each.vector.tolist() for each in operations] == [[0], [1], [2]]
    assert [each.cue_vectors.tolist() for each in operations] == [[[3], [4]], [], [[5]]]
    assert operations[1].cue_vectors.shape == (0, 1)


def test_nothing_proposes_nothing() -> None:
    assert texts_of([]) == []
    assert propose([], np.zeros((0, 4), dtype=np.float32)) == []
