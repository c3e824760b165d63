"""The values that travel between the rooms: frozen, slotted, keyword-only.

Instants are aware datetimes in UTC. Similarities are cosines in [-1, 1]; higher is better everywhere.
Nothing here does I/O, reads a clock or imports anything heavy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from prospection.errors import NaiveTimeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "BY_HAND",
    "Add",
    "Answer",
    "Budget",
    "Calibration",
    "Candidate",
    "Close",
    "Consolidated",
    "Consolidation",
    "Cue",
    "CueBackfill",
    "Edit",
    "Erased",
    "EventTime",
    "Fact",
    "FactRecord",
    "FactType",
    "Failed",
    "Hit",
    "Merge",
    "Message",
    "Nothing",
    "Operation",
    "Outcome",
    "Over",
    "Pin",
    "Precision",
    "Probe",
    "ProbeHits",
    "ProbeKind",
    "Queued",
    "Reach",
    "Recall",
    "Record",
    "Recue",
    "Reinforce",
    "Review",
    "Reviewed",
    "Revise",
    "Role",
    "ScoredFact",
    "SearchFilter",
    "SearchProbe",
    "Session",
    "SessionRecord",
    "SessionState",
    "SessionStatus",
    "Source",
    "StageRecord",
    "Step",
    "Stored",
    "Trace",
    "Unembedded",
    "Unmerge",
    "Usage",
    "UserRecord",
    "Vectors",
    "Work",
    "aware_utc",
]

Vectors: TypeAlias = "NDArray[Any]"
"""An (n, d) float32 array of unit rows, or one (d,) row of it."""

Role = Literal["system", "user", "assistant", "tool"]

Over = Literal["facts", "cues", "text"]
"""What a probe is compared with: the vectors of facts, the vectors of their future cues, or their words (lexical)."""

BY_HAND = "by hand"
"""The session that facts written by a person's own hand name as their source. No conversation may bear this name."""

ProbeKind = Literal["query", "step", "imagined_fact", "rewrite", "feedback"]


def aware_utc(instant: datetime, what: str = "time") -> datetime:
    """Return the same instant in UTC.

    Raises:
        NaiveTimeError: The datetime carries no zone.
    """
    if instant.tzinfo is None or instant.utcoffset() is None:
        raise NaiveTimeError(
            f"{what} {instant.isoformat()!r} has no zone; pass an aware datetime, "
            "for example datetime(2025, 3, 1, 9, 30, tzinfo=ZoneInfo('Europe/Berlin'))"
        )
    return instant.astimezone(UTC)


# --- conversations ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a conversation.

    Attributes:
        recalled: The text was given *to* the assistant out of memory. It is stored with its session and never
            extracted again: otherwise memories breed copies of themselves.
    """

    role: Role
    content: str
    name: str | None = None
    at: datetime | None = None
    recalled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A dated conversation.

    Attributes:
        id: The caller's name for it, unique per user.
        at: When it took place. Relative times inside ("yesterday") are resolved against it.
        zone: IANA name of the person's time zone, for example "Europe/Zurich".
    """

    id: str
    at: datetime
    messages: tuple[Message, ...]
    zone: str | None = None


class SessionState(StrEnum):
    """Where a stored session stands. `PENDING` and `FAILED` keep every message and can be run again."""

    PENDING = "pending"
    EXTRACTING = "extracting"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """A session as the store holds it.

    Attributes:
        extracted: How many of its messages have been turned into facts; the rest is new.
        reason: Why it is `FAILED`, in one sentence.
        raw: The reply that could not be used, when there was one.
        attempts: How often extraction has been started since the last success.
        retry_at: When a worker will try again a session that is `FAILED`; None: not before it is retried by hand.
        erased: Messages whose text was erased, as (place, echo): 32 bits by which one is known when it is sent again.
    """

    session: Session
    state: SessionState
    extracted: int = 0
    attempts: int = 0
    reason: str | None = None
    raw: str | None = None
    erased: tuple[tuple[int, int], ...] = ()
    retry_at: datetime | None = None


# --- facts ------------------------------------------------------------------------------------------------------------


