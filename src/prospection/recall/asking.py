"""Putting stages to the language model of one recall.

In goes a stage and what its prompt is filled with; out comes the reply, and into the record what came of it: a failed
call is recorded and counted like any other.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from prospection.errors import ConfigError, ModelError
from prospection.prompts import load_prompt
from prospection.protocols import ChatModel, ChatReply, ChatRequest, ReplyT, StreamingChat
from prospection.recall.reading import read_along
from prospection.recall.record import Record
from prospection.serial import to_json
from prospection.types import StageRecord, Usage

__all__ = ["Asking", "Partial"]

Partial = Callable[[Mapping[str, Any]], Awaitable[None]]
"""Takes what can be read of a reply that is still being written."""


class Asking:
    """Asks one model, or none, about one request."""

    def __init__(self, model: ChatModel | None, *, subject: str, watched: bool, record: Record) -> None:
        """Ask for one recall.

        Args:
            subject: Whose request it is, and the request: what recorded replies are found by.
            watched: Whether anybody wants to hear of a reply while it is being written.
        """
        self._model = model
        self._subject = subject
        self._watched = watched
        self._record = record

    async def ask(
        self,
        stage: str,
        reply: type[ReplyT],
        inputs: Mapping[str, str],
        *,
        round_: int,
        part: str | None,
        partial: Partial | None,
    ) -> ReplyT:
        """Put a stage's prompt to the model; see `Run.ask`."""
        if self._model is None:
            raise ConfigError(
                f"stage {stage!r} needs a language model; name one, for example model='openai:gpt-4o', "
                "or use a policy that needs none: 'library', 'hybrid' or 'direct'"
            )
        prompt = load_prompt(stage)
        request = ChatRequest(
            stage=stage,
            subject=self._subject + (f" ({part})" if part else ""),
            system=prompt.system,
            user=prompt.render(inputs),
            prompt=prompt.hash,
            reply=reply,
        )

        def record(model: str, usage: Usage, *, output: object = None, error: str | None = None) -> None:
            self._record.asked(
                StageRecord(
                    stage=stage,
                    round=round_,
                    model=model,
                    prompt=prompt.hash,
                    inputs=dict(inputs),
                    output=output,
                    usage=usage,
                    error=error,
                )
            )

        try:
            answer = await self._reply(self._model, request, partial)
        except ModelError as error:
            record(self._model.name, error.usage or Usage(), error=str(error))
            raise
        output = answer.value if isinstance(answer.value, str) else to_json(answer.value)
        record(answer.model, answer.usage, output=output)
        return answer.value

    async def _reply(
        self, model: ChatModel, request: ChatRequest[ReplyT], partial: Partial | None
    ) -> ChatReply[ReplyT]:
        if partial is None or not self._watched or not isinstance(model, StreamingChat):
            return await model.complete(request)
        return await read_along(model, request, partial)
