"""Jobs side by side: order, how many at once, and what becomes of the others after an error."""

from __future__ import annotations

from functools import partial

import anyio
import pytest

from prospection.errors import EndpointError
from prospection.evaluation.side_by_side import side_by_side

pytestmark = pytest.mark.anyio


class Work:
    """Jobs that wait for each other, and what happened to them."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.ended: list[int] = []
        self.gate = anyio.Event()

    async def job(self, number: int, *, fails: bool = False) -> int:
        self.begun.append(number)
        if fails:
            self.gate.set()
            raise EndpointError(f"{number} is down")
        await self.gate.wait()
        await anyio.lowlevel.checkpoint()
        self.ended.append(number)
        return number


async def test_results_come_in_order_and_no_more_than_so_many_are_under_way() -> None:
    most = under_way = 0

    async def job(number: int) -> int:
        nonlocal most, under_way
        under_way += 1
        most = max(most, under_way)
        for _ in range(5 - number):  # the first takes longest
            await anyio.lowlevel.checkpoint()
        under_way -= 1
        return number

    assert await side_by_side([partial(job, number) for number in range(5)], at_once=3) == [0, 1, 2, 3, 4]
    assert most == 3
    assert await side_by_side([], at_once=3) == []


@pytest.mark.parametrize("finish", [False, True])
async def test_the_first_error_is_raised_itself_and_nothing_new_begins(finish: bool) -> None:
    work = Work()
    jobs = [partial(work.job, 0), partial(work.job, 1, fails=True), partial(work.job, 2)]
    with pytest.raises(EndpointError, match="1 is down"):
        await side_by_side(jobs, at_once=2, finish=finish)
    assert work.begun == [0, 1]
    assert work.ended == ([0] if finish else [])