class FactType(StrEnum):
    """The six kinds of memory facts (paper, section 3.2)."""

    IDENTITY = "Identity"
    PREFERENCE = "Preference"
    GOAL = "Goal"
    INTEREST = "Interest"
    ACTIVITY = "Activity"
    EVENT = "Event"


class Precision(StrEnum):
    """How exactly an event's time is known."""

    MINUTE = "minute"
    DAY = "day"
    MONTH = "month"
    YEAR = "year"
    RANGE = "range"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTime:
    """When something happened or will happen: the half-open interval [start, end) and how exactly it is known.

    Attributes:
        zone: IANA name of the zone in which its days begin and end; None for UTC.
    """

    start: datetime
    end: datetime
    precision: Precision
    zone: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a fact was said.

    Attributes:
        session: Id of the session.
        message: Position of the message in the session, from 0; None when only the session is known.
        quote: The words it was drawn from, as they stand in the message.
    """

    session: str
    message: int | None = None
    quote: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    """A short description of a future situation in which a fact will matter. `weight` in (0, 1] scales its cosine."""

    text: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A fact that has been extracted and not yet been stored. It has no id: ids are the store's to give.

    Attributes:
        pinned: See `Fact.pinned`. Only a person pins; nothing that is extracted comes pinned.
    """

    info: str
    type: FactType
    related_entities: tuple[str, ...] = ()
    provenance: tuple[Source, ...] = ()
    event_time: EventTime | None = None
    cues: tuple[Cue, ...] = ()
    pinned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One atomic statement about a person (paper, section 3.2).

    Attributes:
        fid: "f1", "f2", ... in the order of arrival, per user; for foreign stores, their own id.
        info: The statement, in the person's own language.
        type: One of the six kinds; None where a foreign store does not say.
        frequency: In how many conversations it was said, those of the facts it replaced included.
        provenance: Where it was said, those of the facts it replaced included, oldest fact first.
        said_at: When it was last said.
        valid_from: From when on it has been part of memory. With `valid_until` a half-open interval.
        valid_until: Since when a later fact has replaced it; None while it is current.
        supersedes: Ids of the facts this one replaced (one for a revision, several for a merge).
        superseded_by: Id of the fact that replaced this one; None also for one that was closed by hand.
        pinned: A person wants it kept in view: it heads every context, and only a person replaces it.
    """

    fid: str
    info: str
    type: FactType | None = None
    frequency: int = 1
    related_entities: tuple[str, ...] = ()
    provenance: tuple[Source, ...] = ()
    said_at: datetime | None = None
    event_time: EventTime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    supersedes: tuple[str, ...] = ()
    superseded_by: str | None = None
    cues: tuple[Cue, ...] = ()
    pinned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Add:
    """Store a new fact. If a current fact has the same normalised text, the store reinforces that one instead.

    Attributes:
        vector: (d,) float32 unit row of `candidate.info`.
        cue_vectors: (c, d) float32 unit rows, one for each of `candidate.cues`.
    """

    candidate: Candidate
    vector: Vectors
    cue_vectors: Vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class Reinforce:
    """Say a stored fact once more: its frequency grows by one and the source is kept."""

    fid: str
    provenance: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Revise:
    """Replace stored facts by a new one. The old ones stay as history with their interval closed.

    One fact replaced is a revision, several are a merge: its statement stands on theirs. The new fact inherits the
    sources of the old ones. A pinned fact gives way only to a pinned one, which is how a model is kept from it.

    Attributes:
        parts: Statements made just now that went into the merge. They are stored as history of it, so that the merge
            can be undone, or one of its sources forgotten, and nothing else is lost.
    """

    fids: tuple[str, ...]
    candidate: Candidate
    vector: Vectors
    cue_vectors: Vectors
    parts: tuple[Add, ...] = ()


Operation: TypeAlias = Add | Reinforce | Revise
"""What a model or a rule proposes and the store carries out. None of them destroys anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Close:
    """End a fact's interval without a successor: it is not true any more, or never was. It stays as history."""

    fid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """Pin a current fact, or take the pin out."""

    fid: str
    pinned: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Recue:
    """Give a current fact other future cues.

    Attributes:
        cue_vectors: (c, d) float32 unit rows, one for each cue.
    """

    fid: str
    cues: tuple[Cue, ...]
    cue_vectors: Vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmerge:
    """Take a merge back as if it had never been: the facts it was made of are current again, the merged one is gone.

    What was said again of the merged fact counts for those it was made of.
    """

    fid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidated:
    """Note that all facts up to this one have been looked at for merging."""

    fid: str


