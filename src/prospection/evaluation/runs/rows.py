"""What a run writes down: one row a case, and one for each index that a system built.

Rows hold ranks and costs, not scores, so that other budgets and statistics can be had later without running again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from prospection.evaluation.cases import EvalQuery
from prospection.evaluation.metrics import Ranks
from prospection.types import Usage

__all__ = ["Case", "CaseKey", "IndexRow", "Row"]

CaseKey = tuple[str, str, int, str]
"""Data set, system, seed and query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One query that is put to one system.

    Attributes:
        attempt: 1, or more when a failed case is asked again.
        answer_attempt: The same of its answer alone, what was found staying as it is.
    """

    dataset: str
    system: str
    seed: int
    query: EvalQuery
    attempt: int = 1
    answer_attempt: int = 1

    @property
    def key(self) -> CaseKey:
        """What makes a case the same case, whatever the attempt."""
        return self.dataset, self.system, self.seed, self.query.id

    @property
    def work(self) -> str:
        """What its calls are known by on tape."""
        return f"{self.dataset}/{self.system}/{self.seed}/{self.query.id}{_again(self.attempt)}"

    @property
    def answering(self) -> str:
        """What the call of its answer is known by on tape."""
        return f"{self.work}/answer{_again(self.answer_attempt)}"


def _again(attempt: int) -> str:
    return f"#{attempt}" if attempt > 1 else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One query, put to one system.

    Attributes:
        person: Who asked; queries of one person are not independent.
        fids: What was returned, best first, in the store's ids, which follow from the data.
        ranks: For each reference the rank at which it was found; None when it was not.
        tokens: The same in tokens of context up to and with that fact, about four characters each.
        similarities: For each reference the cosine of the query and its nearest fact, in [-1, 1].
        relevant: Ranks of all facts that count for any reference.
        context_tokens: Tokens of everything that was returned, or of a rival's own context. An answer is shown no more
            of facts than `recall.context_tokens`.
        usage: Calls of retrieval, failed ones too; neither an index nor an answer.
        seconds: From the request to the ranking.
        answer: From what was found, where the plan asks for answers.
        answer_usage: Of the answer's call.
        error: Why there is no ranking. Such a case found nothing, and counts as that.
        attempt, answer_attempt: See `Case`.
    """

    dataset: str
    system: str
    seed: int
    query: str
    user: str
    person: str
    category: str | None
    fids: tuple[str, ...]
    ranks: Ranks
    tokens: Ranks
    similarities: tuple[float, ...]
    relevant: tuple[int, ...]
    context_tokens: int
    usage: Usage
    seconds: float
    notes: tuple[str, ...] = ()
    answer: str | None = None
    answer_usage: Usage = field(default_factory=Usage)
    error: str | None = None
    attempt: int = 1
    answer_attempt: int = 1

    @property
    def key(self) -> CaseKey:
        """As `Case.key`."""
        return self.dataset, self.system, self.seed, self.query


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRow:
    """What a system built for one user before it was asked, and what that cost; seeds share it."""

    dataset: str
    system: str
    user: str
    usage: Usage
    seconds: float
