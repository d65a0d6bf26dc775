"""OpenAI's Responses API, files and vector stores on the scripted server.

Shapes and refusals as in https://platform.openai.com/docs/api-reference/responses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from tests.fakes.openai_checks import FUNCTION_NAME, IMAGE_URL, Refused, check_strict, require
from tests.fakes.openai_script import Reply, Request

PARAMETERS = {"model", "input", "instructions", "tools", "tool_choice", "temperature", "top_p"} | {
    *("max_output_tokens", "store", "truncation", "text", "metadata", "stream"),
    *("previous_response_id", "parallel_tool_calls", "include", "reasoning"),
}
NEEDED: Mapping[str, tuple[str, ...]] = {
    "function": ("name",),
    "web_search": (),
    "web_search_preview": (),
    "image_generation": (),
    "local_shell": (),
    "file_search": ("vector_store_ids",),
    "code_interpreter": ("container",),
    "computer_use_preview": ("display_width", "display_height", "environment"),
    "mcp": ("server_label", "server_url"),
}


class ResponsesApi:
    """Answers, files and stores at the provider."""

    def __init__(self) -> None:
        self.kept: dict[str, set[str]] = {}
        """The open calls of each answer."""
        self.files: dict[str, str] = {}
        self.stores: dict[str, list[str]] = {}
        self.made = 0

    def add_routes(self, app: web.Application) -> None:
        app.router.add_post("/v1/files", self._upload)
        app.router.add_delete("/v1/files/{id}", self._delete_file)
        app.router.add_post("/v1/vector_stores", self._make_store)
        app.router.add_delete("/v1/vector_stores/{id}", self._delete_store)
        app.router.add_post("/v1/vector_stores/{id}/file_batches", self._index)
        app.router.add_get("/v1/vector_stores/{id}/file_batches/{batch}", self._batch)

    def forget(self) -> None:
        """Forget every answer, as after thirty days."""
        self.kept.clear()

    def check(self, body: Mapping[str, Any]) -> None:
        """Raise Refused for what the API refuses."""
        if "response_format" in body:
            raise Refused("Unsupported parameter: 'response_format'. It has moved to 'text.format'")
        if unknown := sorted(body.keys() - PARAMETERS):
            raise Refused(f"Unknown parameter: '{unknown[0]}'.")
        require(body.get("input"), "Missing required parameter: 'input'.")
        previous = body.get("previous_response_id")
        if previous is not None and previous not in self.kept:
            said = f"Previous response with id '{previous}' not found."
            raise Refused(said, code="previous_response_not_found")
        open_calls = set(self.kept.get(previous or "", ()))
        for item in _items(body):
            _check_item(item, open_calls)
        missing = ", ".join(sorted(open_calls))
        require(not open_calls, f"No tool output found for function call {missing}.")
        self._check_tools(body)
        wanted = body.get("text", {}).get("format", {"type": "text"})
        require(wanted["type"] in ("text", "json_object", "json_schema"), "Invalid 'text.format'.")
        told = str(body["input"]).lower()
        require(
            wanted["type"] != "json_object" or "json" in told,
            "Response input messages must contain the word 'json' in some form.",
        )

    def _check_tools(self, body: Mapping[str, Any]) -> None:
        require(body.get("tools", True), "Invalid 'tools': empty array.")
        for tool in body.get("tools", ()):
            kind = tool.get("type")
            require(kind in NEEDED, f"Invalid value: '{kind}'.")
            for name in NEEDED[kind]:
                require(tool.get(name), f"Missing required parameter: 'tools[0].{name}'.")
            if kind == "function":
                require(FUNCTION_NAME.fullmatch(tool["name"]), "Invalid 'tools[0].name'.")
                if tool.get("strict", True):
                    check_strict(f"function {tool['name']!r}", tool["parameters"])
            for store in tool.get("vector_store_ids", ()):
                require(store in self.stores, f"Vector store with id {store} not found.")

    def response(self, sent: Request, reply: Reply) -> dict[str, Any]:
        """The whole answer; it is kept unless the request says no."""
        self.made += 1
        answer_id = f"resp_{self.made}"
        calls = [
            {
                "type": "function_call",
                "id": f"fc_{self.made}_{at}",
                "call_id": call.id or f"call_{self.made}_{at}",
                "name": call.name,
                "arguments": call.text,
                "status": "completed",
            }
            for at, call in enumerate(reply.calls)
        ]
        if sent.body.get("store", True):
            self.kept[answer_id] = {call["call_id"] for call in calls}
        output: list[dict[str, Any]] = [dict(item) for item in reply.items]
        if reply.reasoning:
            summary = [{"type": "summary_text", "text": reply.reasoning}]
            output.append({"type": "reasoning", "id": "rs_1", "summary": summary})
        if reply.text or reply.refusal:
            output.append(_message(reply))
        cut = reply.finish_reason
        used_in, used_out = reply.usage or (0, 0)
        return {
            "id": answer_id,
            "object": "response",
            "created_at": 0,
            "model": sent.body["model"],
            "status": "incomplete" if cut else "completed",
            "error": None,
            "incomplete_details": {"reason": cut} if cut else None,
            "output": [*output, *calls],
            "usage": {
                "input_tokens": used_in,
                "output_tokens": used_out,
                "total_tokens": used_in + used_out,
            },
        }

    def events(self, sent: Request, reply: Reply, pieces: list[str]) -> list[dict[str, Any]]:
        """The events of a streamed answer."""
        whole = self.response(sent, reply)
        begun = {**whole, "status": "in_progress", "output": [], "usage": None}
        return [
            {"type": "response.created", "response": begun},
            *({"type": "response.output_text.delta", "delta": piece} for piece in pieces),
            {"type": f"response.{whole['status']}", "response": whole},
        ]

    async def _upload(self, request: web.Request) -> web.Response:
        form = await request.post()
        assert form["purpose"] == "assistants"
        self.made += 1
        file = form["file"]
        name = self.files[f"file-{self.made}"] = getattr(file, "filename", "")
        fields = {"id": f"file-{self.made}", "object": "file", "filename": name, "bytes": 1}
        return web.json_response({**fields, "created_at": 0, "purpose": "assistants"})

    async def _delete_file(self, request: web.Request) -> web.Response:
        file = request.match_info["id"]
        if self.files.pop(file, None) is None:
            return _missing("file", file)
        return web.json_response({"id": file, "object": "file", "deleted": True})

    async def _make_store(self, _: web.Request) -> web.Response:
        self.made += 1
        self.stores[store := f"vs_{self.made}"] = []
        return web.json_response({"id": store, "object": "vector_store", "created_at": 0})

    async def _delete_store(self, request: web.Request) -> web.Response:
        store = request.match_info["id"]
        if self.stores.pop(store, None) is None:
            return _missing("vector store", store)
        return web.json_response({"id": store, "object": "vector_store.deleted", "deleted": True})

    async def _index(self, request: web.Request) -> web.Response:
        store = request.match_info["id"]
        files = (await request.json())["file_ids"]
        if store not in self.stores or any(file not in self.files for file in files):
            return _missing("file", str(files))
        self.stores[store] += files
        return web.json_response(_batch(store, "in_progress", 0))

    async def _batch(self, request: web.Request) -> web.Response:
        store = request.match_info["id"]
        broken = sum(self.files[file].endswith(".broken") for file in self.stores[store])
        return web.json_response(_batch(store, "completed", broken))


def _batch(store: str, status: str, failed: int) -> dict[str, Any]:
    counts = {"in_progress": 0, "completed": 1, "failed": failed, "cancelled": 0, "total": 1}
    fields = {"id": "vsfb_1", "object": "vector_store.file_batch", "created_at": 0}
    return {**fields, "vector_store_id": store, "status": status, "file_counts": counts}


def _missing(what: str, name: str) -> web.Response:
    error = {"message": f"No such {what}: {name}", "type": "invalid_request_error", "code": None}
    return web.json_response({"error": error}, status=404)


def _items(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    given = body["input"]
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


def _check_item(item: Mapping[str, Any], open_calls: set[str]) -> None:
    match item:
        case {"type": "function_call", "call_id": str(call), "name": str(), "arguments": str()}:
            open_calls.add(call)
        case {"type": "function_call_output", "call_id": str(call), "output": str()}:
            said = f"No tool call found for function call output with call_id {call}."
            require(call in open_calls, said)
            open_calls.discard(call)
        case {"role": "user" | "assistant" | "system" | "developer", "content": str()}:
            pass
        case {"role": "user", "content": list(parts)}:
            for part in parts:
                kind = part.get("type")
                require(kind in ("input_text", "input_image"), f"Invalid value: '{kind}'.")
                if kind == "input_image":
                    require(IMAGE_URL.match(part["image_url"]), "Invalid image URL.")
        case _:
            raise Refused(f"Invalid input item: {item}")


def _message(reply: Reply) -> dict[str, Any]:
    part: dict[str, Any] = {"type": "refusal", "refusal": reply.refusal}
    if reply.text:
        notes = [dict(each) for each in reply.annotations]
        part = {"type": "output_text", "text": reply.text, "annotations": notes}
    fields = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    return {**fields, "content": [part]}
