"""The model's server: it plays scripts, and looks at its requests."""

from __future__ import annotations

import asyncio
import json
import re
import unicodedata
from contextlib import suppress
from typing import Any, Self

from aiohttp import web

from gateway.base.unseen import UNSEEN
from tests.security.redteam.moved import Moved
from tests.security.redteam.scripts import Calls, Claim, Say, Scripts, Step, Use
from tests.security.redteam.words import (
    FIRST_WORD,
    FORGED_NAME,
    HOSTILE,
    LAST_WORD,
    SECRET_FORMS,
    STRANGER,
    VICTIM,
)

SCRIPT = re.compile(r"!([a-z-]+)!")
FORGED = re.compile(rf"^\W*[\[\uff3b].?{FORGED_NAME[1:]} *\W *\d+[\]\uff3d]", re.MULTILINE)
PAUSE = 0.02
"""Seconds between the words of an answer to the victim."""
ANSWER = (f"{FIRST_WORD} ", "is ", "followed ", "by ", LAST_WORD)
LARGEST = 64 * 1024 * 1024


class ModelServer:
    """Chat completions.

    The victim gets five words, a hostile text the script that it names.
    """

    def __init__(self, scripts: Scripts, moved: Moved) -> None:
        self._scripts = scripts
        self._moved = moved
        self._calls = 0
        self.played: set[str] = set()
        self.url = ""

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=LARGEST)
        app.router.add_post("/v1/chat/completions", self._complete)
        self._runner = web.AppRunner(app, shutdown_timeout=1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        messages: list[dict[str, Any]] = (await request.json())["messages"]
        self._look(messages)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        with suppress(ConnectionError):  # a turn was stopped
            await self._play(response, messages)
        return response

    async def _play(self, response: web.StreamResponse, messages: list[dict[str, Any]]) -> None:
        match self._next(messages):
            case None:
                await self._words(response, ANSWER, PAUSE)
            case Say(text, piece):
                pieces = [text[at : at + piece] for at in range(0, len(text), piece)]
                await self._words(response, pieces, 0)
            case Use() as use:
                self._calls += 1
                function = {"name": use.tool, "arguments": use.wire}
                call = {"index": 0, "id": f"call_{self._calls}", "type": "function"}
                await _delta(response, {"tool_calls": [{**call, "function": function}]})
                await _end(response, "tool_calls")

            case Calls(tool, count):
                calls = [
                    {"index": n, "id": f"many_{n}", "type": "function"}
                    | {"function": {"name": tool, "arguments": "{}"}}
                    for n in range(count)
                ]
                await _delta(response, {"tool_calls": calls})
                await _end(response, "tool_calls")
            case Claim(count):
                await _delta(response, {"content": f"{HOSTILE} counted"})
                names = ("prompt_tokens", "completion_tokens", "total_tokens")
                usage = ", ".join(f'"{name}": {count}' for name in names)
                await _event(response, [], f', "usage": {{{usage}}}')
                await _end(response, "stop")

    async def _words(self, response: web.StreamResponse, words: Any, pause: float) -> None:
        for word in words:
            await _delta(response, {"content": word})
            await asyncio.sleep(pause)
        await _end(response, "stop")

    def _next(self, messages: list[dict[str, Any]]) -> Step | None:
        """The step that is due; None for the victim."""
        asked = max((n for n, each in enumerate(messages) if each["role"] == "user"), default=0)
        text = _text(messages[asked])
        found = SCRIPT.search(text)
        if found is None or found[1] not in self._scripts:
            return None if HOSTILE not in text else Say("Well.")
        script = self._scripts[found[1]]
        self.played.add(found[1])
        done = sum(each["role"] == "assistant" for each in messages[asked + 1 :])
        return script[done] if done < len(script) else Say("Done.")

    def _look(self, messages: list[dict[str, Any]]) -> None:
        texts = [_text(each) for each in messages]
        whole = "\n".join(texts)
        seen = UNSEEN.sub("", whole)
        self._check("a hostile text in the victim's thread", VICTIM in whole and HOSTILE in whole)
        self._check("a stranger's text", STRANGER in whole)
        for form, secret in SECRET_FORMS.items():
            self._check(f"a secret in {form}", secret in seen)
        said = [_text(each) for each in messages if each["role"] == "user"]
        forged = any(FORGED.search(unicodedata.normalize("NFKC", each)) for each in said)
        self._check("a forged line that names the speaker", forged)

    def _check(self, finding: str, moved: bool) -> None:
        self._moved.check("model", finding, moved=moved)


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content)


async def _delta(response: web.StreamResponse, delta: dict[str, Any]) -> None:
    await _event(response, [{"index": 0, "delta": delta, "finish_reason": None}])


async def _end(response: web.StreamResponse, reason: str) -> None:
    await _event(response, [{"index": 0, "delta": {}, "finish_reason": reason}])
    await response.write(b"data: [DONE]\n\n")


async def _event(
    response: web.StreamResponse, choices: list[dict[str, Any]], more: str = ""
) -> None:
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o"}
    data = json.dumps({**chunk, "choices": choices})[:-1]
    await response.write(f"data: {data}{more}}}\n\n".encode())
