"""Replies from a file instead of a model, and into a file beside one.

A recording is JSONL, one reply a line: `{"stage", "subject", "reply"}`, optionally with `"usage"` and `"model"`.
A whole recall can be replayed, evaluated and tested with it, without a model.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from prospection.errors import ConfigError, NotRecordedError, ReplyError
from prospection.protocols import ChatModel, ChatReply, ChatRequest, ReplyT, StreamingChat
from prospection.serial import from_json, to_json
from prospection.types import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["RecordedChat", "RecordingChat"]


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid")

    stage: str
    subject: str
    reply: Any
    usage: dict[str, Any] | None = None
    model: str | None = None


class RecordedChat:
    """A `ChatModel` that answers from a recording.

    Replies are found by (stage, subject); several of one key are served in the order of recording, each once.

    Attributes:
        name: "recorded:" and the name of the file.
    """

    def __init__(self, lines: Iterable[_Line], *, source: str) -> None:
        self.name = f"recorded:{Path(source).name}"
        self._source = source
        self._replies: defaultdict[tuple[str, str], list[_Line]] = defaultdict(list)
        self._served: defaultdict[tuple[str, str], int] = defaultdict(int)
        for line in lines:
            self._replies[line.stage, line.subject].append(line)

    @classmethod
    def load(cls, path: Path) -> RecordedChat:
        """Read a recording.

        Raises:
            ConfigError: The file cannot be read, or a line is not a recorded reply.
        """
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"recording {str(path)!r} cannot be read: {error}; correct the path") from error
        lines = []
        for number, line in enumerate(text.splitlines(), start=1):
            if not line.strip():
                continue
            try:
                lines.append(_Line.model_validate_json(line))
            except ValidationError as error:
                first = error.errors()[0]
                where = ".".join(str(part) for part in first["loc"])
                raise ConfigError(
                    f"line {number} of recording {str(path)!r} is not a recorded reply: {where} {first['msg']}; "
                    "correct or remove the line"
                ) from error
        return cls(lines, source=str(path))

    async def complete(self, request: ChatRequest[ReplyT]) -> ChatReply[ReplyT]:
        """Serve the next recorded reply.

        Returns:
            The reply with the usage that was recorded with it, else of one call without tokens.

        Raises:
            NotRecordedError: There is none, or all of this key have been served.
            ReplyError: What was recorded does not fit the shape that is asked for now.
        """
        key = (request.stage, request.subject)
        replies, served = self._replies.get(key, []), self._served[key]
        if served >= len(replies):
            had = f"all {len(replies)} have been served" if replies else "it has none"
            raise NotRecordedError(
                f"recording {self._source!r} has no further reply for stage {request.stage!r}, subject "
                f"{request.subject!r}: {had}; record it with a model (models.record) or add a line",
                usage=Usage(),
            )
        self._served[key] = served + 1
        line = replies[served]
        usage = Usage(calls=1) if line.usage is None else from_json(Usage, line.usage)
        try:
            value = TypeAdapter(request.reply).validate_json(json.dumps(line.reply))
        except ValidationError as error:
            raise ReplyError(
                f"recording {self._source!r}: the reply for stage {request.stage!r}, subject {request.subject!r} does "
                f"not fit {request.reply.__name__}: {error.errors()[0]['msg']}; record it again",
                raw=json.dumps(line.reply, ensure_ascii=False),
                usage=usage,
            ) from error
        return ChatReply(value=value, usage=usage, model=line.model or self.name)


class RecordingChat:
    """A `ChatModel` that writes down every reply of the model inside. Failed calls are not written.

    Attributes:
        name: Name of the model inside.
    """

    def __init__(self, model: ChatModel, path: Path) -> None:
        """Describe the recording; the file is opened at the first reply and only ever appended to."""
        self._model = model
        self._path = path
        self._lock = anyio.Lock()

    @property
    def name(self) -> str:
        """Name of the model inside."""
        return self._model.name

    async def complete(self, request: ChatRequest[ReplyT]) -> ChatReply[ReplyT]:
        """Ask the model inside and append its reply to the file.

        Raises:
            ConfigError: The file cannot be written.
            ModelError: As the model inside.
        """
        return await self._recorded(request, await self._model.complete(request))

    async def stream(self, request: ChatRequest[ReplyT], heard: Callable[[str], None]) -> ChatReply[ReplyT]:
        """See `StreamingChat.stream`; a model inside that cannot be read while it writes is asked without."""
        if not isinstance(self._model, StreamingChat):
            return await self.complete(request)
        return await self._recorded(request, await self._model.stream(request, heard))

    async def _recorded(self, request: ChatRequest[ReplyT], reply: ChatReply[ReplyT]) -> ChatReply[ReplyT]:
        line = {
            "stage": request.stage,
            "subject": request.subject,
            "reply": reply.value if isinstance(reply.value, str) else reply.value.model_dump(mode="json"),
            "usage": to_json(reply.usage),
            "model": reply.model,
        }
        async with self._lock:
            await anyio.to_thread.run_sync(_append, self._path, json.dumps(line, ensure_ascii=False))
        return reply


def _append(path: Path, line: str) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
    except OSError as error:
        raise ConfigError(f"recording {str(path)!r} cannot be written: {error}; correct models.record") from error