Edit: TypeAlias = Operation | Close | Pin | Recue | Unmerge | Consolidated
"""What changes facts outside of a conversation: a person's hand, consolidation, new cues."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRecord:
    """What a store knows of a user beside sessions, facts and traces.

    Attributes:
        facts: The number given last: the next fact is "f" and one more.
        consolidated: Number of the last fact that has been looked at for merging.
    """

    facts: int = 0
    consolidated: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FactRecord:
    """A fact as it lies in a store.

    Attributes:
        own: Where it itself was said, without what it inherited from the facts it replaced.
        vectors: (1 + c, d) float32 unit rows of its statement and its cues; None where they have to be made.
    """

    fact: Fact
    own: tuple[Source, ...]
    vectors: Vectors | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unembedded:
    """A statement or a cue that has no vector of some encoder yet.

    Attributes:
        place: Where the store has it; only the store can read this.
    """

    place: tuple[int, int]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """How much `forget` erased."""

    sessions: int = 0
    messages: int = 0
    facts: int = 0
    cues: int = 0
    vectors: int = 0
    traces: int = 0


# --- what `add` came to -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """Facts came out of the session.

    Attributes:
        facts: The new, the reinforced and the revised ones as they then stood.
        consolidated: What the consolidation did that followed; None where none was due.
    """

    session: str
    facts: tuple[Fact, ...]
    usage: Usage
    consolidated: Consolidation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Nothing:
    """The session was understood and holds nothing worth keeping, or nothing that was not already extracted."""

    session: str
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """The session is safely stored and waits for extraction.

    Attributes:
        session: Its id, which is also that of the operation: `AsyncMemory.operation` says how far it is.
    """

    session: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """Extraction failed; the session is kept whole and can be retried."""

    session: str
    reason: str
    usage: Usage


Outcome: TypeAlias = Stored | Nothing | Queued | Failed


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStatus:
    """How far the extraction of a session is.

    Attributes:
        messages: How many messages it has.
        extracted: How many of them have been turned into facts.
        facts: How many facts it added, reinforced or revised.
        attempts: How often extraction has been started since the last success.
        reason: Why it is `FAILED`.
        retry_at: When a worker will try again a session that is `FAILED`; None: not before it is retried by hand.
    """

    session: str
    state: SessionState
    messages: int
    extracted: int
    facts: int
    attempts: int
    reason: str | None = None
    retry_at: datetime | None = None


# --- what tending a memory came to ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Several facts that became one, or could have.

    Attributes:
        sources: The facts, in the order of ids, as they were before.
        statement: What would say all of it; None where no model was asked yet.
        fact: The merged fact as it stands; None where it was not carried out.
        refused: Why it was not carried out, in one sentence; None where it was, or in a preview.
    """

    sources: tuple[Fact, ...]
    statement: str | None = None
    fact: Fact | None = None
    refused: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidation:
    """What a consolidation did, or in a preview would look at.

    Attributes:
        facts: Current facts that were compared.
        new: Those of them that no earlier consolidation had looked at.
        merges: Groups of facts and what became of each.
        preview: Nothing was asked or changed.
        partial: Why not all groups were dealt with; the rest is for the next run.
    """

    facts: int
    new: int
    merges: tuple[Merge, ...]
    usage: Usage
    preview: bool = False
    partial: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CueBackfill:
    """What came of writing cues for facts that had none.

    Attributes:
        facts: Facts that have cues now.
        left: Facts that still have none.
        partial: Why it ended early; run it again to go on.
    """

    facts: int
    left: int
    usage: Usage
    partial: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """What a conversation did to one fact.

    Attributes:
        fact: As it stands.
        change: It was new, had been said before, or took the place of others.
        sources: Where in the conversation it was said.
        replaced: The facts whose place it took.
        now: The fact that has taken its place since, at the end of the chain; None while it is current or removed.
    """

    fact: Fact
    change: Literal["added", "reinforced", "revised"]
    sources: tuple[Source, ...]
    replaced: tuple[Fact, ...] = ()
    now: Fact | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """What a conversation came to.

    Attributes:
        session: The conversation and where it stands.
        facts: What it did, in the order of ids.
    """

    session: SessionRecord
    facts: tuple[Reviewed, ...]


