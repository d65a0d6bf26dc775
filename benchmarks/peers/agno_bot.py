"""An agent of agno on Slack: `agno_bot.py PORT`.

It is one of the documentation, and runs in agno's environment. Slack's simulator has one address
for events and clicks; agno has two.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import uvicorn
from agno.agent import Agent
from agno.db.sqlite import SqliteDb
from agno.models.openai import OpenAIChat
from agno.os import AgentOS
from agno.os.interfaces.slack import Slack
from agno.tools import tool


@tool(requires_confirmation=True)
def remove(name: str) -> str:
    """Remove a file.

    Args:
        name: Its name
    """
    Path(name).unlink()
    return "removed"


def main() -> None:
    """Serve until the process is ended."""
    agent = Agent(
        name="helper",
        model=OpenAIChat(id="gpt-4o"),
        tools=[remove],
        db=SqliteDb(db_file="agno.db"),
        instructions="You help.",
        telemetry=False,
    )
    served: Any = AgentOS(agents=[agent], interfaces=[Slack(agent=agent)], telemetry=False)
    app = served.get_app()

    async def routed(scope: Any, receive: Any, send: Any) -> None:
        if scope.get("path") == "/slack":
            form = b"form" in dict(scope["headers"]).get(b"content-type", b"")
            scope = scope | {"path": "/slack/interactions" if form else "/slack/events"}
        await app(scope, receive, send)

    uvicorn.run(routed, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")


if __name__ == "__main__":
    main()
