"""Chess: each move is made in a nested chat."""

from __future__ import annotations

from typing import Annotated, Any

from teams.conversable import ConversableAgent, register_function
from tests.fakes.openai_script import Call, Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.guide.test_chess import Board
from tests.teams.conversable.pairs import contents


def player(side: str, llm_config: dict[str, Any]) -> ConversableAgent:
    return ConversableAgent(
        side,
        f"You play {side}. Call move, then tell your opponent.",
        llm_config=llm_config,
        human_input_mode="NEVER",
    )


def moving(start: str, end: str) -> Reply:
    call = Call(name="move", arguments={"start": start, "end": end}, id=f"call_{start}_{end}")
    return Reply(calls=[call])


def test_moves_are_made_on_the_board(server: FakeOpenAI, llm_config: dict[str, Any]):
    board = Board()
    white, black = player("white", llm_config), player("black", llm_config)

    def seat(one: ConversableAgent, opponent: ConversableAgent) -> None:
        """Let a player move on the board before it answers."""
        referee = ConversableAgent(
            "referee",
            is_termination_msg=lambda message: not message.get("tool_calls"),
            human_input_mode="NEVER",
        )

        def move(start: Annotated[str, "from"], end: Annotated[str, "to"]) -> str:
            return board.move(one.name, start, end)

        register_function(move, caller=one, executor=referee, description="Move a piece.")
        ask = {"sender": referee, "recipient": one, "summary_method": "last_msg", "silent": True}
        one.register_nested_chats([ask], trigger=opponent)

    seat(white, black)
    seat(black, white)
    server.script(
        moving("e4", "e5"),
        moving("e2", "e4"),
        Reply(text="e2 to e4, your move."),
        moving("e7", "e5"),
        Reply(text="e7 to e5."),
    )
    result = black.initiate_chat(white, message="You begin.", max_turns=1, silent=True)
    black.send(black.generate_reply(sender=white) or "", white, request_reply=False, silent=True)
    assert board.moves == ["e2e4", "e7e5"]
    assert contents(result.chat_history) == ["You begin.", "e2 to e4, your move.", "e7 to e5."]
    refused = server.requests[1].last
    assert (refused["role"], refused["content"]) == ("tool", "Error: You have no piece on e4.")
    assert server.requests[0].tools == ["move"]
