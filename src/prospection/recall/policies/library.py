"""Policy `library`: thinking ahead without a language model.

The packaged goals stand in for imagination. A request resembles some goals; a fact is near to what some goals would
want to know; where the two meet, the fact matters to the request. Three signals make the score:

- foresight: the request's goals against the fact's profile (`prospection.library.profile`)
- salience: whether the fact is the kind of thing that plans have to respect (health, money, people, deadlines)
- nearness: the fact's own words and meaning against the request, as in `hybrid`

How much foresight counts depends on the request: one that resembles goals more than it resembles stored facts is about
the future, one that resembles a stored fact is about the past and is answered by nearness. One without a letter or a
digit resembles nothing: `hybrid` answers it, and the trace says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from prospection.config import RecallSettings
from prospection.library.index import GoalIndex
from prospection.library.profile import Profiles, goal_weights
from prospection.recall.policies.hybrid import Hybrid
from prospection.recall.policy import Ranking
from prospection.recall.run import Run
from prospection.recall.signals import gate
from prospection.search.fusion import fuse_scores, standardise
from prospection.types import Fact, Hit, ScoredFact, Step, Vectors

__all__ = ["Library"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """The `limit` facts with the highest score, which is in standard deviations and may be negative.

    Defaults were measured on four people's planning requests and checked on five other sets; see docs/measurements.md.

    Attributes:
        foresight: Most that foresight may count beside nearness, in [0, 1].
        salience: Weight of salience beside the profile.
        candidates: Facts that are scored. A larger memory, or one that does not show all it holds, is first narrowed
            down to the nearest of the request and of what the nearest goals would want to know.
        goals: Nearest goals, of whose imagined facts a returned fact is explained by the nearest.
    """

    limit: int = 20
    foresight: float = 0.8
    salience: float = 0.3
    candidates: int = 5000
    goals: int = 12
    name: ClassVar[str] = "library"

    @classmethod
    def from_settings(cls, settings: RecallSettings) -> Library:
        """Return the policy as the settings say."""
        return cls(limit=settings.limit, **settings.library.model_dump())

    @property
    def parameters(self) -> Mapping[str, Any]:
        """See `Policy.parameters`."""
        return asdict(self)

    async def recall(self, query: str, run: Run) -> Ranking:
        """See `Policy.recall`."""
        if not any(character.isalnum() for character in query):  # any vector has nearest goals, which mean nothing here
            run.note("Nothing is imagined: the request has no letter and no digit; say in words what is asked.")
            return await Hybrid(limit=self.limit).recall(query, run)
        index = await run.library.open()
        (request,) = await run.embed([query])
        facts, lexical = await self._candidates(query, request, run, index)
        if not facts:
            return Ranking(facts=())
        vectors = await run.vectors(facts)
        profiles = await run.library.profiles([fact.info for fact in facts], vectors)
        unit = run.calibration.noise_sd
        weights = goal_weights(request[None], index, temperature=unit)[0]
        near = vectors @ request
        share = self.foresight * gate(float((index.goals @ request).max() - near.max()), unit)
        ahead = standardise(
            standardise(profiles.affinity @ weights) + self.salience * share * standardise(profiles.salience)
        )
        alike = standardise(
            fuse_scores(near - share * profiles.hub, lexical, lexical_weight=run.calibration.lexical_weight)
        )
        score = share * ahead + (1.0 - share) * alike
        order = np.lexsort((np.arange(len(facts)), -score))[: self.limit]
        returned = tuple(ScoredFact(fact=facts[place], score=float(score[place])) for place in order)
        imagined = [place for place in order if share * ahead[place] >= (1.0 - share) * alike[place]]
        self._explain(run, imagined, _Scored(facts=facts, vectors=vectors, profiles=profiles), index, weights)
        return Ranking(facts=returned)

    async def _candidates(self, query: str, request: Vectors, run: Run, index: GoalIndex) -> tuple[list[Fact], Vectors]:
        """Return the facts to score, in the order of the store, and (n,) how much of the request's words they hold."""
        probes = [run.probe(query, "query"), run.probe(query, "query", over="text")]
        dense, lexical = await run.retrieve(probes, k=self.candidates)
        found: dict[str, Hit] = {hit.fact.fid: hit for hit in [*dense, *lexical]}
        if not run.exhausted(dense, self.candidates):
            nearest = np.argsort(-(index.aims @ request), kind="stable")[: self.goals]
            needs = [run.probe(need, "imagined_fact") for goal in nearest for need in run.library.goals[goal].needs]
            for hits in await run.retrieve(needs, k=self.candidates // len(needs)):
                found.update((hit.fact.fid, hit) for hit in hits)
        relevance = {hit.fact.fid: hit.similarity for hit in lexical}
        words = np.array([relevance.get(fid, 0.0) for fid in found], np.float32)
        return [hit.fact for hit in found.values()], words

    def _explain(self, run: Run, imagined: Sequence[int], scored: _Scored, index: GoalIndex, weights: Vectors) -> None:
        """Record, for every fact that foresight brought, the goal that spoke for it most and its nearest need.

        Args:
            imagined: Places of these facts among the scored ones.
            weights: (g,) how much the request resembles each goal.
        """
        goals = run.library.goals
        nearest = np.argsort(-weights, kind="stable")[: self.goals]
        starts = np.cumsum([0, *(len(goal.needs) for goal in goals)])
        reached: dict[tuple[int, int], list[tuple[Fact, float]]] = {}
        for place in imagined:
            goal = int(nearest[np.argmax(scored.profiles.affinity[place, nearest] * weights[nearest])])
            near = index.needs[starts[goal] : starts[goal + 1]] @ scored.vectors[place]
            need = int(np.argmax(near))
            reached.setdefault((goal, need), []).append((scored.facts[place], float(near[need])))
        rank = {int(goal): place for place, goal in enumerate(nearest)}
        for number, (goal, need) in enumerate(sorted(reached, key=lambda pair: (rank[pair[0]], pair[1])), start=1):
            text = goals[goal].needs[need]
            step = Step(sid=f"s0.{number}", text=text, theme=goals[goal].goal, needs=(text,))
            run.imagine([step])
            hits = sorted(reached[goal, need], key=lambda item: -item[1])
            run.found(
                run.probe(text, "imagined_fact", step=step.sid),
                [Hit(fact=fact, similarity=similarity) for fact, similarity in hits],
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scored:
    """The facts that are scored.

    Attributes:
        vectors: (n, d) their unit rows.
    """

    facts: Sequence[Fact]
    vectors: Vectors
    profiles: Profiles
