"""Language models through pydantic-ai.

In goes a `ChatRequest`; out comes a value of the shape it asks for and what that cost. The endpoint is asked for
schema-bound JSON first, then for a tool call, then for plain JSON; what it accepts is remembered. Nothing here runs
tools or keeps a conversation between calls. Each call opens connections of its own, so one object serves any
event loop and needs no closing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Literal

import anyio
from genai_prices import calc_price
from pydantic import BaseModel
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError, ModelQuotaExceededError, UserError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from prospection.errors import ConfigError, ReplyError, TruncatedReplyError
from prospection.models.attempts import AttemptFailed, Endpoint, Ledger, attempt
from prospection.models.reply import ReplyFault, parse_reply
from prospection.protocols import ChatReply, ChatRequest, ReplyT
from prospection.types import Usage, mended_text

__all__ = ["COMPATIBLE", "PydanticAIChat", "price"]

COMPATIBLE = "openai-compatible"
"""Name of the provider of endpoints that are known by their URL alone."""

Mode = Literal["native", "tool", "prompted", "text"]

_LADDER: tuple[Mode, ...] = ("native", "tool", "prompted")

# How endpoints say that they do not know response formats or tools.
_REFUSALS = frozenset({400, 415, 422, 501})

_SHOWN_OF_A_BAD_REPLY = 4000


class PydanticAIChat:
    """A `ChatModel` over any model of pydantic-ai.

    Attributes:
        name: For traces and manifests.
    """

    def __init__(
        self,
        model: Model,
        *,
        name: str,
        key: str = "OPENAI_API_KEY",
        timeout: float = 60.0,
        retries: int = 2,
        max_output_tokens: int = 4096,
        backoff: float = 0.5,
    ) -> None:
        """Wrap a model; nothing is called yet.

        Args:
            model: The model as pydantic-ai builds it; `prospection.models.open.open_chat` builds it from a name.
            name: What traces call it.
            key: Environment variable of its key, for error messages.
            timeout: Seconds for one attempt.
            retries: How often a failed attempt is repeated, and how often an unusable reply is asked for again.
            max_output_tokens: Output limit of one reply.
            backoff: Seconds before the first repetition; doubled each time.
        """
        self.name = name
        self._model = model
        self._endpoint = Endpoint(
            where=model.base_url or name,
            model=model.model_name,
            key=key,
            timeout=timeout,
            retries=retries,
            backoff=backoff,
        )
        # The SDK's own retries are off: every attempt has to be counted here.
        self._settings = ModelSettings(max_tokens=max_output_tokens, timeout=timeout, max_retries=0)
        profile = model.profile
        able = {
            "native": profile.get("supports_json_schema_output", False),
            "tool": profile.get("supports_tools", True),
            "prompted": True,
        }
        self._ladder = tuple(mode for mode in _LADDER if able[mode])
        self._streams = True

    async def stream(self, request: ChatRequest[ReplyT], heard: Callable[[str], None]) -> ChatReply[ReplyT]:
        """See `StreamingChat.stream`. An endpoint that will not stream is asked without."""
        return await self._converse(request, heard)

    async def complete(self, request: ChatRequest[ReplyT]) -> ChatReply[ReplyT]:
        """Ask; an unusable reply is shown to the model with what is wrong with it, a bounded number of times.

        Raises:
            TruncatedReplyError: The reply was cut at the output limit. The same is not asked again.
            ReplyError: No reply could be used; `raw` keeps the last one.
            CredentialError: The endpoint refused the key.
            RateLimitError: Still too many requests after the bounded retries.
            EndpointError: No answer, an error on the endpoint's side, or a request it refuses in every mode.
            BudgetExceededError: A meter around this model forbids a further attempt.
        """
        return await self._converse(request, None)

    async def _converse(self, request: ChatRequest[ReplyT], heard: Callable[[str], None] | None) -> ChatReply[ReplyT]:
        ledger = Ledger()
        question = ModelRequest(parts=[UserPromptPart(content=request.user)], instructions=request.system)
        messages: list[ModelMessage] = [question]
        shape = request.reply if issubclass(request.reply, BaseModel) else None
        raw, fault = "", ReplyFault("no reply")
        async with _connected(self._model):
            for _ in range(self._endpoint.retries + 1):
                response = await self._ask(messages, shape, ledger, heard)
                raw = _text(response)
                if response.finish_reason == "length":
                    ledger.add(Usage(failed_calls=1))
                    raise _truncated(request.stage, raw, self._settings.get("max_tokens", 0), ledger.usage)
                try:
                    value = parse_reply(raw, request.reply)
                except ReplyFault as error:
                    ledger.add(Usage(failed_calls=1))
                    fault = error
                    messages = [question, *_correction(raw, fault, request.system)]
                else:
                    return ChatReply(value=value, usage=ledger.usage, model=response.model_name or self.name)
        raise ReplyError(
            f"{self.name} gave no usable reply to stage {request.stage!r} in {self._endpoint.retries + 1} replies: "
            f"{fault}; try again or use a stronger model",
            raw=raw,
            usage=ledger.usage,
        ) from fault

    async def _ask(
        self,
        messages: Sequence[ModelMessage],
        shape: type[BaseModel] | None,
        ledger: Ledger,
        heard: Callable[[str], None] | None,
    ) -> ModelResponse:
        """Make one request, in the first mode of the ladder that the endpoint accepts."""
        modes: tuple[Mode, ...] = self._ladder if shape is not None else ("text",)
        for mode in modes:
            call = partial(self._call, messages, _parameters(mode, shape), heard if self._streams else None)
            try:
                response = await attempt(call, self._endpoint, ledger)
            except AttemptFailed as failure:
                if failure.status in _REFUSALS and mode != modes[-1]:
                    continue
                if failure.status in _REFUSALS and heard is not None and self._streams:
                    self._streams = False
                    return await self._ask(messages, shape, ledger, heard)
                raise failure.as_error(self._endpoint, ledger.usage) from failure
            if mode != "text":
                self._ladder = modes[modes.index(mode) :]
            ledger.add(
                Usage(
                    tokens_in=response.usage.input_tokens,
                    tokens_out=response.usage.output_tokens,
                    cost=price(response),
                )
            )
            return response
        raise AssertionError("unreachable: the last mode returns or raises")

    async def _call(
        self,
        messages: Sequence[ModelMessage],
        parameters: ModelRequestParameters,
        heard: Callable[[str], None] | None,
    ) -> ModelResponse:
        try:
            if heard is None:
                return await model_request(
                    self._model, messages, model_settings=self._settings, model_request_parameters=parameters
                )
            async with model_request_stream(
                self._model, messages, model_settings=self._settings, model_request_parameters=parameters
            ) as events:
                said = ""
                async for _ in events:
                    if (text := _text(events.get())) != said:
                        said = text
                        heard(text)
                return events.get()
        except ModelHTTPError as error:
            spent = isinstance(error, ModelQuotaExceededError)
            raise AttemptFailed(
                _detail(error), status=error.status_code, retry_after=error.retry_after, final=spent
            ) from error
        except ModelAPIError as error:
            raise AttemptFailed(error.message, status=None) from error
        except UserError as error:
            raise ConfigError(f"{self.name!r} cannot be asked: {error.message}; choose another model") from error


@asynccontextmanager
async def _connected(model: Model) -> AsyncIterator[None]:
    """Hold the model's connections open. Calls side by side share them; the last one to leave closes them."""
    await model.__aenter__()
    try:
        yield
    finally:
        # Leaving waits for a lock: a call that is cancelled at a deadline would never be counted out.
        with anyio.CancelScope(shield=True):
            await model.__aexit__(None, None, None)


