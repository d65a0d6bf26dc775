"""A thread's canvas outlives the process that its team wrote it in."""

from __future__ import annotations

from gateway.events import MessageFinished, ToolFinished, ToolStarted
from teams.base import Team
from teams.memory.canvas import TextCanvasMemory
from tests.gateway.journeys.test_resume import Crash
from tests.gateway.scripted import (
    Door,
    ScriptedTeams,
    calls,
    ends,
    model,
    of,
    opened,
    solo,
    turn,
    until,
)

SOUP = '{"filename": "menu.md", "new_content": "Soup"}'


class Writers:
    """Teams of one agent that writes on a canvas of its own."""

    def __init__(self, *answers) -> None:
        self.memories: list[TextCanvasMemory] = []
        self.door = Door()
        self._model = model(*answers)

    async def look(self) -> str:
        """Look elsewhere, for as long as the test wants."""
        await self.door.pass_through()
        return "seen"

    def make(self) -> Team:
        memory = TextCanvasMemory()
        self.memories.append(memory)
        tools = [memory.get_update_file_tool(), self.look]
        return solo(self._model, tools=tools, memory=[memory])

    @property
    def files(self) -> dict[str, int]:
        """Files of the newest team's canvas."""
        return self.memories[-1].canvas.list_files()


async def test_the_next_process_has_the_files(tmp_path):
    write = calls("update_file", update_file=SOUP)
    writers = Writers(write, "Written.", "I know.")
    async with opened(tmp_path, writers.make) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "write")
        assert writers.files == {"menu.md": 1}
    async with opened(tmp_path, writers.make) as gateway:
        await turn(gateway, thread, "and?")
        assert len(writers.memories) > 1
        assert writers.files == {"menu.md": 1}


async def test_a_file_written_before_a_crash_in_the_midst_of_a_batch_is_there_once(tmp_path):
    batch = calls("update_file", "look", update_file=SOUP)
    writers = Writers(batch, "Written.")
    teams = ScriptedTeams(writers.make)
    async with Crash(tmp_path, teams) as (crash, gateway):
        thread = (await gateway.client.create_thread()).id
        await gateway.client.send(thread, "write")
        await writers.door.reached.wait()
        await until(gateway, thread, lambda event: isinstance(event, ToolFinished))
        crash.kill()
    writers.door.open()
    async with opened(tmp_path, teams) as gateway:
        events = await until(gateway, thread, ends)
    assert len(writers.memories) > 1
    assert writers.files == {"menu.md": 1}
    results = {event.tool: event.result for event in of(ToolFinished, events)}
    assert results["update_file"] == '{"status": "OK"}'
    assert len(of(ToolStarted, events)) == 2
    assert of(MessageFinished, events)[-1].text == "Written."
