"""A FileSurfer on a folder, with a scripted model."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from teams.agents.file_surfer import FileSurfer
from teams.base import ChatAgent
from teams.core import FunctionCall
from teams.models import CreateResult, RequestUsage
from teams.models.replay import ReplayChatCompletionClient


def made_folder(tmp_path: Path) -> Path:
    """A folder with a long text, beside a secret."""
    base = tmp_path / "base"
    (base / "sub").mkdir(parents=True)
    (base / "sub" / "note.txt").write_text("A note.")
    (base / "long.txt").write_text("".join(f"line {at:05}\n" for at in range(2000)))
    (tmp_path / "secret.txt").write_text("secret words")
    return base


def calls(*wanted: tuple[str, str]) -> CreateResult:
    """Calls of tools, each with its only argument."""
    names = {"open_path": "path", "find_on_page_ctrl_f": "search_string"}
    made = [
        FunctionCall(
            id=f"c{at}",
            name=name,
            arguments=json.dumps({names[name]: value} if name in names else {}),
        )
        for at, (name, value) in enumerate(wanted)
    ]
    usage = RequestUsage(prompt_tokens=20, completion_tokens=3)
    return CreateResult(finish_reason="function_calls", content=made, usage=usage, cached=False)


def surfer(folder: Path | None, *answers: CreateResult | str) -> FileSurfer:
    info: Any = {
        "vision": False,
        "function_calling": True,
        "json_output": False,
        "structured_output": False,
        "family": "unknown",
    }
    return FileSurfer("files", ReplayChatCompletionClient(answers, info), base_path=folder)


async def reply(agent: ChatAgent) -> str:
    [*_, last] = (await agent.run(task="Look.")).messages
    assert type(last).__name__ == "TextMessage"
    return last.to_text()


async def look(folder: Path, *wanted: tuple[str, str]) -> str:
    """The reply to calls, each in a turn of its own."""
    agent = surfer(folder, *map(calls, wanted))
    return [await reply(agent) for _ in wanted][-1]


def number(page: str) -> str:
    found = re.search(r"Showing page (\d+ of \d+)\.", page)
    assert found, page
    return found[1]