def _parameters(mode: Mode, shape: type[BaseModel] | None) -> ModelRequestParameters:
    if shape is None:
        return ModelRequestParameters()
    schema = shape.model_json_schema()
    name = shape.__name__.strip("_")
    if mode == "tool":
        tool = ToolDefinition(name=name, description="Give the reply.", parameters_json_schema=schema, kind="output")
        return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)
    described = OutputObjectDefinition(json_schema=schema, name=name)
    return ModelRequestParameters(output_mode=mode, output_object=described)


def _text(response: ModelResponse) -> str:
    """The arguments of the tool call where there is one, else the text; thinking is left out.

    Some endpoints cut texts in the middle of a character; neither a request nor the store takes half of one.
    """
    for part in response.parts:
        if isinstance(part, ToolCallPart):
            return mended_text(part.args if isinstance(part.args, str) else part.args_as_json_str())
    return mended_text("".join(part.content for part in response.parts if isinstance(part, TextPart)))


def _correction(raw: str, fault: ReplyFault, system: str) -> list[ModelMessage]:
    told = f"That reply cannot be used: {fault}. Reply again, complete, with exactly one JSON object and nothing else."
    return [
        ModelResponse(parts=[TextPart(content=raw[:_SHOWN_OF_A_BAD_REPLY] or "(nothing)")]),
        ModelRequest(parts=[UserPromptPart(content=told)], instructions=system),
    ]


def _truncated(stage: str, raw: str, limit: int, usage: Usage) -> TruncatedReplyError:
    return TruncatedReplyError(
        f"the reply to stage {stage!r} was cut off at the output limit of {limit} tokens; "
        "raise models.max_output_tokens or give less material at once",
        raw=raw,
        usage=usage,
    )


def price(response: ModelResponse) -> float | None:
    """US dollars, or None where the price list does not know the provider and model, or no usage was reported."""
    try:
        if response.provider_name == COMPATIBLE and response.model_name is not None:
            # By address only: a server of one's own may call its model like one that costs money elsewhere.
            found = calc_price(response.usage, response.model_name, provider_api_url=response.provider_url)
        else:
            found = response.cost()
    except (LookupError, ValueError, AssertionError):
        return None
    return float(found.total_price)


def _detail(error: ModelHTTPError) -> str:
    """The endpoint's own words."""
    body = error.body
    if isinstance(body, dict):
        inner = body.get("error", body)
        message = inner.get("message") if isinstance(inner, dict) else inner
        if message:
            return str(message)
    return str(body) if body else error.message
