"""A plain slack-bolt script that streams answers and keeps nothing.

`python -m benchmarks.platforms.bolt_script CONFIG`, a JSON file with the addresses and tokens.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import httpx
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient


async def main(config: dict[str, str]) -> None:
    """Serve until the process is ended."""
    web = AsyncWebClient(config["bot_token"], base_url=config["api_url"])
    app = AsyncApp(client=web)
    key = {"Authorization": "Bearer sk-none"}
    model = httpx.AsyncClient(base_url=config["model_url"], headers=key)

    @app.event("app_mention")
    async def answer(event: dict[str, Any]) -> None:
        asked = [{"role": "user", "content": event["text"]}]
        body = {"model": "gpt-4o", "messages": asked, "stream": True}
        said = await web.chat_stream(
            channel=event["channel"],
            thread_ts=event.get("thread_ts") or event["ts"],
            recipient_team_id=event["team"],
            recipient_user_id=event["user"],
        )
        async with model.stream("POST", "chat/completions", json=body) as response:
            async for line in response.aiter_lines():
                if line.startswith("data: {"):
                    for choice in json.loads(line[6:])["choices"]:
                        if text := choice["delta"].get("content"):
                            await said.append(markdown_text=text)
        await said.stop()

    await AsyncSocketModeHandler(app, config["app_token"], web_client=web).start_async()


if __name__ == "__main__":
    asyncio.run(main(json.loads(Path(sys.argv[1]).read_text())))
