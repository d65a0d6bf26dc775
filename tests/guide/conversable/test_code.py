"""One agent writes code, the other runs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from teams.conversable import AssistantAgent, UserProxyAgent
from tests.fakes.openai_script import Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.teams.conversable.pairs import contents

BROKEN = "First:\n\n```python\nprint(1 / 0)\n```\n"
WHOLE = "Corrected:\n\n```python\n# filename: squares.py\nprint([n * n for n in range(4)])\n```\n"


def test_code_is_written_run_and_corrected(
    server: FakeOpenAI, llm_config: dict[str, Any], tmp_path: Path
):
    server.script(Reply(text=BROKEN), Reply(text=WHOLE), Reply(text="Done. TERMINATE"))
    writer = AssistantAgent("writer", llm_config=llm_config)
    runner = UserProxyAgent(
        "runner",
        human_input_mode="NEVER",
        is_termination_msg=lambda message: "TERMINATE" in (message["content"] or ""),
        code_execution_config={"work_dir": str(tmp_path), "use_docker": False, "timeout": 20},
    )
    result = runner.initiate_chat(writer, message="Squares up to nine.", silent=True)
    said = contents(result.chat_history)
    assert said[2].startswith("exitcode: 1 (execution failed)\nCode output: ")
    assert "ZeroDivisionError" in said[2]
    assert said[4] == "exitcode: 0 (execution succeeded)\nCode output: \n[0, 1, 4, 9]\n"
    assert said[5] == "Done. TERMINATE"
    assert result.summary == "Done. "
    assert (tmp_path / "squares.py").exists()
    assert server.requests[-1].last_user == said[4]
