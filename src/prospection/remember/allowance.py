"""What remembering may cost a day, all together and for one user, and the ledger of what it has cost.

In goes a model; out comes the same model that refuses the call which would pass a ceiling and writes every other call
down, failed ones too. The ledger is in the store: ceilings hold across restarts, and for several processes together up
to the calls that the others have under way. Knows nothing of what is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

import anyio

from prospection.config import CeilingSettings
from prospection.errors import AllowanceError, ModelError
from prospection.models.attempts import gate
from prospection.protocols import ChatModel, ChatReply, ChatRequest, ReplyT, UsageLedger
from prospection.types import Usage

__all__ = ["Allowance", "RationedChat"]

_LEDGER_SECONDS = 5.0
"""How long a cancelled call may take to be written down."""


@dataclass(frozen=True, slots=True)
class _Account:
    """What holds for somebody, and what was spent before the next call."""

    user: str | None
    day: date
    ceilings: CeilingSettings
    spent: Usage

    def refusal(self, prompt: int) -> str | None:
        """Say which ceiling a call with a prompt of so many tokens would pass; None when it may be made."""
        ceilings, spent = self.ceilings, self.spent
        tokens = spent.tokens_in + spent.tokens_out
        if ceilings.max_calls is not None and spent.calls >= ceilings.max_calls:
            reason = f"{spent.calls} calls are made and max_calls is {ceilings.max_calls}"
        elif ceilings.max_tokens is not None and tokens + prompt > ceilings.max_tokens:
            reason = (
                f"{tokens} tokens are used, the next prompt has about {prompt}, max_tokens is {ceilings.max_tokens}"
            )
        elif ceilings.max_cost is not None and spent.cost is None:
            reason = f"a price is not known, so that max_cost {ceilings.max_cost:g} cannot be kept"
        elif ceilings.max_cost is not None and spent.cost is not None and spent.cost >= ceilings.max_cost:
            reason = f"{spent.cost:.4f} dollars are spent and max_cost is {ceilings.max_cost:g}"
        else:
            return None
        whose = "all users" if self.user is None else f"user {self.user!r}"
        return f"{reason} for {whose} on {self.day} (UTC); it goes on tomorrow, or raise the ceiling"


class Allowance:
    """The ceilings of a day (UTC). One object serves all work of a process, also side by side."""

    def __init__(self, store: UsageLedger, *, day: CeilingSettings, user: CeilingSettings) -> None:
        """Say what holds; nothing is read yet.

        Args:
            store: Keeps the ledger.
            day: For all users together.
            user: For each user.
        """
        self._store, self._day, self._user = store, day, user
        self._turn = anyio.Lock()
        self._under_way: list[tuple[str, int]] = []

    def chat(self, model: ChatModel, user: str, *, now: datetime) -> RationedChat:
        """Return the model for work on a user's memory on the day of `now`."""
        return RationedChat(model, self, user, now.astimezone(UTC).date())

    async def admit(self, user: str, day: date, prompt: int) -> list[_Account]:
        """Let a call with a prompt of so many tokens begin; it counts as under way until `settle`.

        Raises:
            AllowanceError: It would pass a ceiling.
        """
        async with self._turn:
            accounts = await self._accounts(user, day)
            _check(accounts, Usage(), prompt)
            self._under_way.append((user, prompt))
            return accounts

    async def settle(self, user: str, day: date, prompt: int, usage: Usage) -> None:
        """Write down what a call that was admitted has cost."""
        if usage.cost is None and usage.failed_calls:
            # Nobody knows what a call costs that brought no answer. It must not make the whole day's cost unknown.
            usage = replace(usage, cost=0.0)
        async with self._turn:
            try:
                if usage.calls:
                    await self._store.add_usage(user, usage, day=day)
            finally:
                self._under_way.remove((user, prompt))

    async def _accounts(self, user: str, day: date) -> list[_Account]:
        accounts = []
        for whose, ceilings in ((None, self._day), (user, self._user)):
            if ceilings != CeilingSettings():
                spent = await self._store.usage(whose, since=day)
                for other, prompt in self._under_way:
                    if whose in (None, other):
                        spent += Usage(calls=1, tokens_in=prompt)
                accounts.append(_Account(whose, day, ceilings, spent))
        return accounts


class RationedChat:
    """A model within an allowance, for one user and day."""

    def __init__(self, model: ChatModel, allowance: Allowance, user: str, day: date) -> None:
        """Use `Allowance.chat`."""
        self._model, self._allowance, self._user, self._day = model, allowance, user, day

    @property
    def name(self) -> str:
        """Name of the model inside."""
        return self._model.name

    async def complete(self, request: ChatRequest[ReplyT]) -> ChatReply[ReplyT]:
        """Ask the model inside, within the allowance; attempts inside the call count too.

        Raises:
            AllowanceError: A ceiling is reached.
            ModelError: As the model inside.
        """
        prompt = request.tokens
        accounts = await self._allowance.admit(self._user, self._day, prompt)
        outer = gate.get()
        cost = Usage(calls=1, failed_calls=1, cost=None)  # until more is known

        def within(so_far: Usage) -> None:
            nonlocal cost
            _check(accounts, so_far, prompt)
            if outer is not None:
                outer(so_far)
            cost = so_far + Usage(calls=1, failed_calls=1, cost=None)

        token = gate.set(within)
        try:
            reply = await self._model.complete(request)
            cost = reply.usage
            return reply
        except ModelError as error:
            cost = error.usage or Usage()
            raise
        finally:
            gate.reset(token)
            with anyio.move_on_after(_LEDGER_SECONDS, shield=True):
                await self._allowance.settle(self._user, self._day, prompt, cost)


def _check(accounts: list[_Account], so_far: Usage, prompt: int) -> None:
    """Refuse the next attempt of a call that has cost `so_far` when it would pass a ceiling.

    Raises:
        AllowanceError: It would.
    """
    for account in accounts:
        reason = replace(account, spent=account.spent + so_far).refusal(prompt)
        if reason is not None:
            raise AllowanceError(f"no further call: {reason}", user=account.user, usage=so_far)
