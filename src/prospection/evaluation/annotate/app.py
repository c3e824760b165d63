"""The annotation page as an ASGI app: a ballot box in, five routes out, all of them under the box's secret key.

Who has the link can annotate under any name. Pages load nothing from elsewhere and run no code but their own; writing
needs JSON, which no other site can send from a visitor's browser without being asked. Nothing that is sent to a browser
says which system wrote an answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from importlib import resources
from typing import Annotated, TypeVar

import anyio.to_thread
from pydantic import BaseModel, Field, ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from prospection.errors import InputError, StoreError
from prospection.evaluation.annotate.box import EXPORT, BallotBox, Choice
from prospection.evaluation.judge.tables import as_csv
from prospection.serial import to_json

__all__ = ["build_app"]

T = TypeVar("T")
BodyT = TypeVar("BodyT", bound=BaseModel)

LARGEST_BODY = 4096
"""Bytes of a verdict; longer ones are refused unread."""

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_KINDS = {"index.html": "text/html", "page.css": "text/css", "page.js": "text/javascript"}


class _Annotator(BaseModel):
    annotator: str


class _Verdict(_Annotator):
    pair: str
    choice: Choice
    seconds: Annotated[float, Field(ge=0, le=86_400)]


def build_app(box: BallotBox, *, hosts: tuple[str, ...] = ("127.0.0.1", "localhost")) -> Starlette:
    """Return the app.

    Args:
        hosts: Names under which it may be asked, so that no other site can pose as it; "*" for any.
    """

    async def screen(request: Request) -> Response:
        return await _answer(partial(box.screen, _asked_by(request)))

    async def vote(request: Request) -> Response:
        said = await _body(request, _Verdict)
        keep = partial(box.vote, said.annotator, said.pair, said.choice, seconds=said.seconds, at=datetime.now(UTC))
        await _answer(keep)
        return await _answer(partial(box.screen, said.annotator))

    async def undo(request: Request) -> Response:
        said = await _body(request, _Annotator)
        await _answer(partial(box.undo, said.annotator))
        return await _answer(partial(box.screen, said.annotator))

    async def export(request: Request) -> Response:
        rows = await _work(partial(box.rows, _asked_by(request)))
        return Response(
            as_csv([EXPORT, *rows]),
            media_type="text/csv",
            headers={**_HEADERS, "Content-Disposition": 'attachment; filename="verdicts.csv"'},
        )

    routes = [
        *(Route("/" if name == "index.html" else f"/{name}", _page(name)) for name in _KINDS),
        Route("/screen", screen),
        Route("/verdict", vote, methods=["POST"]),
        Route("/undo", undo, methods=["POST"]),
        Route("/verdicts.csv", export),
    ]
    return Starlette(
        routes=[Mount(f"/{box.key}", routes=routes)],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))],
        exception_handlers={HTTPException: _refusal},
    )


def _page(name: str) -> Callable[[Request], Awaitable[Response]]:
    content = resources.files(__package__).joinpath("page", name).read_text(encoding="utf-8")

    async def page(request: Request) -> Response:
        return Response(content, media_type=_KINDS[name], headers=_HEADERS)

    return page


async def _answer(work: Callable[[], object]) -> Response:
    return JSONResponse(to_json(await _work(work)), headers=_HEADERS)


async def _work(work: Callable[[], T]) -> T:
    try:
        return await anyio.to_thread.run_sync(work)
    except InputError as error:
        raise HTTPException(400, str(error)) from error
    except StoreError as error:
        raise HTTPException(503, str(error)) from error


async def _body(request: Request, kind: type[BodyT]) -> BodyT:
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise HTTPException(415, "send JSON")
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST_BODY:
            raise HTTPException(413, f"more than {LARGEST_BODY} bytes")
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise HTTPException(400, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def _asked_by(request: Request) -> str:
    return request.query_params.get("annotator", "")


async def _refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - starlette calls it for these alone
    return JSONResponse({"error": error.detail}, status_code=error.status_code, headers=_HEADERS)
