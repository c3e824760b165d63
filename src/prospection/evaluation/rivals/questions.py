"""A rival's questions to a language model, and what they cost.

In goes the stage of a prompt and its inputs; out comes the parsed reply. Everything is added up, failed calls too.
Questions that do not depend on each other are asked side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from prospection.errors import ModelError
from prospection.evaluation.side_by_side import side_by_side
from prospection.prompts import load_prompt
from prospection.protocols import ChatModel, ChatRequest, ReplyT
from prospection.types import Usage

__all__ = ["Questions"]

AT_ONCE = 8


class Questions:
    """Questions of one piece of work: building one index, or one retrieval.

    Attributes:
        usage: Of all calls so far.
    """

    def __init__(self, model: ChatModel, *, about: str, at_once: int = AT_ONCE) -> None:
        """Start with nothing asked.

        Args:
            about: First part of each call's subject; recorded replies are found by it.
            at_once: Calls that `ask_all` keeps open.
        """
        self.usage = Usage()
        self._model = model
        self._about = about
        self._at_once = at_once

    async def ask(self, stage: str, reply: type[ReplyT], inputs: Mapping[str, str], *, item: str = "") -> ReplyT:
        """Ask one question.

        Args:
            item: What this call is about, where a stage is asked several times.

        Raises:
            ModelError: No usable reply came; the failed call is counted all the same.
        """
        prompt = load_prompt(stage)
        request = ChatRequest(
            stage=stage,
            subject=f"{self._about}: {item}" if item else self._about,
            system=prompt.system,
            user=prompt.render(inputs),
            prompt=prompt.hash,
            reply=reply,
        )
        try:
            answer = await self._model.complete(request)
        except ModelError as error:
            self.usage += error.usage or Usage(calls=1, failed_calls=1)
            raise
        self.usage += answer.usage
        return answer.value

    async def ask_all(
        self, stage: str, reply: type[ReplyT], questions: Sequence[tuple[str, Mapping[str, str]]]
    ) -> list[ReplyT]:
        """Ask a stage about several items at once.

        Args:
            questions: (item, inputs) of each; items are distinct.

        Returns:
            The replies in the order of the questions; [] for none.

        Raises:
            ModelError: One call failed; the others are cancelled.
        """
        jobs = [partial(self.ask, stage, reply, inputs, item=item) for item, inputs in questions]
        return await side_by_side(jobs, at_once=self._at_once)
