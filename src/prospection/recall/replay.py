"""A recall run again without a model: what the model said is in the trace, and the memory is the one of now.

What differs then is what memory has learned or lost since, or what the code does differently.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from prospection.config import RecallSettings
from prospection.errors import BudgetExceededError, ConfigError, NotRecordedError, ReplyError
from prospection.prompts import load_prompt
from prospection.protocols import ChatReply, ChatRequest, ReplyT
from prospection.recall.compare import Comparison
from prospection.recall.policies import build_policy
from prospection.recall.policy import Policy
from prospection.types import Recall, StageRecord, Trace, Usage

__all__ = ["Replayed", "TraceReplay", "policy_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """What came of it.

    Attributes:
        recall: As it would be now. Its usage counts the recorded calls, none of which was made again.
        changes: The recorded recall first, the one of now second.
        differences: Where what the model was shown then is not what it would be shown now, in sentences.
    """

    recall: Recall
    changes: Comparison
    differences: tuple[str, ...]


class TraceReplay:
    """A `ChatModel` that says what it said in a trace.

    A reply is found by the stage and exactly what it was asked, else the next one of its stage that was not used yet.

    Attributes:
        differences: Where the second had to do, in sentences.
    """

    name = "replayed"

    def __init__(self, trace: Trace) -> None:
        self.differences: list[str] = []
        self._left = list(trace.stages)

    async def complete(self, request: ChatRequest[ReplyT]) -> ChatReply[ReplyT]:
        """Serve the reply of the trace.

        Raises:
            BudgetExceededError: The recorded call failed; it ended the recall early then and does so again.
            NotRecordedError: The trace has no further reply of this stage.
            ReplyError: What was recorded does not fit what is asked for now.
        """
        record = self._next(request)
        if record.output is None:
            raise BudgetExceededError(record.error or "the recorded call failed", usage=record.usage)
        try:
            value = TypeAdapter(request.reply).validate_python(record.output)
        except ValidationError as error:
            raise ReplyError(
                f"the recorded reply of stage {request.stage!r} does not fit {request.reply.__name__} any more: "
                f"{error.errors()[0]['msg']}; ask again with a model",
                raw=str(record.output),
                usage=record.usage,
            ) from error
        return ChatReply(value=value, usage=record.usage, model=record.model)

    def _next(self, request: ChatRequest[Any]) -> StageRecord:
        stages = [record for record in self._left if record.stage == request.stage]
        if not stages:
            raise NotRecordedError(
                f"the trace has no further reply of stage {request.stage!r}; ask again with a model", usage=Usage()
            )
        same = [record for record in stages if _asked(record.stage, record.inputs) == request.user]
        record = (same or stages)[0]
        if not same:
            self.differences.append(
                f"Stage {request.stage} would be shown something else now than in round {record.round}."
            )
        self._left.remove(record)
        return record


def policy_of(trace: Trace, settings: RecallSettings) -> Policy:
    """Return the policy of a trace with the parameters that were in force.

    Raises:
        UnknownNameError: There is no such policy any more.
        ConfigError: It does not take these parameters any more.
    """
    policy = build_policy(trace.policy, settings)
    kind: type[Any] = type(policy)
    if is_dataclass(kind):
        try:
            policy = cast("Policy", TypeAdapter(kind).validate_python(dict(trace.parameters)))
        except ValidationError as error:
            raise ConfigError(
                f"policy {trace.policy!r} does not take the recorded parameters any more: "
                f"{error.errors()[0]['msg']}; recall again instead"
            ) from error
    return policy


def _asked(stage: str, inputs: Mapping[str, str]) -> str | None:
    prompt = load_prompt(stage)
    return prompt.render(inputs) if prompt.inputs == inputs.keys() else None
