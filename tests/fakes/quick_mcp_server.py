"""The server of `mcp_server.py`, started in milliseconds.

It does without the library, which takes a second to import:
`python -m tests.fakes.quick_mcp_server`; `tests/teams/tools/test_mcp.py` compares the two.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

NUMBERS = {"a": {"title": "A", "type": "integer"}, "b": {"title": "B", "type": "integer"}}
TOOLS = {
    "add": ("Add two numbers.", {"properties": NUMBERS, "required": ["a", "b"]}),
    "fail": ("Fail.", {"properties": {}}),
    "wait": ("Wait for ever.", {"properties": {}}),
    "end": ("End the server.", {"properties": {}}),
}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request; None if there is never one."""
    match method:
        case "initialize":
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {"listChanged": False}},
                "serverInfo": {"name": "notes", "version": ""},
            }
        case "tools/list":
            return {"tools": [described(name) for name in TOOLS]}
        case "tools/call":
            return called(params["name"], params.get("arguments") or {})
        case _:
            raise LookupError(method)


def described(name: str) -> dict[str, Any]:
    description, schema = TOOLS[name]
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
            return text(f"Unknown tool: {name}", is_error=True)


def text(content: str, *, is_error: bool = False) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": content}], "isError": is_error}


def note(line: str) -> None:
    """Leave a line behind."""
    with Path(os.environ["NOTES"]).open("a") as notes:
        notes.write(f"{line}\n")


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:  # a notification
            continue
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
        try:
            result = answer(request["method"], request.get("params") or {})
        except LookupError:
            reply["error"] = {"code": -32601, "message": "Method not found"}
        else:
            if result is None:
                continue
            reply["result"] = result
        sys.stdout.write(f"{json.dumps(reply)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    if "--broken" in sys.argv:
        sys.exit("this server needs a licence")
    main()
