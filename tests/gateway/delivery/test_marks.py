"""Marks on people's messages follow the turns of their thread."""

from pathlib import Path

import pytest

from gateway.client import Answer
from gateway.conversation import InboundMessage
from gateway.gateway import Gateway
from gateway.registry import ToolRule
from gateway.surface import Card, Place, Progress
from teams.base import Team
from teams.models import CreateResult
from tests.fakes.scripted_surface import Board, Surface
from tests.gateway.delivery.delivered import ANN, HERE, all_told, served
from tests.gateway.scripted import Door, ScriptedTeams, calls, solo

ASK = {"refund": ToolRule(action="ask", output="trusted")}


class Marking(Surface):
    """Notes each mark."""

    def __init__(self, board: Board) -> None:
        super().__init__(board)
        self.marked: list[str] = []

    def mark(self, place: Place, message: str, progress: Progress, at: float) -> None:
        assert place.key == HERE
        self.board.stir()
        self.marked.append(f"{message} {progress}{'' if at else ' (earlier)'}")


async def write(gateway: Gateway, message: str, text: str = "hi") -> str:
    said = InboundMessage(key=HERE, author=ANN, text=text, message_id=message)
    return (await gateway.accept(said)).thread


async def test_each_message_has_the_mark_of_its_turn(tmp_path: Path) -> None:
    surface, door = Marking(Board()), Door()

    async def hold() -> str:
        """Hold the answer."""
        await door.pass_through()
        return "held"

    def team() -> Team:
        return solo(calls("hold"), "One.", "Two.", "Three.", tools=[hold])

    async with served(tmp_path, surface, team) as gateway:
        await write(gateway, "m1")
        await door.reached.wait()
        await write(gateway, "m2")
        await write(gateway, "m3")
        await surface.board.until(lambda _: "m3 seen" in surface.marked)
        door.open()
        await all_told(gateway)
    assert surface.marked[:3] == ["m1 working", "m2 seen", "m3 seen"]
    assert [mark for mark in surface.marked if "done" in mark] == ["m1 done", "m2 done", "m3 done"]


async def test_what_waits_for_another_turn_is_seen_and_what_is_taken_back_is_not(
    tmp_path: Path,
) -> None:
    surface, door = Marking(Board()), Door()

    async def hold() -> str:
        """Hold the answer."""
        await door.pass_through()
        return "held"

    async with served(tmp_path, surface, lambda: solo(calls("hold"), "A", tools=[hold])) as gateway:
        await write(gateway, "m1")
        await door.reached.wait()
        thread = await write(gateway, "m2")
        await surface.board.until(lambda _: "m2 seen" in surface.marked)
        assert await gateway.client.withdraw(thread, 2) == "hi"
        door.open()
        await all_told(gateway)
    assert [mark for mark in surface.marked if "m2" in mark] == ["m2 seen", "m2 off"]
    assert surface.marked[-1] == "m1 done"


@pytest.mark.parametrize("ends", ["failed", "stopped"])
async def test_a_turn_that_does_not_finish_leaves_no_mark(tmp_path: Path, ends: str) -> None:
    surface, door = Marking(Board()), Door()

    async def hold() -> str:
        """Hold the answer."""
        await door.pass_through()
        return "held"

    async with served(tmp_path, surface, lambda: solo(calls("hold"), tools=[hold])) as gateway:
        thread = await write(gateway, "m1")
        await door.reached.wait()
        if ends == "stopped":
            await gateway.client.stop(thread)
        door.open()  # its model has no more answers
        await all_told(gateway)
    assert surface.marked == ["m1 working", "m1 off"]


async def test_another_process_goes_on_with_the_marks(tmp_path: Path) -> None:
    board = Board()

    async def refund() -> str:
        """Give money back."""
        return "done"

    def team(*answers: str | CreateResult) -> ScriptedTeams:
        return ScriptedTeams(lambda: solo(*answers, tools=[refund]), ASK)

    first = Marking(board)
    async with served(tmp_path, first, team(calls("refund"))) as gateway:
        await write(gateway, "m1")
        await all_told(gateway)
    assert first.marked == ["m1 working"]
    (card,) = [each.content for each in board.posted if isinstance(each.content, Card)]
    second = Marking(board)
    async with served(tmp_path, second, team("Refunded.")) as gateway:
        await gateway.client.answer(card.request.request, Answer(kind="approve"), author=ANN)
        await all_told(gateway)
    assert second.marked == ["m1 working (earlier)", "m1 done"]
