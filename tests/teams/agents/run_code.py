"""Agents that run code, with scripted models and executors."""

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from teams.agents import ApprovalRequest, ApprovalResponse, CodeExecutorAgent
from teams.base import InputRequired, Response
from teams.code_executor import CodeResult
from teams.code_executors.jupyter import JupyterCodeResult
from teams.core import CancellationToken
from teams.messages import TextMessage

FAILED = CodeResult(exit_code=2, output="no such file\n")


def python(code: str) -> str:
    return f"Like this:\n```python\n{code}\n```\n"


def decision(*, retry: bool) -> str:
    return json.dumps({"reason": "a typo" if retry else "hopeless", "retry": retry})


def approved(request: ApprovalRequest) -> ApprovalResponse:
    return ApprovalResponse(approved=True, reason="")


def seen(items: Sequence[Any]) -> list[tuple[str, str]]:
    return [(type(item).__name__, item.to_text()) for item in items]


async def told(agent: CodeExecutorAgent, *messages: Any) -> Response:
    given = [
        TextMessage(content=each, source="user") if isinstance(each, str) else each
        for each in messages
    ]
    return await agent.on_messages(given, CancellationToken())


class Desk:
    """Approves what it was told to, and holds back the rest."""

    def __init__(self, **answers: bool) -> None:
        self.answers = answers
        self.asked: list[str] = []

    async def approve(self, request: ApprovalRequest) -> ApprovalResponse:
        code = request.code.strip()
        self.asked.append(code)
        if code not in self.answers:
            raise InputRequired(f"Run {code}?", kind="approval")
        return ApprovalResponse(approved=self.answers[code], reason="")


PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
)


def drawn(folder: Path, *more: str) -> JupyterCodeResult:
    (folder / "plot.png").write_bytes(PNG)
    (folder / "large.png").write_bytes(PNG + bytes(2_000_000))
    names = ("plot.png", "large.png", "gone.png", *more)
    return JupyterCodeResult(0, "saved as plot.png\n", [folder / name for name in names])