# --- searching --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What cosines mean under one encoder.

    Unrelated texts have cosines of about `noise_mean` with a standard deviation of `noise_sd`.

    Attributes:
        tau: Similarity from which a hit counts (published: 0.3 under text-embedding-3-small).
        tau_o: Similarity of near certainty, for the augmentation of the query (published: 0.6).
        lexical_weight: Standard deviations of cosine that the best lexical match is worth when both are fused. Less
            for strong encoders, whose ready facts lexical search can only disturb.
    """

    noise_mean: float
    noise_sd: float
    tau: float
    tau_o: float
    lexical_weight: float = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFilter:
    """Which facts may be found. Filters act before the limit.

    Attributes:
        at: Memory as of this instant: facts valid then. None: the facts current now.
        types: Only these kinds; None for all.
        said_from: Only facts last said at this instant or later.
        said_until: Only facts last said before this instant.
        exclude: Ids that may not be found.
    """

    at: datetime | None = None
    types: frozenset[FactType] | None = None
    said_from: datetime | None = None
    said_until: datetime | None = None
    exclude: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One imagined step of the future of a request.

    Attributes:
        sid: "s0.1": round and place.
        theme: The branch of the tree it belongs to; None in a chain.
        needs: Facts about the person that this step would want to know, as imagined.
    """

    sid: str
    text: str
    round: int = 0
    theme: str | None = None
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A text with which memory is searched.

    Attributes:
        pid: "p0", "p1", ... within one recall.
        over: What it is compared with.
        step: Id of the step it came from.
        weight: Scale of its hits in fusion.
    """

    pid: str
    text: str
    kind: ProbeKind
    over: Over = "facts"
    step: str | None = None
    round: int = 0
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchProbe:
    """A probe as a store sees it: a (d,) float32 unit vector for facts and cues, the words for text."""

    over: Over
    text: str
    vector: Vectors | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A fact that a probe reached.

    Attributes:
        similarity: Cosine in [-1, 1] over facts and cues; over text a positive relevance (BM25), only comparable
            within one list.
        cue: The cue through which it was reached.
    """

    fact: Fact
    similarity: float
    cue: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredFact:
    """A fact that a recall returned.

    Attributes:
        score: Falls along the list; what it measures is the policy's to say.
        reason: What follows from the fact for the request, where a model selected it.
    """

    fact: Fact
    score: float
    reason: str | None = None

    @property
    def fid(self) -> str:
        """Id of the fact."""
        return self.fact.fid

    @property
    def info(self) -> str:
        """The statement."""
        return self.fact.info


