"""The values that travel between the rooms: frozen, slotted, keyword-only.

Instants are aware datetimes in UTC. Similarities are cosines in [-1, 1]; higher is better everywhere.
Nothing here does I/O, reads a clock or imports anything heavy.
"""

from __future__ import annotations

from prospection.types.conversations import Message, Role, Session, SessionRecord, SessionState, SessionStatus
from prospection.types.edits import (
    Add,
    Close,
    Consolidated,
    Edit,
    Operation,
    Pin,
    Recue,
    Reinforce,
    Revise,
    Unmerge,
)
from prospection.types.facts import BY_HAND, Candidate, Cue, EventTime, Fact, FactType, Precision, Source, Vectors
from prospection.types.outcomes import (
    Consolidation,
    CueBackfill,
    Erased,
    Failed,
    Merge,
    Nothing,
    Outcome,
    Queued,
    Review,
    Reviewed,
    Stored,
    Work,
)
from prospection.types.recalls import Answer, ProbeHits, Reach, Recall, StageRecord, Trace
from prospection.types.records import FactRecord, Record, Unembedded, UserRecord
from prospection.types.searching import (
    Calibration,
    Hit,
    Over,
    Probe,
    ProbeKind,
    ScoredFact,
    SearchFilter,
    SearchProbe,
    Step,
)
from prospection.types.texts import CHARACTERS_PER_TOKEN, count_tokens, mended_text, whole_text
from prospection.types.times import aware_utc
from prospection.types.usage import Budget, Usage

__all__ = [
    "BY_HAND",
    "CHARACTERS_PER_TOKEN",
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
    "count_tokens",
    "mended_text",
    "whole_text",
]
