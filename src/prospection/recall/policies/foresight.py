"""Policy `foresight`: imagine in one call, gather widely with many cheap signals, select in another call.

    future  <- LLM(foresee(q, direct hits above tau_o))            # steps, the facts each would want to know, rewrites
    signals <- one batch: query, steps and rewrites over cues; imagined facts over facts; the query over facts and words
    pool    <- signals blended, a list that trusts cues interleaved with one that does not
    chosen, open needs, outlook <- LLM(select(q, pool))
    while needs are open and rounds remain: probe with them, select among what is new

Recall is limited by the pool, precision by the selection. A memory that is small enough is the pool as it stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import zip_longest
from typing import Any, ClassVar

from prospection.config import RecallSettings
from prospection.errors import BudgetExceededError, ModelError
from prospection.library.profile import goal_weights
from prospection.recall.context import fact_tokens
from prospection.recall.foresee import Future, Selection, foresee, select
from prospection.recall.policies.library import Library
from prospection.recall.policy import Ranking
from prospection.recall.pool import falling, interleave_hits
from prospection.recall.run import Run
from prospection.recall.searching import Wanted
from prospection.recall.signals import Candidates, gate
from prospection.search.fusion import fuse_scores, standardise
from prospection.types import Hit, Probe, ScoredFact, Step, Vectors

__all__ = ["Foresight"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Foresight:
    """Defaults were measured; see docs/measurements.md for what each of them brings.

    Attributes:
        branches, steps, needs, rewrites: Size of the imagined future.
        pool_tokens: Size of the pool that is shown to the selection; a memory that fits is shown whole.
        depth: Facts that each probe may bring.
        rounds: Selections at most; every one after the first follows up open needs.
        imagined: Weight of imagined facts beside cues.
        profile: Weight of the goal library's judgement beside cues.
        salience: Weight of a fact's being the kind of thing that plans have to respect.
        cautious: Of three places in the pool, how many go to the list that does not trust cues, in [0, 3].
        imagine: Ask for an imagined future; without it the pool stands on the request and the goal library alone.
        select: Ask for a selection; without it what would have been shown to it is returned.
        fill: Return all that was found behind what was selected.
    """

    branches: int = 3
    steps: int = 3
    needs: int = 1
    rewrites: int = 9
    pool_tokens: int = 4000
    depth: int = 1000
    rounds: int = 2
    imagined: float = 0.25
    profile: float = 0.15
    salience: float = 0.15
    cautious: int = 1
    imagine: bool = True
    select: bool = True
    fill: bool = False
    name: ClassVar[str] = "foresight"

    @classmethod
    def from_settings(cls, settings: RecallSettings) -> Foresight:
        """Return the policy as the settings say."""
        return cls(**settings.foresight.model_dump())

    @property
    def parameters(self) -> Mapping[str, Any]:
        """See `Policy.parameters`."""
        return asdict(self)

    async def recall(self, query: str, run: Run) -> Ranking:
        """See `Policy.recall`.

        A model that fails after the future was imagined, or a ceiling that is reached, ends the recall early with the
        pool as far as it got.
        """
        direct, words = await run.retrieve(
            [run.probe(query, "query"), run.probe(query, "query", over="text")], k=self.depth
        )
        if self.select and run.exhausted(direct, self.depth) and _tokens(direct) <= self.pool_tokens:
            run.note("The whole memory fits into the selection, so nothing had to be imagined to search it.")
            return await self._choose(query, run, interleave_hits([direct]), ())
        if not self.imagine:
            return await self._gathered(query, run, Future(steps=()), direct, words)
        known = interleave_hits([(await run.near(query, direct, run.calibration.tau_o))[:5]])
        size = {"branches": self.branches, "steps": self.steps, "needs": self.needs, "rewrites": self.rewrites}
        try:
            future = await foresee(run, query, known, early=partial(self._early, run), **size)
        except BudgetExceededError as error:
            pool = await self._pool(query, run, Future(steps=()), direct, words)
            return Ranking(facts=pool, partial=str(error))
        run.imagine(future.steps)
        return await self._gathered(query, run, future, direct, words)

    async def _gathered(
        self, query: str, run: Run, future: Future, direct: Sequence[Hit], words: Sequence[Hit]
    ) -> Ranking:
        pool = await self._pool(query, run, future, direct, words)
        if not self.select:
            return Ranking(facts=pool if self.fill else _fitting(pool, self.pool_tokens))
        return await self._choose(query, run, pool, future.steps)

    async def _early(self, run: Run, future: Future) -> None:
        await run.search_early([*_over_cues(future), *_over_facts(future)], k=self.depth)

    async def _pool(
        self, query: str, run: Run, future: Future, direct: Sequence[Hit], words: Sequence[Hit]
    ) -> tuple[ScoredFact, ...]:
        over_cues = [
            run.probe(query, "query", over="cues"),
            *(run.probe(text, kind, over=over, step=step) for text, kind, over, step in _over_cues(future)),
        ]
        over_facts = [run.probe(text, kind, over=over, step=step) for text, kind, over, step in _over_facts(future)]
        if not over_facts:  # a model that imagined no facts leaves the steps themselves to search facts with
            over_facts = [run.probe(step.text, "step", step=step.sid) for step in future.steps]
        found = await run.retrieve([*over_cues, *over_facts], k=self.depth)
        cued, imagined = found[: len(over_cues)], found[len(over_cues) :]
        if not (over_facts or any(cued)):  # nothing was imagined, neither now nor when the facts were written
            return (await Library(limit=self.depth).recall(query, run)).facts
        candidates = Candidates([direct, words, *found])
        if not len(candidates):
            return ()
        signals = _Signals(candidates=candidates, over_cues=over_cues, cued=cued, imagined=imagined, words=words)
        trusting, cautious = await self._judge(run, signals)
        order = _interleave(candidates.order(trusting), candidates.order(cautious), cautious=self.cautious)
        return falling(ScoredFact(fact=candidates.facts[place], score=1.0) for place in order)

    async def _judge(self, run: Run, signals: _Signals) -> tuple[Vectors, Vectors]:
        """Return two scores of the candidates: one that trusts cues, and one that does not look at them."""
        candidates = signals.candidates
        index = await run.library.open()
        vectors = await run.vectors(candidates.facts)
        profiles = await run.library.profiles([fact.info for fact in candidates.facts], vectors)
        ahead = await run.embed([probe.text for probe in signals.over_cues])
        unit = run.calibration.noise_sd
        weights = goal_weights(ahead, index, temperature=unit)
        profile = standardise((profiles.affinity @ weights.T).mean(axis=1))
        salience = standardise(profiles.salience)
        needs = standardise(candidates.best(signals.imagined))
        near = vectors @ ahead[0]
        words = candidates.scores(signals.words, absent=0.0)
        alike = standardise(fuse_scores(near, words, lexical_weight=run.calibration.lexical_weight))
        share = gate(float((index.goals @ ahead[0]).max() - near.max()), unit)
        free = standardise(needs + profile + 0.3 * salience)
        cues = standardise(candidates.mean(signals.cued)) if any(signals.cued) else free
        fused = standardise(cues + self.imagined * needs + self.profile * profile + self.salience * salience)
        return share * fused + (1 - share) * alike, share * free + (1 - share) * alike

    async def _choose(self, query: str, run: Run, pool: tuple[ScoredFact, ...], steps: tuple[Step, ...]) -> Ranking:
        """Select from the pool, follow up what is open, and put the result in order."""
        chosen: dict[str, ScoredFact] = {}
        outlook, shown = "", _fitting(pool, self.pool_tokens)
        seen = {item.fid for item in shown}
        partial = None
        try:
            for number in range(self.rounds):
                run.round = number
                selection = await select(run, query, shown, chosen=tuple(chosen.values()), steps=steps)
                _keep(chosen, selection)
                outlook = selection.outlook or outlook
                if not selection.open_needs or number + 1 == self.rounds:
                    break
                shown = await self._follow_up(run, selection, seen, number + 1)
                if not shown:
                    break
                seen.update(item.fid for item in shown)
        except ModelError as error:
            if not (steps or chosen or isinstance(error, BudgetExceededError)):
                raise  # nothing was found that could be returned instead
            partial = str(error)
        facts = tuple(chosen.values())
        if self.fill or (partial and not facts):
            facts += tuple(item for item in pool if item.fid not in chosen)
        return Ranking(facts=falling(facts), summary=outlook or None, partial=partial)

    async def _follow_up(self, run: Run, selection: Selection, seen: set[str], round_: int) -> tuple[ScoredFact, ...]:
        """Probe with the open needs and return what no selection has seen yet."""
        run.round = round_
        steps = [
            Step(sid=f"s{round_}.{number}", text=need, theme="still open", round=round_, needs=(need,))
            for number, need in enumerate(selection.open_needs, start=1)
        ]
        run.imagine(steps)
        probes = [
            run.probe(step.text, "imagined_fact", over=over, step=step.sid)
            for step in steps
            for over in ("facts", "cues")
        ]
        found = interleave_hits(await run.retrieve(probes, k=20 + len(seen), min_similarity=run.calibration.tau))
        return tuple(item for item in found if item.fid not in seen)[:20]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Signals:
    """What the searches brought.

    Attributes:
        candidates: Every fact that any of them brought.
        over_cues: The probes that cues were searched with; the first is the request.
        cued: What these brought, a list for each.
        imagined: What imagined facts brought over facts, a list for each.
        words: What the words of the request brought.
    """

    candidates: Candidates
    over_cues: Sequence[Probe]
    cued: Sequence[Sequence[Hit]]
    imagined: Sequence[Sequence[Hit]]
    words: Sequence[Hit]


def _over_cues(future: Future) -> list[Wanted]:
    steps: list[Wanted] = [(step.text, "step", "cues", step.sid) for step in future.steps]
    return [*steps, *((text, "rewrite", "cues", None) for text in future.rewrites)]


def _over_facts(future: Future) -> list[Wanted]:
    return [(need, "imagined_fact", "facts", step.sid) for step in future.steps for need in step.needs]


def _keep(chosen: dict[str, ScoredFact], selection: Selection) -> None:
    for fact, why in selection.facts:
        chosen.setdefault(fact.fid, ScoredFact(fact=fact, score=1.0, reason=why))


def _interleave(first: Sequence[int], second: Sequence[int], *, cautious: int) -> list[int]:
    """Merge two orders, of every three places `cautious` from the second, without repeats."""
    if cautious == 0:
        return list(first)
    if cautious == 3:
        return list(second)
    share = 3 - cautious
    turns = zip_longest(
        *(first[place::share] for place in range(share)), *(second[place::cautious] for place in range(cautious))
    )
    return list(dict.fromkeys(place for turn in turns for place in turn if place is not None))


def _fitting(pool: Sequence[ScoredFact], tokens: int) -> tuple[ScoredFact, ...]:
    """Return the pool's head that fits into a token budget; at least one fact."""
    kept: list[ScoredFact] = []
    for item in pool:
        tokens -= fact_tokens(item.fact)
        if tokens < 0 and kept:
            break
        kept.append(item)
    return tuple(kept)


def _tokens(hits: Sequence[Hit]) -> int:
    return sum(fact_tokens(hit.fact) for hit in hits)
