"""Chess: two players, one board, and a saved game."""

import json
from functools import partial

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.conditions import ExternalTermination, FunctionalTermination
from teams.messages import ToolCallExecutionEvent
from teams.tools import FunctionTool
from tests.fakes.openai_script import Call, Reply
from tests.guide.harness import conversations, watch

BACK_ROW = "RNBQKBNR"


class Board:
    """A board with turns; who takes the king has won."""

    def __init__(self) -> None:
        self.moves: list[str] = []
        self.winner: str | None = None
        self._pieces = {
            f"{file}{row}": f"{side}{piece if row in '18' else 'P'}"
            for side, rows in (("white", "12"), ("black", "87"))
            for row in rows
            for file, piece in zip("abcdefgh", BACK_ROW, strict=True)
        }

    def move(self, side: str, start: str, end: str) -> str:
        """Move a piece."""
        if side != ("white", "black")[len(self.moves) % 2]:
            raise ValueError("It is not your turn.")
        if not self._pieces.get(start, "").startswith(side):
            raise ValueError(f"You have no piece on {start}.")
        taken = self._pieces.get(end, "")
        if taken.startswith(side):
            raise ValueError(f"Your own piece stands on {end}.")
        self._pieces[end] = self._pieces.pop(start)
        self.moves.append(f"{start}{end}")
        if taken.endswith("K"):
            self.winner = side
        return f"{side}: {start} to {end}"


def game(model, board: Board, bedtime: ExternalTermination) -> RoundRobinGroupChat:
    players = [
        AssistantAgent(
            side,
            model,
            system_message=f"You play chess. You are {side}.",
            tools=[FunctionTool(partial(board.move, side), "Move a piece.", name="move")],
            max_tool_iterations=2,
        )
        for side in ("white", "black")
    ]
    won = FunctionalTermination(lambda _: board.winner is not None)
    return RoundRobinGroupChat(players, termination_condition=won | bedtime)


def moves(*squares: str) -> list[Reply]:
    """A player's answers for each move: call and text."""
    return [
        answer
        for start, end in (entry.split("-") for entry in squares)
        for answer in (
            Reply(calls=[Call(name="move", arguments={"start": start, "end": end})]),
            Reply(text=f"I moved from {start} to {end}."),
        )
    ]


async def test_a_game_is_put_away_and_won_the_next_day(openai_server, model):
    openai_server.script(
        Reply(calls=[Call(name="move", arguments={"start": "e4", "end": "e5"})]),
        Reply(calls=[Call(name="move", arguments={"start": "f2", "end": "f3"})]),
        *moves("e7-e5"),
    )
    board, bedtime = Board(), ExternalTermination()
    team = game(model, board, bedtime)
    items = []
    async for item in team.run_stream(task="White begins."):
        items.append(item)
        if isinstance(item, ToolCallExecutionEvent) and len(board.moves) == 2:
            bedtime.set()
    results = [item.content[0] for item in items if isinstance(item, ToolCallExecutionEvent)]
    assert [result.is_error for result in results] == [True, False, False]
    assert "You have no piece on e4." in results[0].content
    assert items[-1].stop_reason == "External termination requested"
    put_away = json.dumps({"moves": board.moves, "team": await team.save_state()})

    saved, board = json.loads(put_away), Board()
    for side, move in zip(("white", "black"), saved["moves"], strict=True):
        board.move(side, move[:2], move[2:])
    team = game(model, board, ExternalTermination())
    await team.load_state(saved["team"])
    openai_server.script(*moves("g2-g4", "d8-h4", "a2-a3", "h4-e1"))

    run = await watch(team.run_stream())

    assert board.winner == "black"
    assert board.moves == ["f2f3", "e7e5", "g2g4", "d8h4", "a2a3", "h4e1"]
    assert [source for kind, source in run.trace if kind == "TextMessage"] == [
        *("white", "black") * 2
    ]
    assert [request.tools for request in openai_server.requests] == [["move"]] * 12
    assert conversations(openai_server)[4][-2:] == [
        "tool: white: f2 to f3",
        "user[black]: I moved from e7 to e5.",
    ]
