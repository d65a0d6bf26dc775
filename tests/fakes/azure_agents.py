"""Azure AI's agent service: agents, threads, runs, messages, files and stores.

Paths, shapes and refusals as in the REST reference of `azure-ai-agents` 1.1
(https://learn.microsoft.com/rest/api/aifoundry/aiagents/).
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections import deque
from collections.abc import Mapping
from typing import Any, Self

from aiohttp import web

OVER = ("completed", "failed", "cancelled", "expired", "incomplete")


class FakeAzureAgents:
    """Answers each run, and each batch of outputs, with the next outcome.

    An outcome is fields of a run, with `text`, `notes`, `image` or `calls`; {"hold": True} never
    ends by itself.
    """

    def __init__(self, *outcomes: Mapping[str, Any]) -> None:
        self.outcomes = deque(outcomes)
        self.agents: dict[str, dict[str, Any]] = {}
        self.threads: dict[str, list[dict[str, Any]]] = {}
        """The runs of each thread, newest last."""
        self.runs: list[dict[str, Any]] = []
        """The bodies of all requests for runs."""
        self.outputs: list[list[dict[str, Any]]] = []
        self.messages: list[dict[str, Any]] = []
        self.files: dict[str, str] = {}
        self.stores: dict[str, list[str]] = {}
        self.begun = asyncio.Event()
        self.made = 0
        self.tokens: list[str] = []
        """Tokens that the machine's identity was given."""
        self.allowed: list[str] = []
        """The authorization of each request for a run."""
        self.tls: ssl.SSLContext | None = None
        self.url = ""

    async def __aenter__(self) -> Self:
        app = web.Application()
        add = app.router.add_route
        add("GET", "/identity", self._identify)
        add("POST", "/assistants", self._make_agent)
        add("DELETE", "/assistants/{id}", self._delete_agent)
        add("POST", "/threads", self._make_thread)
        add("GET", "/threads/{thread}/messages", self._list_messages)
        add("POST", "/threads/{thread}/runs", self._run)
        add("GET", "/threads/{thread}/runs", self._list_runs)
        add("GET", "/threads/{thread}/runs/{run}", self._get_run)
        add("POST", "/threads/{thread}/runs/{run}/cancel", self._cancel)
        add("POST", "/threads/{thread}/runs/{run}/submit_tool_outputs", self._submit)
        add("GET", "/threads/{thread}/runs/{run}/steps", self._list_steps)
        add("POST", "/files", self._upload)
        add("DELETE", "/files/{id}", self._delete_file)
        add("GET", "/files/{id}/content", self._content)
        add("POST", "/vector_stores", self._make_store)
        add("DELETE", "/vector_stores/{id}", self._delete_store)
        add("POST", "/vector_stores/{id}/file_batches", self._index)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self.tls).start()
        host = "https://localhost" if self.tls else "http://127.0.0.1"
        self.url = f"{host}:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    @property
    def connections(self) -> int:
        """Connections that are open."""
        return len(self._runner.server.connections) if self._runner.server else 0

    async def _identify(self, _: web.Request) -> web.Response:
        """The token of a managed identity, as App Service gives it."""
        self.tokens.append(f"token-{len(self.tokens) + 1}")
        expires = str(int(time.time()) + 3600)
        token = {"access_token": self.tokens[-1], "expires_on": expires, "token_type": "Bearer"}
        return web.json_response({**token, "resource": "https://ai.azure.com"})

    def _id(self, kind: str) -> str:
        self.made += 1
        return f"{kind}_{self.made}"

    async def _make_agent(self, request: web.Request) -> web.Response:
        agent = {**await request.json(), "id": self._id("asst")}
        self.agents[agent["id"]] = agent
        return web.json_response(agent)

    async def _delete_agent(self, request: web.Request) -> web.Response:
        agent = self.agents.pop(request.match_info["id"])
        return web.json_response(
            {"id": agent["id"], "object": "assistant.deleted", "deleted": True}
        )

    async def _make_thread(self, _: web.Request) -> web.Response:
        self.threads[thread := self._id("thread")] = []
        return web.json_response({"id": thread, "object": "thread"})

    async def _run(self, request: web.Request) -> web.Response:
        body, thread = await request.json(), request.match_info["thread"]
        if thread not in self.threads or body["assistant_id"] not in self.agents:
            return _error(404, "No thread or assistant found.")
        if any(run["status"] not in OVER for run in self.threads[thread]):
            return _error(400, f"Thread {thread} already has an active run.")
        self.runs.append(body)
        self.allowed.append(request.headers.get("Authorization", ""))
        mark = body.get("metadata", {})
        run: dict[str, Any] = {"id": self._id("run"), "object": "thread.run", "metadata": mark}
        run |= {"thread_id": thread, "status": "queued", "usage": None}
        self.threads[thread].append(run)
        return web.json_response(run)

    async def _list_runs(self, request: web.Request) -> web.Response:
        runs = self.threads[request.match_info["thread"]][::-1][: int(request.query["limit"])]
        return web.json_response({"object": "list", "data": runs, "has_more": False})

    def _found(self, request: web.Request) -> dict[str, Any]:
        runs = self.threads[request.match_info["thread"]]
        return next(run for run in runs if run["id"] == request.match_info["run"])

    async def _get_run(self, request: web.Request) -> web.Response:
        run = self._found(request)
        if run["status"] == "cancelling":
            run["status"] = "cancelled"
        elif run["status"] in ("queued", "in_progress"):
            self.begun.set()
            self._go_on(run)
        return web.json_response(run)

    def _go_on(self, run: dict[str, Any]) -> None:
        if self.outcomes and self.outcomes[0].get("hold"):
            run["status"] = "in_progress"
            return
        outcome = dict(self.outcomes.popleft())
        usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
        calls = outcome.pop("calls", ())
        run["used"] = outcome.pop("used", [])
        parts: list[dict[str, Any]] = []
        if text := outcome.pop("text", ""):
            value = {"value": text, "annotations": outcome.pop("notes", [])}
            parts.append({"type": "text", "text": value})
        if image := outcome.pop("image", ""):
            parts.append({"type": "image_file", "image_file": {"file_id": image}})
        run |= {"status": "completed", "usage": usage, "required_action": None, **outcome}
        if parts:
            said = {"id": self._id("msg"), "object": "thread.message", "role": "assistant"}
            self.messages.append({**said, "run_id": run["id"], "content": parts})
        if calls:
            wanted = [
                {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
                for id, name, arguments in calls
            ]
            action = {"type": "submit_tool_outputs", "submit_tool_outputs": {"tool_calls": wanted}}
            run |= {"status": "requires_action", "required_action": action, "usage": None}

    async def _cancel(self, request: web.Request) -> web.Response:
        run = self._found(request)
        if run["status"] in OVER:
            return _error(400, f"Cannot cancel run with status '{run['status']}'.")
        run["status"] = "cancelling"
        return web.json_response(run)

    async def _submit(self, request: web.Request) -> web.Response:
        run, outputs = self._found(request), (await request.json())["tool_outputs"]
        if run["status"] != "requires_action":
            return _error(400, f"Runs in status '{run['status']}' do not accept tool outputs.")
        wanted = run["required_action"]["submit_tool_outputs"]["tool_calls"]
        if {call["id"] for call in wanted} != {each["tool_call_id"] for each in outputs}:
            return _error(400, "Expected tool outputs for all call ids.")
        self.outputs.append(outputs)
        run["status"] = "queued"
        return web.json_response(run)

    async def _list_messages(self, request: web.Request) -> web.Response:
        found = [each for each in self.messages if each["run_id"] == request.query["run_id"]]
        return web.json_response({"object": "list", "data": found, "has_more": False})

    async def _list_steps(self, request: web.Request) -> web.Response:
        tools = [{"id": "t1", "type": kind, kind: {}} for kind in self._found(request)["used"]]
        details = {"type": "tool_calls", "tool_calls": tools}
        step = {"id": "step_1", "object": "thread.run.step", "step_details": details}
        return web.json_response({"object": "list", "data": [step], "has_more": False})

    async def _upload(self, request: web.Request) -> web.Response:
        form = await request.post()
        assert form["purpose"] == "assistants"
        self.files[file := self._id("file")] = getattr(form["file"], "filename", "")
        return web.json_response({"id": file, "object": "file", "purpose": "assistants"})

    async def _delete_file(self, request: web.Request) -> web.Response:
        del self.files[file := request.match_info["id"]]
        return web.json_response({"id": file, "object": "file", "deleted": True})

    async def _content(self, request: web.Request) -> web.Response:
        return web.Response(body=bytes.fromhex(self.files[request.match_info["id"]]))

    async def _make_store(self, _: web.Request) -> web.Response:
        self.stores[store := self._id("vs")] = []
        return web.json_response({"id": store, "object": "vector_store"})

    async def _delete_store(self, request: web.Request) -> web.Response:
        del self.stores[store := request.match_info["id"]]
        return web.json_response({"id": store, "object": "vector_store.deleted", "deleted": True})

    async def _index(self, request: web.Request) -> web.Response:
        store = request.match_info["id"]
        self.stores[store] += (await request.json())["file_ids"]
        counts = {"in_progress": 0, "completed": 1, "failed": 0, "cancelled": 0, "total": 1}
        fields = {"id": self._id("batch"), "object": "vector_store.files_batch"}
        batch = {**fields, "vector_store_id": store, "status": "completed", "file_counts": counts}
        return web.json_response(batch)


def _error(status: int, message: str) -> web.Response:
    return web.json_response({"error": {"code": None, "message": message}}, status=status)
