"""A web service: a conversation for each address, on disk."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.base import TaskResult
from teams.messages import TextMessage
from tests.fakes.openai_script import Gate, Reply
from tests.guide.harness import conversations


class ChatService:
    """Answers a message with the items of a run, a line each."""

    def __init__(self, model, folder: Path) -> None:
        self._model = model
        self._folder = folder
        self._busy: set[str] = set()
        self.app = web.Application()
        self.app.router.add_post("/threads/{name}", self._answer)
        self.app.router.add_get("/threads/{name}", self._history)

    async def _load(self, name: str) -> RoundRobinGroupChat:
        helper = AssistantAgent("helper", self._model, model_client_stream=True)
        team = RoundRobinGroupChat([helper], max_turns=1)
        if (file := self._file(name)).exists():
            await team.load_state(json.loads(file.read_text()))
        return team

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.json"

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        if name in self._busy:
            raise web.HTTPConflict(text="The team is answering.")
        task = TextMessage.load({**await request.json(), "source": "user"})
        response = web.StreamResponse()
        await response.prepare(request)
        self._busy.add(name)
        try:
            team = await self._load(name)
            async for item in team.run_stream(task=task):
                if not isinstance(item, TaskResult):
                    await response.write(f"{json.dumps(item.dump())}\n".encode())
            self._file(name).write_text(json.dumps(await team.save_state()))
        finally:
            self._busy.discard(name)
        return response

    async def _history(self, request: web.Request) -> web.Response:
        state = await (await self._load(request.match_info["name"])).save_state()
        thread = state["agent_states"]["RoundRobinGroupChatManager"]["message_thread"]
        return web.json_response([[item["source"], item["content"]] for item in thread])


async def lines(response) -> AsyncIterator[dict]:
    async for line in response.content:
        yield json.loads(line)


async def test_each_address_is_a_conversation_that_outlives_the_service(
    openai_server, model, tmp_path
):
    gate = Gate()
    openai_server.script(
        Reply(text="Hello Ann.", chunks=2, gate=gate), Reply(text="Hello Ben."), Reply(text="Ann.")
    )
    async with TestClient(TestServer(ChatService(model, tmp_path).app)) as client:
        gate.open(1)
        ann = await client.post("/threads/ann", json={"content": "I am Ann."})
        items = lines(ann)
        first = [await anext(items), await anext(items)]
        assert [item["type"] for item in first] == ["TextMessage", "ModelClientStreamingChunkEvent"]
        assert (await client.post("/threads/ann", json={"content": "Hey!"})).status == 409
        ben = await client.post("/threads/ben", json={"content": "I am Ben."})
        assert [item["source"] async for item in lines(ben)][-1] == "helper"
        gate.open(9)
        assert [item["content"] async for item in items][-1] == "Hello Ann."

    async with TestClient(TestServer(ChatService(model, tmp_path).app)) as client:
        response = await client.post("/threads/ann", json={"content": "Who am I?"})
        assert [item["content"] async for item in lines(response)][-1] == "Ann."
        history = await (await client.get("/threads/ann")).json()
    assert history == [
        ["user", "I am Ann."], ["helper", "Hello Ann."], ["user", "Who am I?"], ["helper", "Ann."]
    ]  # fmt: skip
    assert conversations(openai_server)[-1][1:] == [
        "user[user]: I am Ann.",
        "assistant: Hello Ann.",
        "user[user]: Who am I?",
    ]
