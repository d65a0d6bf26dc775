"""A notebook: cells in one namespace, and a stopped cell."""

import ast
import asyncio
import inspect
from typing import Any

from tests.fakes.openai_script import Gate, Reply
from tests.guide.harness import conversations

IMPORTS = """
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.conditions import TextMentionTermination
from teams.ui import Console
"""
TEAM = """
writer = AssistantAgent("writer", model, system_message="You write.")
critic = AssistantAgent("critic", model, system_message="You review.")
team = RoundRobinGroupChat(
    [writer, critic], termination_condition=TextMentionTermination("APPROVE")
)
"""
RUN = 'result = await Console(team.run_stream(task="A line about snow."))'
CONTINUE = "result = await Console(team.run_stream())"
LOOK = "[message.source for message in result.messages]"
RESET = "await team.reset()"


class Notebook:
    """Runs cells as a kernel does."""

    def __init__(self, **names: Any) -> None:
        self._names = names

    async def run(self, cell: str) -> Any:
        """Run a cell; the value of its last expression."""
        *statements, last = ast.parse(cell).body
        value = None
        if isinstance(last, ast.Expr):
            await self._execute(ast.Module(statements, []), "exec")
            value = await self._execute(ast.Expression(last.value), "eval")
        else:
            await self._execute(ast.Module([*statements, last], []), "exec")
        return value

    async def _execute(self, tree: ast.Module | ast.Expression, mode: str) -> Any:
        code = compile(tree, "<cell>", mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        value = eval(code, self._names)
        return await value if inspect.iscoroutine(value) else value


async def test_a_stopped_cell_loses_nothing_and_the_next_cell_continues(
    openai_server, model, capsys
):
    gate = Gate()
    openai_server.script(Reply(text="Snow falls."), Reply(text="lost", gate=gate))
    notebook = Notebook(model=model)
    await notebook.run(IMPORTS)
    await notebook.run(TEAM)

    async with asyncio.TaskGroup() as group:
        cell = group.create_task(notebook.run(RUN))
        await gate.reached()
        cell.cancel()
    assert cell.cancelled()
    assert "---------- TextMessage (writer) ----------\nSnow falls.\n" in capsys.readouterr().out

    openai_server.script(Reply(text="APPROVE"))
    await notebook.run(CONTINUE)
    assert await notebook.run(LOOK) == ["critic"]
    assert capsys.readouterr().out == "---------- TextMessage (critic) ----------\nAPPROVE\n"
    assert conversations(openai_server)[-1] == conversations(openai_server)[-2]

    await notebook.run(RESET)
    openai_server.script(Reply(text="It snows."), Reply(text="APPROVE"))
    await notebook.run(RUN)
    assert await notebook.run(LOOK) == ["user", "writer", "critic"]
    assert conversations(openai_server)[-2] == [
        "system: You write.",
        "user[user]: A line about snow.",
    ]
