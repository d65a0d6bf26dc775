"""Whoever runs a team sees every request to a model in it, at any depth, once."""

from contextlib import aclosing

import pytest

from teams.base import TeamError, run_hooks
from teams.models import ChatCompletionClient, CreateResult, RequestUsage, UserMessage
from teams.models.cache import ChatCompletionCache
from tests.fakes.deep_teams import DEEP, alone, call, model, nested, round_robin


class Watch:
    def __init__(self, most: int = 100) -> None:
        self.asked: list[ChatCompletionClient] = []
        self.counted: list[RequestUsage] = []
        self._most = most

    def asks(self, client: ChatCompletionClient) -> None:
        if len(self.asked) >= self._most:
            raise LookupError("no more")
        self.asked.append(client)

    def answered(self, client: ChatCompletionClient, usage: RequestUsage) -> None:
        self.counted.append(usage)


def streaming():
    return round_robin(alone("a", model("one two"), model_client_stream=True)), 1


@pytest.mark.parametrize(
    "make",
    [*DEEP, streaming],
    ids=lambda make: make.__name__,
)
async def test_every_request_is_seen_once_however_deep(make):
    team, requests = make()
    watch = Watch()
    with run_hooks(model=watch):
        await team.run(task="go")
    assert len(watch.counted) == requests
    assert all(usage.completion_tokens == 2 for usage in watch.counted)


async def test_a_run_without_a_watch_is_seen_by_nobody():
    team, _ = nested()
    watch = Watch()
    with run_hooks(model=watch):
        pass
    await team.run(task="go")
    assert not watch.asked


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_an_answer_out_of_a_cache_is_not_counted_and_one_through_it_once(stream):
    cache = ChatCompletionCache(model("one"))
    watch = Watch()
    question = [UserMessage(content="?", source="user")]
    with run_hooks(model=watch):
        for _ in range(2):
            if stream:
                async with aclosing(cache.create_stream(question)) as pieces:
                    answer = [piece async for piece in pieces][-1]
            else:
                answer = await cache.create(question)
            assert isinstance(answer, CreateResult)
            assert answer.content == "one"
    assert len(watch.counted) == 1


async def test_what_the_watch_raises_ends_the_run_before_the_model_is_asked():
    client = model(call("look"), "done")

    async def look(task: str) -> str:
        """Look."""
        return task

    team = round_robin(alone("a", client, tools=[look], reflect_on_tool_use=True))
    with run_hooks(model=Watch(most=1)), pytest.raises(TeamError) as caught:
        await team.run(task="go")
    assert isinstance(caught.value.__cause__, LookupError)
    assert len(client.create_calls) == 1
    # The run stands where it was: it goes on with the request that was not made.
    result = await team.run(task=None)
    assert result.messages[-1].to_text() == "done"
