"""Language models over real HTTP, on a loopback server that misbehaves on purpose."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from itertools import pairwise

import anyio
import pytest
from pydantic_ai.messages import ModelResponse
from pydantic_ai.usage import RequestUsage

from contracts.chat_contract import EMPTY, FACTS, REPLIES, ChatContract, Memories, plain, structured
from loopback import Drop, Garbage, Loopback, Reply, Slow, Status
from prospection.errors import CredentialError, EndpointError, RateLimitError, ReplyError, TruncatedReplyError
from prospection.models.chat import COMPATIBLE, PydanticAIChat, price
from prospection.models.open import build_model

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running


def chat_at(server: Loopback, *, timeout: float = 10.0, retries: int = 2) -> PydanticAIChat:
    model = build_model("tiny", server.url)
    return PydanticAIChat(model, name="tiny", timeout=timeout, retries=retries, backoff=0.001, max_output_tokens=500)


class TestContract(ChatContract):
    @pytest.fixture
    def chat(self, server: Loopback) -> PydanticAIChat:
        server.script(*(Reply(reply) for *_, reply in REPLIES), Status(401))
        return chat_at(server)


async def test_the_request_says_what_is_wanted(server: Loopback) -> None:
    server.script(Reply(FACTS, tokens=(120, 30)))
    reply = await chat_at(server).complete(structured())
    (asked,) = server.chats
    assert (asked.system, asked.user, asked.mode) == ("Extract facts.", "<x>hello</x>", "json_schema")
    assert asked.body["model"] == "tiny"
    assert asked.body["max_tokens"] == 500
    assert asked.schema is not None
    assert asked.schema["properties"].keys() == {"facts"}
    assert (reply.usage.tokens_in, reply.usage.tokens_out) == (120, 30)
    assert reply.usage.cost is None
    assert reply.usage.seconds > 0


async def test_plain_text_asks_for_no_shape(server: Loopback) -> None:
    server.script("<think>hm</think>Two weeks.")
    assert (await chat_at(server).complete(plain())).value == "Two weeks."
    assert server.chats[0].mode == "text"


@pytest.mark.parametrize(
    ("refuse", "walked"),
    [
        ({"json_schema"}, ["json_schema", "tools"]),
        ({"json_schema", "tools"}, ["json_schema", "tools", "text"]),
        ({"json_schema", "tools", "json_object"}, ["json_schema", "tools", "text"]),
    ],
)
async def test_the_ladder_is_walked_once(refuse: set[str], walked: list[str]) -> None:
    with Loopback(refuse=refuse) as server:
        server.script(FACTS, EMPTY)
        chat = chat_at(server)
        first = await chat.complete(structured())
        assert first.value == Memories.model_validate(FACTS)
        assert [asked.mode for asked in server.chats] == walked
        assert (first.usage.calls, first.usage.failed_calls) == (len(walked), len(walked) - 1)
        second = await chat.complete(structured())
        assert second.value.facts == []
        assert [asked.mode for asked in server.chats[len(walked) :]] == walked[-1:]
        assert second.usage.calls == 1


async def test_the_schema_is_in_the_prompt_where_nothing_else_works() -> None:
    with Loopback(refuse={"json_schema", "tools"}) as server:
        server.script(FACTS)
        await chat_at(server).complete(structured())
        assert '"facts"' in server.chats[-1].system


async def test_a_text_instead_of_a_tool_call_is_read() -> None:
    with Loopback(refuse={"json_schema"}) as server:
        server.script(Reply(FACTS, as_tool=False))
        assert (await chat_at(server).complete(structured())).value == Memories.model_validate(FACTS)


async def test_fences_prose_and_thinking_are_tolerated(server: Loopback) -> None:
    server.script(f"<think>let me see</think>Of course!\n```json\n{json.dumps(FACTS)}\n```\nGlad to help.")
    reply = await chat_at(server).complete(structured())
    assert reply.value == Memories.model_validate(FACTS)
    assert (reply.usage.calls, reply.usage.failed_calls) == (1, 0)


async def test_an_unusable_reply_is_shown_with_its_fault(server: Loopback) -> None:
    server.script('{"facts": [{"info": 7, "tags": []}]}', FACTS)
    reply = await chat_at(server).complete(structured())
    assert (reply.usage.calls, reply.usage.failed_calls) == (2, 1)
    roles = [message["role"] for message in server.chats[1].body["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    assert "facts.0.info: Input should be a valid string" in server.chats[1].user


async def test_a_reply_that_never_parses_is_kept(server: Loopback) -> None:
    server.script("I am only", "a poor", Reply("language model", tokens=(10, 3)))
    with pytest.raises(ReplyError, match=r"tiny gave no usable reply to stage 'extract' in 3 replies") as caught:
        await chat_at(server).complete(structured())
    assert caught.value.raw == "language model"
    assert caught.value.usage is not None
    assert (caught.value.usage.calls, caught.value.usage.failed_calls) == (3, 3)
    assert caught.value.usage.tokens_out >= 3


async def test_half_a_character_is_mended_and_can_be_corrected(server: Loopback) -> None:
    server.script("I like \ud83d", Reply({"facts": [{"info": "tea \ud83d", "tags": []}]}))
    reply = await chat_at(server).complete(structured())
    assert "\ufffd" in str(server.chats[-1].body["messages"])
    assert reply.value.facts[0].info == "tea \ufffd"


async def test_a_cut_reply_is_not_asked_for_again(server: Loopback) -> None:
    server.script(Reply('{"facts": [{"info": "a"', finish="length"))
    with pytest.raises(TruncatedReplyError, match=r"output limit of 500 tokens; raise models.max_output") as caught:
        await chat_at(server).complete(structured())
    assert caught.value.raw == '{"facts": [{"info": "a"'
    assert caught.value.usage is not None
    assert caught.value.usage.failed_calls == 1
    assert len(server.chats) == 1


async def test_a_refused_key() -> None:
    with Loopback(key="secret") as server:
        with pytest.raises(CredentialError, match=r"HTTP 401: Incorrect API key.*OPENAI_API_KEY") as caught:
            await chat_at(server).complete(structured())
        assert caught.value.usage is not None
        assert caught.value.usage.calls == caught.value.usage.failed_calls == len(server.requests) == 1


async def test_the_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with Loopback(key="secret") as server:
        await chat_at(server).complete(plain())


async def test_retry_after_is_honoured(server: Loopback) -> None:
    server.script(Status(429, retry_after=0), FACTS)
    reply = await chat_at(server).complete(structured())
    assert (reply.usage.calls, reply.usage.failed_calls) == (2, 1)


async def test_rate_limits_end(server: Loopback) -> None:
    server.script(*[Status(429, retry_after=0)] * 5)
    with pytest.raises(RateLimitError, match=r"HTTP 429: scripted \(3 attempts\)") as caught:
        await chat_at(server).complete(structured())
    assert caught.value.usage is not None
    assert caught.value.usage.calls == len(server.requests) == 3


@pytest.mark.parametrize("status", [Status(429, retry_after=3600), Status(429, code="insufficient_quota")])
async def test_a_hopeless_wait_is_not_begun(server: Loopback, status: Status) -> None:
    server.script(status)
    with pytest.raises(RateLimitError):
        await chat_at(server).complete(structured())
    assert len(server.requests) == 1


@pytest.mark.parametrize("failure", [Status(500), Status(503), Drop(), Garbage()])
async def test_a_failing_endpoint_is_tried_again(server: Loopback, failure: Status | Drop | Garbage) -> None:
    server.script(failure, FACTS, failure, failure, failure)
    chat = chat_at(server)
    reply = await chat.complete(structured())
    assert (reply.usage.calls, reply.usage.failed_calls) == (2, 1)
    with pytest.raises(EndpointError) as caught:
        await chat.complete(structured())
    assert server.url in str(caught.value)
    assert caught.value.usage is not None
    assert caught.value.usage.calls == 3
    assert len(server.requests) == 5


async def test_a_slow_answer_is_given_up(server: Loopback) -> None:
    server.script(Slow(30), Slow(30))
    with pytest.raises(EndpointError, match=r"\(2 attempts\): no reply within 0.3 s"):
        await chat_at(server, timeout=0.3, retries=1).complete(structured())


async def test_nobody_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    chat = PydanticAIChat(build_model("tiny", url), name="tiny", backoff=0.001, retries=1)
    with pytest.raises(EndpointError, match=url) as caught:
        await chat.complete(structured())
    assert caught.value.usage is not None
    assert caught.value.usage.failed_calls == 2


async def test_a_wrong_path_names_url_and_model(server: Loopback) -> None:
    chat = PydanticAIChat(build_model("tiny", server.url + "/v2"), name="tiny")
    with pytest.raises(EndpointError, match=r"HTTP 404: .*check the model name 'tiny' and the URL"):
        await chat.complete(structured())


async def test_calls_run_side_by_side_and_on_any_loop() -> None:
    def answer(asked: object) -> Reply:
        return Reply(FACTS)

    with Loopback(answer) as server:
        chat = chat_at(server)
        replies = []

        async def ask() -> None:
            replies.append(await chat.complete(structured()))

        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(ask)
        assert len(replies) == 8
        other = await anyio.to_thread.run_sync(lambda: anyio.run(chat.complete, structured()))
        assert other.value.facts


@pytest.mark.parametrize(
    ("provider", "url", "dollars"),
    [
        ("openai", "https://api.openai.com/v1/", 2.5),
        (COMPATIBLE, "https://api.openai.com/v1/", 2.5),
        (COMPATIBLE, "http://127.0.0.1:8080/v1/", None),
    ],
)
async def test_prices_are_known_by_provider_or_address(provider: str, url: str, dollars: float | None) -> None:
    used = RequestUsage(input_tokens=1_000_000, output_tokens=0)
    response = ModelResponse(parts=[], model_name="gpt-4o", provider_name=provider, provider_url=url, usage=used)
    assert price(response) == dollars


async def test_a_reply_can_be_read_while_it_is_written(server: Loopback) -> None:
    server.script(Reply(FACTS, tokens=(120, 30)))
    heard: list[str] = []
    reply = await chat_at(server).stream(structured(), heard.append)
    assert reply.value == Memories.model_validate(FACTS)
    assert len(heard) > 2
    assert all(later.startswith(sooner) for sooner, later in pairwise(heard))
    assert json.loads(heard[-1]) == FACTS
    assert (reply.usage.calls, reply.usage.tokens_in, reply.usage.tokens_out) == (1, 120, 30)
    assert server.chats[0].body["stream"] is True


async def test_a_tool_call_can_be_read_while_it_is_written(server: Loopback) -> None:
    server.refuse = {"json_schema"}
    server.script(FACTS)
    heard: list[str] = []
    reply = await chat_at(server).stream(structured(), heard.append)
    assert reply.value == Memories.model_validate(FACTS)
    assert len(heard) > 2


async def test_a_stream_that_breaks_off_is_asked_for_again(server: Loopback) -> None:
    server.script(Status(503), "no JSON", FACTS)
    heard: list[str] = []
    reply = await chat_at(server).stream(structured(), heard.append)
    assert reply.value == Memories.model_validate(FACTS)
    assert (reply.usage.calls, reply.usage.failed_calls) == (3, 2)
    assert any(text.startswith("no JSON") for text in heard)


async def test_an_endpoint_that_refuses_streams_is_remembered(server: Loopback) -> None:
    server.handler = lambda chat: Status(400, "no streams") if chat.body.get("stream") else Reply(FACTS)
    chat = chat_at(server)
    heard: list[str] = []
    assert (await chat.stream(structured(), heard.append)).value == Memories.model_validate(FACTS)
    before = len(server.chats)
    assert (await chat.stream(structured(), heard.append)).value == Memories.model_validate(FACTS)
    assert len(server.chats) == before + 1
    assert heard == []


async def test_a_call_that_is_cancelled_leaves_no_connection_behind(server: Loopback) -> None:
    server.handler = lambda _: Slow(30)
    chat = chat_at(server)
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(chat.complete, structured())
        await anyio.sleep(0.1)
        tasks.cancel_scope.cancel()
    server.handler = lambda _: Reply(FACTS)
    assert (await chat.complete(structured())).value == Memories.model_validate(FACTS)
