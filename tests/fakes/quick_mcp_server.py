"""The server of `mcp_server.py`, started in milliseconds.

It does without the library, which takes a second to import:
`python -m tests.fakes.quick_mcp_server`; `tests/teams/tools/mcp/test_workbench.py` compares the
two. TOOLS names a file of tools in the place of these. With `--more` it also asks its client back,
and shows contents of every kind.
"""

from __future__ import annotations

import json
import os
import sys
from collections import deque
from itertools import count
from pathlib import Path
from typing import Any

NUMBERS = {"a": {"title": "A", "type": "integer"}, "b": {"title": "B", "type": "integer"}}
TOOLS: dict[str, tuple[str, dict[str, Any]]] = {
    "add": ("Add two numbers.", {"properties": NUMBERS, "required": ["a", "b"]}),
    "fail": ("Fail.", {"properties": {}}),
    "wait": ("Wait for ever.", {"properties": {}}),
    "end": ("End the server.", {"properties": {}}),
}
POINT = {"type": "object", "properties": {"x": {"type": "integer"}}}
MORE: dict[str, tuple[str, dict[str, Any]]] = {
    "order": ("Order a shirt.", {"properties": {}}),
    "think": ("Ask a model.", {"properties": {"text": {"type": "string"}}}),
    "where": ("List the folders.", {"properties": {}}),
    "flood": ("Ask the client many times.", {"properties": {"tool": {"type": "string"}}}),
    "abilities": ("List what the client can do.", {"properties": {}}),
    "show": ("Show contents of every kind.", {"properties": {}}),
    "count": ("Count.", {"properties": {}}),
    "plot": (
        "Plot a point.",
        {"properties": {"at": {"$ref": "#/$defs/Point"}}, "$defs": {"Point": POINT}},
    ),
}
SHIRT = {
    "type": "object",
    "properties": {
        "size": {"type": "string", "enum": ["S", "M"], "description": "The size."},
        "number": {"type": "integer", "title": "How many"},
    },
    "required": ["size", "number"],
}
DOT = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
    "rkJggg=="
)
SHOWN = [
    {"type": "text", "text": "some text"},
    {"type": "image", "data": DOT, "mimeType": "image/png"},
    {"type": "image", "data": "AAAA", "mimeType": "image/png"},
    {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
    {"type": "resource", "resource": {"uri": "note://1", "text": "a note"}},
    {
        "type": "resource",
        "resource": {"uri": "file:///a.zip", "mimeType": "application/zip", "blob": "AAAA"},
    },
    {
        "type": "resource",
        "resource": {"uri": "file:///a.png", "mimeType": "image/png", "blob": DOT},
    },
    {"type": "resource_link", "uri": "note://2", "name": "two", "description": "The second."},
]
CLIENT: dict[str, Any] = {}
"""Abilities of the client, as it told them."""
WAITING: deque[dict[str, Any]] = deque()
"""Messages that came while the client was asked."""
NUMBER = count(1)


class Refused(Exception):
    """The client's error."""


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request; None if there is never one."""
    more = "--more" in sys.argv
    match method:
        case "initialize":
            CLIENT.update(params["capabilities"])
            further: dict[str, Any] = {"prompts": {}, "resources": {}} if more else {}
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {"listChanged": False}, **further},
                "serverInfo": {"name": "notes", "version": ""},
            }
        case "tools/list":
            return {"tools": [described(name) for name in offered()]}
        case "tools/call":
            return called(params["name"], params.get("arguments") or {})
        case _ if more:
            return read(method, params)
        case _:
            raise LookupError(method)


def read(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Prompts and resources, a page at a time."""
    match method, params:
        case "prompts/list", _:
            arguments = [{"name": "name", "required": True}]
            return {"prompts": [{"name": "greet", "arguments": arguments}]}
        case "prompts/get", {"name": "greet", "arguments": {"name": name}}:
            content = {"type": "text", "text": f"Greet {name}."}
            return {"messages": [{"role": "user", "content": content}]}
        case "resources/list", {"cursor": "2"}:
            return {"resources": [{"uri": "note://2", "name": "two"}]}
        case "resources/list", _:
            return {"resources": [{"uri": "note://1", "name": "one"}], "nextCursor": "2"}
        case "resources/templates/list", _:
            return {"resourceTemplates": [{"uriTemplate": "note://{n}", "name": "note"}]}
        case "resources/read", {"uri": str(uri)}:
            contents = [{"uri": uri, "text": f"the note {uri}"}]
            return {"contents": [*contents, {"uri": uri, "blob": "AAAA"}]}
        case _:
            raise LookupError(method)


def offered() -> dict[str, tuple[str, dict[str, Any]]]:
    if (file := Path(os.environ.get("TOOLS", ""))).is_file():  # a server that changes its tools
        return {name: tuple(each) for name, each in json.loads(file.read_text()).items()}
    return TOOLS | MORE if "--more" in sys.argv else TOOLS


def described(name: str) -> dict[str, Any]:
    description, schema = offered()[name]
    return {
        "name": name,
        "description": description,
        "inputSchema": {**schema, "type": "object", "title": f"{name}Arguments"},
    }


def called(name: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
    match name, arguments:
        case "add", {"a": int(a), "b": int(b)}:
            note(f"add {a} {b}")
            return text(str(a + b))
        case "add", _:
            return text("Error executing tool add: invalid arguments", is_error=True)
        case "fail", _:
            return text("Error executing tool fail: it does not work", is_error=True)
        case "wait", _:
            note("waiting")
            return None
        case "end", _:
            os._exit(1)
        case _:
            return tried(name, arguments)


def tried(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if name not in offered():
        return text(f"Unknown tool: {name}", is_error=True)
    note(name)
    try:
        return further(name, arguments)
    except Refused as refused:
        return text(f"refused: {refused}", is_error=True)


def further(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    match name:
        case "order":
            asked = {"message": "Which shirt?", "requestedSchema": SHIRT}
            found = ask("elicitation/create", asked)
            note(f"ordered {json.dumps(found.get('content'))}")
            return text(
                json.dumps({key: found[key] for key in ("action", "content") if key in found})
            )
        case "think":
            said = {"type": "text", "text": arguments.get("text", "")}
            asked = {
                "messages": [{"role": "user", "content": said}],
                "systemPrompt": "Be brief.",
                "maxTokens": 50,
                "temperature": 0.5,
                "stopSequences": ["END"],
            }
            found = ask("sampling/createMessage", asked)
            return text(f"{found['content']['text']} ({found.get('stopReason')})")
        case "flood":
            return text(flood(str(arguments["tool"]), 202))
        case "where":
            return text(", ".join(root["uri"] for root in ask("roots/list", {})["roots"]))
        case _:
            return shown(name, arguments)


def flood(tool: str, times: int) -> str:
    """Count the requests that are answered; why the last is not."""
    answered, why = 0, ""
    for _ in range(times):
        try:
            further(tool, {})
            answered += 1
        except Refused as refused:
            why = str(refused)
    return f"{answered}: {why}"


def shown(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    match name:
        case "abilities":
            return text(", ".join(sorted(CLIENT)))
        case "show":
            return {"content": SHOWN}
        case "count":
            return {"content": [], "structuredContent": {"count": 3}}
        case _:
            return text(json.dumps(arguments))


def ask(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The client's answer; other messages wait meanwhile."""
    number = f"server-{next(NUMBER)}"
    send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") != number:
            WAITING.append(message)
        elif "error" in message:
            raise Refused(message["error"]["message"])
        else:
            return message["result"]
    raise SystemExit


def text(content: str, *, is_error: bool = False) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": content}], "isError": is_error}


def note(line: str) -> None:
    """Leave a line behind."""
    with Path(os.environ["NOTES"]).open("a") as notes:
        notes.write(f"{line}\n")


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(f"{json.dumps(message)}\n")
    sys.stdout.flush()


def take(request: dict[str, Any]) -> None:
    """Answer a request, and note what is cancelled."""
    if "id" not in request:
        if request["method"] == "notifications/cancelled":
            note("cancelled")
        return
    reply: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
    try:
        result = answer(request["method"], request.get("params") or {})
    except LookupError:
        send({**reply, "error": {"code": -32601, "message": "Method not found"}})
    else:
        if result is not None:
            send({**reply, "result": result})


def main() -> None:
    for line in sys.stdin:
        take(json.loads(line))
        while WAITING:
            take(WAITING.popleft())


if __name__ == "__main__":
    if "--broken" in sys.argv:
        sys.exit("this server needs a licence")
    main()
