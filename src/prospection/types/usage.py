"""What work costs, and how much it may."""

from __future__ import annotations

from dataclasses import dataclass, fields

from prospection.errors import InputError

__all__ = ["Budget", "Usage"]


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
class Budget:
    """Ceilings of one recall or answer; None means no ceiling.

    Attributes:
        max_calls: Calls to a language model.
        max_tokens: Tokens in and out together.
        max_cost: US dollars.
        deadline: Seconds from the start.

    Raises:
        InputError: A ceiling is below 0, or no number; of calls and tokens, no whole number.
    """

    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    deadline: float | None = None

    def __post_init__(self) -> None:
        for ceiling in fields(self):
            value, whole = getattr(self, ceiling.name), ceiling.name in {"max_calls", "max_tokens"}
            numbers = int if whole else (int, float)
            if value is not None and not (isinstance(value, numbers) and value >= 0):  # not: NaN is no ceiling
                raise InputError(
                    f"{ceiling.name} is {value!r}; pass a {'whole ' if whole else ''}number from 0 on, "
                    "or None for no ceiling"
                )