# --- what work costs --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What calls to language models cost.

    Attributes:
        calls: All calls, failed ones included.
        failed_calls: Those of them that brought no usable reply.
        tokens_in: Prompt tokens.
        tokens_out: Generated tokens.
        cost: US dollars; None as soon as one call's price is unknown.
        seconds: Time spent waiting for models.
    """

    calls: int = 0
    failed_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = 0.0
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            calls=self.calls + other.calls,
            failed_calls=self.failed_calls + other.failed_calls,
            tokens_in=self.tokens_in + other.tokens_in,
            tokens_out=self.tokens_out + other.tokens_out,
            cost=None if self.cost is None or other.cost is None else self.cost + other.cost,
            seconds=self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a run of the worker did.

    Attributes:
        sessions: Sessions that are done now.
        facts: Facts that they added, reinforced or revised.
        failed: Attempts that failed. Those sessions are kept and tried again.
        usage: Of all attempts.
        stopped: Why it ended before the queue was empty, in a sentence; None when it was.
    """

    sessions: int = 0
    facts: int = 0
    failed: int = 0
    usage: Usage = Usage()
    stopped: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Ceilings of one recall or answer; None means no ceiling.

    Attributes:
        max_calls: Calls to a language model.
        max_tokens: Tokens in and out together.
        max_cost: US dollars.
        deadline: Seconds from the start.
    """

    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    deadline: float | None = None


# --- what a recall brings ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeHits:
    """A probe and what it reached, best first, as (fact id, similarity, cue or None).

    Attributes:
        k: How many hits the probe was allowed; None where the trace does not say.
        min_similarity: Below which cosine a hit did not count.
    """

    probe: Probe
    hits: tuple[tuple[str, float, str | None], ...]
    k: int | None = None
    min_similarity: float = -1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """One way in which a fact was reached: fact <- (cue <-) probe <- step <- round.

    Attributes:
        rank: Place in the probe's list, from 1.
        step: The step the probe came from; None for the query itself.
    """

    fid: str
    probe: Probe
    rank: int
    similarity: float
    cue: str | None
    step: Step | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRecord:
    """One call to a language model: what went in, what came out, what it cost.

    Attributes:
        prompt: SHA-256 of the prompt file, first 12 hex digits.
        output: The parsed reply as JSON data; None when the call failed.
        error: Why it failed.
    """

    stage: str
    round: int
    model: str
    prompt: str
    inputs: Mapping[str, str]
    output: Any
    usage: Usage
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The whole story of one recall, as data: it can be stored, shown, and replayed without a model.

    Attributes:
        parameters: The policy's parameters as they were in force.
        steps: Imagined steps in the order of rounds.
        searches: Every probe with its hits, in the order of rounds.
        stages: Every call to a model.
        facts: Text of every fact that was reached, by id.
        returned: Ids and scores of the facts returned, in order.
        notes: What a reader should know, in sentences: a ceiling that was hit, a phase that could not run.
        shadow: What a second policy did beside this one, for comparison; nothing of it was served.
    """

    id: str
    user: str
    query: str
    policy: str
    at: datetime
    encoder: str | None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    augmented: str | None = None
    steps: tuple[Step, ...] = ()
    searches: tuple[ProbeHits, ...] = ()
    stages: tuple[StageRecord, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    returned: tuple[tuple[str, float], ...] = ()
    summary: str | None = None
    notes: tuple[str, ...] = ()
    usage: Usage = Usage()
    seconds: float = 0.0
    shadow: Trace | None = None

    def explain(self, fid: str) -> tuple[Reach, ...]:
        """Return every way in which a fact was reached, best rank first, then highest similarity; () for none."""
        steps = {step.sid: step for step in self.steps}
        reached = [
            Reach(
                fid=fid,
                probe=item.probe,
                rank=rank,
                similarity=similarity,
                cue=cue,
                step=steps.get(item.probe.step or ""),
            )
            for item in self.searches
            for rank, (found, similarity, cue) in enumerate(item.hits, start=1)
            if found == fid
        ]
        return tuple(sorted(reached, key=lambda reach: (reach.rank, -reach.similarity)))


Record: TypeAlias = UserRecord | SessionRecord | FactRecord | Trace
"""One of the things that all together are a user's memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """What memory has to say about a request.

    Attributes:
        facts: Best first, without duplicates.
        summary: What the imagined future asks of the answer; None where no model wrote one.
        context: Facts and summary as the text to put before an assistant, marked as data.
        partial: Why this is not the whole result (a ceiling, a failing model); None when it is.
    """

    query: str
    facts: tuple[ScoredFact, ...]
    summary: str | None
    context: str
    trace: Trace
    usage: Usage
    partial: str | None = None

    def explain(self, fid: str) -> tuple[Reach, ...]:
        """Return every way in which a fact was reached, best first; see `Trace.explain`."""
        return self.trace.explain(fid)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer and the memories it stands on.

    Attributes:
        citations: Ids of the facts the text cites, in the order of first mention; only facts that were recalled.
        usage: Of the recall and the answer together.
    """

    text: str
    citations: tuple[str, ...]
    recall: Recall
    usage: Usage
