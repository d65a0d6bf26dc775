"""A bot of chat-sdk as in its documentation, for its environment."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Any

from chat_sdk import Chat, ChatConfig, MemoryStateAdapter
from chat_sdk.adapters.slack import create_slack_adapter
from chat_sdk.adapters.slack.types import SlackAdapterConfig
from openai import AsyncOpenAI


async def main() -> None:
    """Serve until the process is ended."""
    given = SlackAdapterConfig(
        mode="socket",
        app_token=os.environ["SLACK_APP_TOKEN"],
        bot_token=os.environ["SLACK_BOT_TOKEN"],
    )
    slack, model = create_slack_adapter(given), AsyncOpenAI()
    state = MemoryStateAdapter()
    chat = Chat(ChatConfig(adapters={"slack": slack}, state=state, user_name="parley"))

    @chat.on_mention
    async def answer(thread: Any, message: Any, *_: Any) -> None:
        await thread.post(said(message.text))

    async def said(question: str) -> AsyncIterator[str]:
        asked: Any = [{"role": "user", "content": question}]
        stream = await model.chat.completions.create(model="gpt-4o", messages=asked, stream=True)
        async for chunk in stream:
            if chunk.choices and (text := chunk.choices[0].delta.content):
                yield text

    await chat.initialize()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
