"""What happens in a thread comes to stand on its platform."""

import asyncio
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from gateway.access import OperatorsOnly
from gateway.client import Answer
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.delivery import delivering
from gateway.gateway import Gateway
from gateway.registry import ToolRule
from gateway.store import SqliteStore
from gateway.surface import Card
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.scripted_surface import Board, Surface
from tests.gateway.scripted import ScriptedTeams, calls, solo

ANN = Author(id="scripted:ann", name="Ann")
HERE = ConversationKey(platform="scripted", workspace="W", channel="C", root="1")


@asynccontextmanager
async def served(folder: Path, make, surface, **more):
    teams = make if isinstance(make, ScriptedTeams) else ScriptedTeams(make)
    access = OperatorsOnly([ANN.id])
    async with (
        Gateway(SqliteStore(folder), teams, access=access, **more) as gateway,
        delivering(gateway, surface),
    ):
        yield gateway


async def say(gateway: Gateway, text: str, key=HERE, author=ANN) -> str:
    receipt = await gateway.accept(InboundMessage(key=key, author=author, text=text))
    return receipt.thread


async def all_told(gateway: Gateway, board: Board) -> None:
    """Wait until everything is on the platform."""
    while await gateway.store.untold("scripted"):  # noqa: ASYNC110 (in the store)
        await asyncio.sleep(0.01)


async def test_an_answer_comes_to_stand_in_the_thread(tmp_path: Path) -> None:
    board = Board()
    async with served(tmp_path, lambda: solo("Hello there."), Surface(board)) as gateway:
        await say(gateway, "hi")
        await all_told(gateway, board)
    assert board.texts == ["solo: Hello there."]
    assert board.busy[-1] == "idle"


async def test_text_grows_while_the_agent_speaks(tmp_path: Path) -> None:
    board, go_on = Board(), asyncio.Event()
    client = ScriptedModel(["One ", go_on, "two."])
    streaming = partial(solo, client, model_client_stream=True)
    async with served(tmp_path, streaming, Surface(board)) as gateway:
        await say(gateway, "count")
        await board.until(lambda b: b.texts == ["solo: One "])
        assert board.posted[0].content.growing
        assert board.busy == ["working"]
        go_on.set()
        await all_told(gateway, board)
    assert board.texts == ["solo: One two."]
    assert not board.posted[0].content.growing


def ring() -> str:
    """Ring the bell."""
    return "rung"


async def test_a_question_is_a_card_that_shows_its_outcome(tmp_path: Path) -> None:
    board = Board()
    teams = ScriptedTeams(
        lambda: solo(calls("ring"), "It rang.", tools=[ring], messages=9),
        rules={"ring": ToolRule(action="ask")},
    )
    async with served(tmp_path, teams, Surface(board)) as gateway:
        await say(gateway, "ring it")
        await board.until(lambda b: b.posted and isinstance(b.posted[0].content, Card))
        await all_told(gateway, board)
        card = board.posted[0].content
        assert board.texts == ["? solo wants to use ring. open"]
        assert card.mentions == (ANN.id,)
        await gateway.answer(card.request.request, Answer(kind="approve"), author=ANN)
        await board.until(lambda b: len(b.posted) > 1)
        await all_told(gateway, board)
    assert board.texts[0] == "? solo wants to use ring. approved"
    assert board.texts[1].startswith("solo: [ring: done]It rang.")
