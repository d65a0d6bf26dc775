"""A refused message is offered again, or left behind."""

import asyncio
import io
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from adapters.terminal.plain import PlainChat
from adapters.terminal.settings import Settings
from gateway.client import Client, SentFile
from gateway.errors import SET_ASIDE
from gateway.events import Notice
from gateway.gateway import Gateway
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.agents._set_aside import LEFT_OUT, NO_FILES, NO_MESSAGE, OFFERED
from teams.base import Team
from teams.conditions import MaxMessageTermination
from teams.models import ContentRefused
from tests.fakes.new_store import new_store
from tests.fakes.scripted_model import ScriptedModel
from tests.gateway.content.test_attachments import png
from tests.gateway.scripted import ScriptedTeams, of, opened, turn

IMAGE = ContentRefused("The image does not represent a valid image.")
SHAPE = ContentRefused("Invalid 'messages[1].content': string too long.")
PICTURE = SentFile(name="a.png", media_type="image/png", data=png())


def asking(model: ScriptedModel) -> Callable[[], Team]:
    def make() -> Team:
        return RoundRobinGroupChat(
            [AssistantAgent("ann", model)], termination_condition=MaxMessageTermination(2)
        )

    return make


@pytest.mark.parametrize("restarted", [False, True], ids=["at once", "after a restart"])
@pytest.mark.parametrize(
    ("error", "heard"),
    [(IMAGE, f"look\n{NO_FILES}"), (SHAPE, f"look\n\n{OFFERED}")],
    ids=["files", "shape"],
)
async def test_trying_again_asks_with_the_text_and_without_the_files(
    tmp_path: Path, error: ContentRefused, heard: str, restarted: bool
):
    model = ScriptedModel(error, "ok", vision=True)
    async with opened(tmp_path, asking(model)) as gateway:
        thread = (await gateway.client.create_thread()).id
        (notice,) = of(Notice, await turn(gateway, thread, "look", files=[PICTURE]))
        if not restarted:
            await turn(gateway, thread, "/retry")
    if restarted:
        async with opened(tmp_path, asking(model)) as gateway:
            await turn(gateway, thread, "/retry")
    assert notice.retry
    assert "set aside" in notice.text
    first, again = model.messages(0)[-1]["content"], model.texts(1)[-1]
    assert "look" in str(first)
    assert again.endswith(heard)


@pytest.mark.parametrize("restarted", [False, True], ids=["at once", "after a restart"])
async def test_the_next_message_goes_on_without_it(tmp_path: Path, restarted: bool):
    model = ScriptedModel("hello", SHAPE, "ok")
    async with opened(tmp_path, asking(model)) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "hi")
        await turn(gateway, thread, "bad")
        if not restarted:
            await turn(gateway, thread, "well?")
    if restarted:
        async with opened(tmp_path, asking(model)) as gateway:
            await turn(gateway, thread, "well?")
    assert model.texts(2) == ["hi", "hello", NO_MESSAGE, "well?"]


async def test_a_second_refusal_leaves_it_out_for_good(tmp_path: Path):
    model = ScriptedModel(SHAPE, SHAPE, "ok", "fine")
    async with opened(tmp_path, asking(model)) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "bad")
        await turn(gateway, thread, "/retry")
        await turn(gateway, thread, "/retry")
        await turn(gateway, thread, "well?")
    assert model.texts(2) == [LEFT_OUT]
    assert model.texts(3) == [LEFT_OUT, "ok", "well?"]


@pytest.mark.parametrize(
    ("second", "heard"),
    [("well?", [NO_MESSAGE, "well?"]), ("/retry", [f"bad\n\n{OFFERED}"])],
    ids=["a message", "trying again"],
)
async def test_line_mode_says_what_is_set_aside_and_prints_what_comes_of_the_next_line(
    tmp_path: Path, second: str, heard: list[str]
):
    out, model = io.StringIO(), ScriptedModel(SHAPE, "ok")
    plain = PlainChat(
        Settings(data_dir=tmp_path),
        stdin=io.StringIO(f"bad\n{second}\n"),
        stdout=out,
        stderr=io.StringIO(),
    )

    @asynccontextmanager
    async def connect() -> AsyncGenerator[Client, None]:
        async with Gateway(new_store(tmp_path), ScriptedTeams(asking(model))) as gateway:
            yield gateway.client

    async with asyncio.timeout(8):
        await plain.run(connect)
    assert SET_ASIDE in out.getvalue()
    assert out.getvalue().rstrip().endswith("ann: ok")
    assert model.texts(1) == heard
