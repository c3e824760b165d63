"""Bounded attempts at an endpoint: what is tried again, what is not, and what each attempt cost.

In goes a coroutine function that makes one HTTP call and raises `AttemptFailed`; out comes its result. Every attempt
is counted in a `Ledger`, failed ones too. Knows nothing of any SDK.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

import anyio

from prospection.errors import CredentialError, EndpointError, ModelError, RateLimitError
from prospection.types import Usage

__all__ = ["AttemptFailed", "Endpoint", "Gate", "Ledger", "attempt", "gate", "spending"]

T = TypeVar("T")

MAX_WAIT = 60.0
"""Seconds that a server's Retry-After is honoured for; a longer one is an error at once."""

Gate = Callable[[Usage], None]
"""Called with what the current call has cost so far, before every attempt; raises to forbid it."""

gate: ContextVar[Gate | None] = ContextVar("gate", default=None)
"""How a budget reaches the attempts inside a call, so that retries cannot pass a ceiling either."""

spending: ContextVar[Callable[[Usage], None] | None] = ContextVar("spending", default=None)
"""Called with each part of what a call costs, as it becomes known. In the sum of a call the price of what was answered
is lost as soon as one attempt was not, because nobody knows what that cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Who is called, and within which limits.

    Attributes:
        where: URL or provider, as errors name it.
        model: Name of the model there.
        key: Environment variable that holds the key.
        timeout: Seconds for one attempt.
        retries: Attempts after the first.
        backoff: Seconds before the second attempt; doubled each time.
    """

    where: str
    model: str
    key: str = "OPENAI_API_KEY"
    timeout: float = 60.0
    retries: int = 2
    backoff: float = 0.5


class AttemptFailed(Exception):  # noqa: N818 - never leaves this package
    """One attempt brought no reply.

    Attributes:
        status: HTTP status; None when there was no answer at all.
        retry_after: Seconds the server asked to wait.
        transient: Whether the same request may succeed later.
    """

    def __init__(
        self, detail: str, *, status: int | None, retry_after: float | None = None, final: bool = False
    ) -> None:
        super().__init__(detail)
        self.detail = " ".join(detail.split())[:300]
        self.status = status
        self.retry_after = retry_after
        self.transient = not final and (
            status is None or status in {408, 409, 425, 429} or (status >= 500 and status != 501)
        )

    def as_error(self, endpoint: Endpoint, usage: Usage) -> ModelError:
        """Return the public error that says what happened and what to do."""
        answered = f"{endpoint.where} answered HTTP {self.status}: {self.detail}"
        if self.status in {401, 403}:
            advice = f"check the key in the environment variable {endpoint.key} and that it may use {endpoint.model!r}"
            return CredentialError(f"{answered}; {advice}", usage=usage)
        if self.status == 429:
            return RateLimitError(
                f"{answered} ({usage.calls} attempts); wait and try again, or raise the limit of the account",
                usage=usage,
            )
        if self.status == 404:
            return EndpointError(f"{answered}; check the model name {endpoint.model!r} and the URL", usage=usage)
        if self.status is None:
            advice = "check that the server runs and that the URL is right"
            return EndpointError(
                f"no usable answer from {endpoint.where} ({usage.calls} attempts): {self.detail}; {advice}", usage=usage
            )
        advice = "try again later" if self.transient else "the request itself was refused: check model and settings"
        return EndpointError(f"{answered} ({usage.calls} attempts); {advice}", usage=usage)


class Ledger:
    """What one call has cost so far; it grows with every attempt."""

    def __init__(self) -> None:
        self.usage = Usage()

    def add(self, usage: Usage) -> None:
        """Add the cost of an attempt, or a part of it."""
        self.usage += usage
        if (tell := spending.get()) is not None:
            tell(usage)


async def attempt(call: Callable[[], Awaitable[T]], endpoint: Endpoint, ledger: Ledger) -> T:
    """Run `call` until it succeeds, at most `endpoint.retries` times again.

    Only transient failures are tried again: no answer, 408, 409, 425, 429 and 5xx, after the server's Retry-After or
    a doubling pause. Tokens and money of a success are the caller's to add to the ledger.

    Raises:
        AttemptFailed: The last failure.
        BudgetExceededError: The gate in force forbids a further attempt.
    """
    for tried in range(endpoint.retries + 1):
        if (check := gate.get()) is not None:
            check(ledger.usage)
        began = time.monotonic()
        try:
            with anyio.fail_after(endpoint.timeout):
                result = await call()
        except TimeoutError:
            failure = AttemptFailed(f"no reply within {endpoint.timeout:g} s", status=None)
        except AttemptFailed as error:
            failure = error
        else:
            ledger.add(Usage(calls=1, seconds=time.monotonic() - began))
            return result
        # Whoever answers with an error does not bill; without an answer nobody knows.
        cost = None if failure.status is None else 0.0
        ledger.add(Usage(calls=1, failed_calls=1, cost=cost, seconds=time.monotonic() - began))
        pause = endpoint.backoff * 2**tried if failure.retry_after is None else failure.retry_after
        if not failure.transient or tried == endpoint.retries or pause > MAX_WAIT:
            raise failure
        await anyio.sleep(pause)
    raise AssertionError("unreachable: the last attempt returns or raises")
